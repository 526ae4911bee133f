/** S334: a sidecar that ends waits for the turns that its workers have, wherever their homes are. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { DrainReport, Turn } from '../../../src/coordinator.js';
import { open, tied } from '../../contract/stream.js';
import { acquireRequest } from '../../support/builders.js';
import { Call } from '../../support/call.js';
import { RoutingStage, type StageOptions } from './stage.js';

const TIMEOUT = 20_000;
const LEASE = 5_000;

/** A gateway: no home is in this process. */
class Gateway extends RoutingStage {
  report: DrainReport | undefined;

  constructor(options: StageOptions = {}) {
    super(options);
    for (let partition = 0; partition < this.map.partitions; partition += 1) this.homes.isElsewhere(partition);
  }

  get queue(): string {
    return this.queueAt(0);
  }

  async drains(timeout = TIMEOUT): Promise<void> {
    void this.coordinator.drain(timeout).then((report) => {
      this.report = report;
    });
    await this.isLive();
  }

  /** It waits still. */
  async isLive(): Promise<void> {
    await this.#settle();
    assert.equal(this.report, undefined, 'it has ended');
  }

  async isOver(liveTurns = 0): Promise<void> {
    await this.#settle();
    assert.deepEqual(this.report, { liveTurns, lostItems: 0 });
  }

  async #settle(): Promise<void> {
    // What is due at once, and then promises, which go on in turns of the real loop.
    for (let round = 0; round < 3; round += 1) {
      this.advance(0);
      await new Promise((resolve) => setImmediate(resolve));
    }
  }
}

