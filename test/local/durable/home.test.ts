/** The home of a partition: a gate in front of what leaves, time that stands still, and an end in which nothing is told. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import type { EnQueueAnswer, Refusal } from '../../../src/coordinator.js';
import { SharedUse } from '../../../src/core/core.js';
import { Tokens } from '../../../src/core/structures/tokens.js';
import type { Gate } from '../../../src/local/gate.js';
import { HomeCoordinator } from '../../../src/local/home.js';
import { Worker } from '../../contract/worker.js';
import { settings } from '../../support/builders.js';
import { FakeClock } from '../../support/fake-clock.js';
import { fates, MemoryDisk } from '../../support/memory-journal.js';

const NOT_HOME: Refusal = { kind: 'no_home', partition: 0, description: 'another one is', retryAfter: 50 };

/** As a member does it: past the deadline calls are refused, and it stays shut until somebody opens it. */
class Deadline implements Gate {
  until = Number.POSITIVE_INFINITY;
  home: HomeCoordinator | undefined;
  #isShut = false;

  constructor(private readonly clock: FakeClock) {}

  mayAnswer(): boolean {
    if (this.#isShut || this.clock.now() < this.until) return !this.#isShut;
    this.#isShut = true;
    this.home?.shut(NOT_HOME);
    return false;
  }

  open(): void {
    const stood = this.clock.now() - this.until;
    this.until = Number.POSITIVE_INFINITY;
    this.#isShut = false;
    this.home?.reopen(stood, this.home.raiseTokens());
  }
}

class HomeStage extends Worker {
  readonly clock: FakeClock;
  readonly disk: MemoryDisk;
  readonly home: HomeCoordinator;
  readonly gate: Deadline;

  constructor(disk = new MemoryDisk(), shared = new SharedUse()) {
    const clock = new FakeClock();
    const gate = new Deadline(clock);
    const queues = { q: { durable: true, lease: 3_000, ticketTtl: 60_000 } };
    const partition = { number: 0, of: 1, tokenFloor: 0 };
    const options = { clock, seed: 1, journal: disk.open(), partition, gate, shared };
    const home = new HomeCoordinator(settings({ queues }), options);
    gate.home = home;
    super(home);
    this.clock = clock;
    this.disk = disk;
    this.home = home;
    this.gate = gate;
  }

  static async start(disk?: MemoryDisk): Promise<HomeStage> {
    const stage = new HomeStage(disk);
    let isReady = false;
    const recovered = stage.home.recover().then(() => {
      isReady = true;
    });
    while (!isReady) await stage.flush();
    await recovered;
    return stage;
  }

  async flush(): Promise<void> {
    for (let i = 0; i < 5; i++) {
      this.clock.turn();
      await setImmediate();
    }
  }