describe('a gateway that drains', () => {
  it('ends at once when its workers have no turns', async () => {
    const stage = new Gateway();
    stage.end(stage.hold({ queue: stage.queue }));
    void stage.coordinator.drain(TIMEOUT).then((report) => {
      stage.report = report;
    });
    await stage.isOver();
  });

  const ENDS: Readonly<Record<string, (stage: Gateway, turn: Turn) => unknown>> = {
    DeQueue: (stage, turn) => stage.end(turn).value,
    'DeQueue as abandoned': (stage, turn) => stage.end(turn, { abandoned: true }).value,
    'DeQueue by its ticket': (stage, { queue, key }) => stage.deQueue({ queue, key, holder: { ticket: 't' } }).value,
    'a renewal that hears that it is lost': (stage, turn) => {
      const home = stage.at(0);
      void home.inner.admin.ask('evictHolder', { queue: turn.queue, key: turn.key });
      assert.equal(stage.renew([turn])[0]?.alive, false);
    },
    'an end that is told to be late': (stage, turn) => {
      void stage.at(0).inner.admin.ask('evictHolder', { queue: turn.queue, key: turn.key });
      return stage.end(turn).refusal;
    },
    'its lease': (stage) => stage.advance(LEASE),
  };
  for (const [how, end] of Object.entries(ENDS))
    it(`lets a caller's turn end by ${how}, and ends then`, async () => {
      const stage = new Gateway();
      const turn = stage.hold({ queue: stage.queue, ticket: 't', lease: LEASE });
      await stage.drains();
      assert.equal(stage.enQueue({ queue: stage.queue, key: 'new' }).refusal.kind, 'draining');
      end(stage, turn);
      await stage.isOver();
    });

  it("waits for items' turns, of one home and of several, also those that came with an Ack", async () => {
    const stage = new Gateway();
    const { queue } = stage;
    const other = stage.queueAt(1);
    stage.submit([{ itemId: 'a' }, { itemId: 'b', key: 'other' }], { queue });
    stage.submit([{ itemId: 'c' }], { queue: other });
    const first = stage.take({ queues: [queue, other] }).turn;
    const rest = [queue, other].filter((name) => name !== first.queue);
    const next = stage.ack(first, { next: acquireRequest({ queues: [queue], maxTurns: 10 }) }).value.next;
    const turns = next?.deliveries.map(({ turn }) => turn) ?? [];
    for (const name of rest) turns.push(...stage.acquire({ queues: [name] }).value.deliveries.map(({ turn }) => turn));
    await stage.drains();
    for (const turn of turns) {
      await stage.isLive();
      assert.ok(stage.ack(turn).value);
    }
    await stage.isOver();
  });

  it('ends after its time, and says which turns live', async () => {
    const stage = new Gateway();
    for (const key of ['a', 'b']) stage.hold({ queue: stage.queue, key, lease: 60_000 });
    await stage.drains();
    stage.advance(TIMEOUT - 1);
    await stage.isLive();
    stage.advance(1);
    await stage.isOver(2);
  });

  it('counts a turn of elsewhere from the moment at which its worker renews it here', async () => {
    const stage = new Gateway();
    const elsewhere = new Gateway({ shares: stage, incarnation: 'm2' });
    const turn = elsewhere.hold({ queue: stage.queue, lease: LEASE });
    assert.ok(stage.renew([turn])[0]?.alive);
    await stage.drains();
    stage.advance(LEASE - 1_000);
    assert.ok(stage.renew([turn])[0]?.alive);
    stage.advance(LEASE - 1_000);
    await stage.isLive();
    assert.ok(stage.end(turn).value);
    await stage.isOver();
  });

  for (const [where, wallAhead] of Object.entries({ behind: 3_600_000, 'ahead of it': -3_600_000 }))
    it(`S410: counts such a turn also when the wall clock of its home is an hour ${where}`, async () => {
      const stage = new Gateway({ policy: { lease: LEASE }, wallAhead });
      const elsewhere = new Gateway({ shares: stage, incarnation: 'm2' });
      const turn = elsewhere.hold({ queue: stage.queue });
      assert.ok(stage.renew([turn])[0]?.alive);
      await stage.drains();
      stage.advance(LEASE - 1_000);
      await stage.isLive();
      assert.ok(stage.end(turn).value);
      await stage.isOver();
    });

  it('waits for the answer of a call that ends a turn which it does not know', async () => {
    const stage = new Gateway();
    const elsewhere = new Gateway({ shares: stage, incarnation: 'm2' });
    const turn = elsewhere.hold({ queue: stage.queue });
    stage.at(0).isLate = true;
    const end = stage.end(turn);
    await stage.drains();
    stage.at(0).deliver();
    assert.ok(end.value);
    await stage.isOver();
  });

  it('waits for a turn whose grant was on its way when it began', async () => {
    const stage = new Gateway();
    stage.at(0).isLate = true;
    const call = stage.enQueue({ queue: stage.queue, wait: 60_000 });
    await stage.drains();
    stage.at(0).deliver();
    stage.at(0).isLate = false;
    assert.ok(call.value.decision === 'accept');
    await stage.isLive();
    assert.ok(stage.end(call.value.turn).value);
    await stage.isOver();
  });

  it('does not wait for an answer that reached nobody, nor for one that was taken back later', async () => {
    const stage = new Gateway();
    stage.enQueue({ queue: stage.queue, key: 'a' }, false);
    const turn = stage.hold({ queue: stage.queue, key: 'b' });
    await stage.drains();
    stage.coordinator.undeliverable([turn]);
    await stage.isOver();
  });

  it('goes on while the home of a turn dies and another one comes', async () => {
    const stage = new Gateway();
    const turn = stage.hold({ queue: stage.queue });
    const home = stage.at(0);
    await stage.drains();
    stage.homes.set(0, undefined);
    const end = stage.end(turn);
    await stage.isLive();
    stage.moved(home, 0);
    assert.ok(end.value);
    await stage.isOver();
  });

  it('does not wait for Await', async () => {
    const stage = new Gateway();
    stage.submit([{ itemId: 'i' }], { queue: stage.queue });
    stage.await('i', 60_000, stage.queue);
    void stage.coordinator.drain(TIMEOUT).then((report) => {
      stage.report = report;
    });
    await stage.isOver();
  });

  it('waits for an Ack that its answer to it brings about in the same moment', async () => {
    const stage = new Gateway();
    const { queue } = stage;
    const [a, b] = [stage.hold({ queue, key: 'a' }), stage.hold({ queue, key: 'b' })];
    await stage.drains();
    stage.at(0).isLate = true;
    const last = new Call<unknown>();
    stage.coordinator.deQueue(
      { queue, key: 'a', holder: { token: a.token }, abandoned: false, result: undefined },
      {
        answer: () => {
          stage.coordinator.deQueue(
            { queue, key: 'b', holder: { token: b.token }, abandoned: false, result: undefined },
            last,
          );
          return true;
        },
        refuse: () => assert.fail('it is live'),
      },
    );
    stage.at(0).deliver();
    stage.at(0).deliver();
    assert.ok(last.value);
    await stage.isOver();
  });
});