  async advance(ms: number): Promise<void> {
    this.clock.advance(ms);
    await this.flush();
  }
}

function tokenOf(answer: EnQueueAnswer): number {
  return answer.decision === 'accept' ? answer.turn.token : assert.fail(answer.decision);
}

describe('the home of a partition', () => {
  it('S230: lets no answer out after its deadline, also one that was written before it', async () => {
    const stage = await HomeStage.start();
    const call = stage.enQueue({ queue: 'q', key: 'k' });
    stage.gate.until = stage.clock.now() + 100;
    // As a process that is stopped: the write ends meanwhile, no timer runs.
    stage.clock.skip(150);
    await stage.flush();
    assert.equal(stage.disk.rows().filter(({ table }) => table === 'tokens').length, 1);
    assert.equal(call.outcome, undefined);
    stage.gate.open();
    assert.equal(call.value.decision, 'accept');
  });

  it('S230: asks before each answer: of two that are ready, the second stays when the deadline passes in between', async () => {
    const stage = await HomeStage.start();
    const first = stage.enQueue({ queue: 'q', key: 'a' });
    const second = stage.enQueue({ queue: 'q', key: 'b' });
    stage.gate.until = stage.clock.now() + 100;
    const answer = first.answer.bind(first);
    first.answer = (value) => {
      stage.clock.skip(200);
      return answer(value);
    };
    await stage.flush();
    assert.equal(first.value.decision, 'accept');
    assert.equal(second.outcome, undefined);
  });

  it('S230: a call after the deadline is refused before it changes anything, be it the first that runs', async () => {
    const stage = await HomeStage.start();
    stage.gate.until = stage.clock.now() + 100;
    stage.clock.skip(150);
    const late = stage.enQueue({ queue: 'q', key: 'k' });
    assert.deepEqual(late.refusal, NOT_HOME);
    const opened = stage.home.openSession({ notice: () => undefined, replaced: () => undefined });
    assert.deepEqual(opened, { ok: false, refusal: NOT_HOME });
    stage.gate.open();
    await stage.flush();
    assert.equal(stage.disk.rows().filter(({ table }) => table === 'tokens').length, 0);
  });

  it('S51: time stands still while it is closed: no lease ends, and what is left of it begins again', async () => {
    const stage = await HomeStage.start();
    const holder = stage.enQueue({ queue: 'q', key: 'k' });
    await stage.flush();
    const next = stage.enQueue({ queue: 'q', key: 'k', wait: 60_000 });
    await stage.advance(1_000);
    stage.gate.until = stage.clock.now();
    await stage.advance(20_000);
    assert.equal(holder.value.decision, 'accept');
    stage.gate.open();
    await stage.advance(1_900);
    assert.equal(next.outcome, undefined);
    await stage.advance(200);
    assert.equal(next.value.decision, 'accept');
  });

  it('S234: after it was closed it gives tokens above the clock, as a new home would', async () => {
    const stage = await HomeStage.start();
    const first = stage.enQueue({ queue: 'q', key: 'a' });
    await stage.flush();
    stage.gate.until = stage.clock.now();
    await stage.advance(60_000);
    const other = new Tokens(stage.clock.wall() - 1).next();
    stage.gate.open();
    const second = stage.enQueue({ queue: 'q', key: 'b' });
    await stage.flush();
    assert.ok(tokenOf(first.value) < other && tokenOf(second.value) > other);
  });

  it('S231: given up, it refuses who waits with no_home, and who was decided about with what is not known', async () => {
    const disk = new MemoryDisk();
    const stage = await HomeStage.start(disk);
    stage.enQueue({ queue: 'q', key: 'k' });
    await stage.flush();
    const waits = stage.enQueue({ queue: 'q', key: 'k', wait: 60_000 });
    const acquires = stage.acquire({ queues: ['q'], wait: 60_000 });
    const gone = stage.enQueue({ queue: 'q', key: 'other' });
    const decided = stage.enQueue({ queue: 'q', key: 'another' });
    const { writes } = disk;
    stage.home.abandon(NOT_HOME);
    assert.deepEqual(waits.refusal, NOT_HOME);
    assert.deepEqual(acquires.refusal, NOT_HOME);
    assert.equal(decided.refusal.kind, 'store_unavailable');
    assert.equal(gone.refusal.kind, 'store_unavailable');
    await stage.advance(60_000);
    assert.equal(disk.writes, writes, 'nothing is written any more');
    assert.deepEqual(stage.enQueue({ queue: 'q', key: 'x' }).refusal, NOT_HOME);
    await stage.home.close();
    assert.equal(disk.writes, writes);
  });

  it('S231: given up, it answers nobody twice: neither who cancelled, nor who was answered', async () => {
    const stage = await HomeStage.start();
    const answered = stage.enQueue({ queue: 'q', key: 'k' });
    await stage.flush();
    const cancelled = stage.enQueue({ queue: 'q', key: 'k', wait: 60_000 });
    cancelled.cancel();
    stage.home.abandon(NOT_HOME);
    stage.home.abandon(NOT_HOME);
    assert.equal(answered.value.decision, 'accept');
    assert.equal(cancelled.outcome, undefined);
  });

  it('S232: emptied, all that was decided is written and answered, and it goes on where it was if that is called off', async () => {
    const stage = await HomeStage.start();
    const call = stage.enQueue({ queue: 'q', key: 'k' });
    stage.home.shut(NOT_HOME);
    let isEmpty: boolean | undefined;
    void stage.home.empty(2_000).then((outcome) => {
      isEmpty = outcome;
    });
    assert.deepEqual(stage.enQueue({ queue: 'q', key: 'x' }).refusal, NOT_HOME);
    await stage.flush();
    assert.equal(isEmpty, true);
    assert.equal(call.value.decision, 'accept');
    stage.home.reopen(0);
    const next = stage.enQueue({ queue: 'q', key: 'x' });
    await stage.flush();
    assert.equal(next.value.decision, 'accept');
  });

  it('S232: it is not empty while the store takes nothing', async () => {
    const disk = new MemoryDisk();
    const stage = await HomeStage.start(disk);
    disk.fate = fates({ 2: { does: 'wait', until: new Promise(() => {}) } });
    stage.enQueue({ queue: 'q', key: 'k' });
    stage.home.shut(NOT_HOME);
    let isEmpty: boolean | undefined;
    void stage.home.empty(2_000).then((outcome) => {
      isEmpty = outcome;
    });
    await stage.advance(1_900);
    assert.equal(isEmpty, undefined);
    await stage.advance(200);
    assert.equal(isEmpty, false);
  });
});

describe('S273: a home that is given up', () => {
  const GONE: Refusal = { kind: 'no_home', partition: 0, description: 'it is elsewhere', retryAfter: 1 };

  it('gives back what it used of the limits', async () => {
    const shared = new SharedUse();
    const stage = new HomeStage(undefined, shared);
    const recovered = stage.home.recover();
    await stage.flush();
    await recovered;
    assert.equal(shared.cores, 1);
    stage.home.abandon(GONE);
    assert.equal(shared.cores, 0);
    stage.home.abandon(GONE);
    await stage.flush();
    assert.deepEqual([shared.cores, shared.use.payloadBytes, stage.clock.pending], [0, 0, 0]);
  });

  it('while it was being read never begins: no timer runs, and nothing of it counts', async () => {
    const disk = new MemoryDisk();
    const before = await HomeStage.start(disk);
    before.submit([{ itemId: 'i', delay: 60_000 }]);
    await before.flush();
    disk.crash();
    for (let turns = 0; turns < 8; turns++) {
      const shared = new SharedUse();
      const stage = new HomeStage(disk, shared);
      const recovering = stage.home.recover();
      for (let turn = 0; turn < turns; turn++) {
        stage.clock.turn();
        await setImmediate();
      }
      stage.home.abandon(GONE);
      await stage.flush();
      await stage.flush();
      await recovering;
      assert.deepEqual([shared.cores, stage.clock.pending], [0, 0], `given up after ${turns} turns`);
      disk.crash();
    }
  });
});