describe('sessions of a gateway that drains', () => {
  it('have their turns as long as their streams, and are told what becomes of them', async () => {
    const stage = new Gateway();
    const stream = tied(stage.coordinator);
    const [lost, kept] = ['lost', 'kept'].map((key) => stream.hold({ queue: stage.queue, key }));
    assert.ok(lost !== undefined && kept !== undefined);
    stage.advance(60_000);
    await stage.drains();
    await stage.at(0).inner.admin.ask('evictHolder', { queue: stage.queue, key: 'lost' });
    assert.deepEqual(stream.notices, ['lost evicted lost']);
    await stage.isLive();
    assert.ok(stream.end(kept).value);
    await stage.isOver();
  });

  it('that have lost their stream are waited for as long as they may come back, and longer if they do', async () => {
    const stage = new Gateway();
    const stream = tied(stage.coordinator, { ttl: 5_000 });
    const turn = stream.hold({ queue: stage.queue });
    stream.close();
    await stage.drains();
    stage.advance(4_000);
    const again = tied(stage.coordinator, { ttl: 5_000 });
    stage.advance(10_000);
    await stage.isLive();
    again.close();
    stage.advance(4_999);
    await stage.isLive();
    stage.advance(51);
    await stage.isOver();
    assert.ok(turn.token > 0);
  });

  it('that are resumed at another sidecar are not waited for', async () => {
    const stage = new Gateway();
    tied(stage.coordinator).hold({ queue: stage.queue });
    await stage.drains();
    const elsewhere = new Gateway({ shares: stage, incarnation: 'm2' });
    stage.advance(10);
    assert.equal(open(elsewhere.coordinator).hello().value.turnCount, 1);
    await stage.isOver();
  });

  it('that come from another sidecar are, with the turns that homes name', async () => {
    const stage = new Gateway();
    const elsewhere = new Gateway({ shares: stage, incarnation: 'm2' });
    const turn = tied(elsewhere.coordinator).hold({ queue: stage.queue });
    stage.advance(10);
    const stream = open(stage.coordinator);
    stream.hello();
    await stage.drains();
    stage.advance(10_000);
    await stage.isLive();
    assert.ok(stream.end(turn).value);
    await stage.isOver();
  });
});

describe('a home that drains', () => {
  it('waits for turns of its own and for those that it forwards', async () => {
    const stage = new Gateway();
    stage.homes.isBack(1);
    const here = stage.hold({ queue: stage.queueAt(1) });
    const there = stage.hold({ queue: stage.queue });
    await stage.drains();
    assert.ok(stage.end(here).value);
    await stage.isLive();
    assert.ok(stage.end(there).value);
    await stage.isOver();
  });

  it('goes on with the turns of its workers at the home that it hands a partition over to meanwhile', async () => {
    const stage = new Gateway();
    stage.homes.isBack(0);
    const turn = stage.hold({ queue: stage.queue });
    const home = stage.at(0);
    await stage.drains();
    stage.homes.isElsewhere(0);
    stage.moved(home, 0);
    await stage.isLive();
    assert.ok(stage.end(turn).value);
    await stage.isOver();
  });

  it('lets no new work into a partition that comes to it meanwhile', async () => {
    const stage = new Gateway();
    const turn = stage.hold({ queue: stage.queue });
    const home = stage.at(0);
    await stage.drains();
    stage.homes.isBack(0);
    stage.moved(home, 0);
    assert.equal(stage.enQueue({ queue: stage.queue, key: 'new' }).refusal.kind, 'draining');
    await stage.isLive();
    assert.ok(stage.end(turn).value);
    await stage.isOver();
  });

  it('waits for a turn that comes to it elsewhere while one of its own lives', async () => {
    const stage = new Gateway();
    stage.homes.isBack(1);
    const elsewhere = new Gateway({ shares: stage, incarnation: 'm2' });
    stage.homes.isBack(1);
    const here = elsewhere.hold({ queue: stage.queueAt(1) });
    const there = tied(elsewhere.coordinator).hold({ queue: stage.queue });
    await stage.drains();
    stage.advance(10);
    const stream = open(stage.coordinator);
    stream.hello();
    assert.ok(elsewhere.end(here).value);
    await stage.isLive();
    assert.ok(stream.end(there).value);
    await stage.isOver();
  });

  it("leaves turns of others' workers to the home that it hands them over to", async () => {
    const stage = new Gateway();
    const elsewhere = new Gateway({ shares: stage, incarnation: 'm2' });
    stage.homes.isBack(0);
    elsewhere.hold({ queue: stage.queue });
    const home = stage.at(0);
    await stage.drains();
    stage.homes.isElsewhere(0);
    stage.moved(home, 0);
    await stage.isOver();
  });
});
