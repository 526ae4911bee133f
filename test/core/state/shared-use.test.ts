/** S273: the cores of one process share what bounds the process. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Limits } from '../../../src/coordinator.js';
import { SharedUse } from '../../../src/core/core.js';
import { HOUSEKEEPING } from '../../../src/core/time.js';
import { Chance } from '../../sim/random.js';
import { QUEUE } from '../../support/builders.js';
import { recount } from '../../support/recount.js';
import { recountShared } from '../../support/recount-shared.js';
import { seedsOf } from '../../support/runs.js';
import { Stage } from '../stage.js';

const OF = 4;
const LARGE = new Uint8Array(6_000);

/** Cores of one process, each of a partition. */
class Process {
  readonly shared = new SharedUse();
  readonly stages: Stage[] = [];
  /** Those that were told to look for room, and have not yet. */
  readonly woken = new Set<Stage>();

  constructor(
    readonly limits: Partial<Limits>,
    count = 2,
  ) {
    for (let number = 0; number < count; number++) this.begin();
  }

  begin(): Stage {
    const queues = { [QUEUE]: { maxDeadLetters: 100, wait: 0 } };
    const partition = { number: this.stages.length % OF, of: OF };
    const stage = new Stage({ queues, limits: this.limits }, this.stages[0]?.now ?? 5_000, { partition });
    stage.core.join(this.shared, () => void this.woken.add(stage));
    this.stages.push(stage);
    return stage;
  }

  end(stage: Stage): void {
    stage.core.leave(this.shared);
    this.woken.delete(stage);
    this.stages.splice(this.stages.indexOf(stage), 1);
  }

  get two(): readonly [Stage, Stage] {
    const [one, other] = this.stages;
    assert.ok(one !== undefined && other !== undefined);
    return [one, other];
  }

  /** What the event loop does in its next turn. */
  turn(): void {
    const woken = [...this.woken];
    this.woken.clear();
    for (const stage of woken) {
      stage.core.lookForRoom(stage.now);
      stage.carry();
    }
    recountShared(this.shared, this.stages);
    for (const { core, now } of this.stages) recount(core.inside, now);
  }
}

function tokenOf(stage: Stage): number {
  const { deliveries } = stage.acquire('w').value;
  return deliveries[0]?.turn.token ?? assert.fail('nothing came');
}

interface Case {
  readonly what: string;
  readonly limits: Partial<Limits>;
  /** Uses up the limit. */
  readonly fill: (stage: Stage) => void;
  readonly ask: (stage: Stage) => void;
  /** What a core is told that would have room if it were alone. */
  readonly told: string;
  /** What it is told when there is. */
  readonly else: string | undefined;
}

const CASES: readonly Case[] = [
  {
    what: 'payload memory',
    limits: { payloadMemoryBytes: 10_000 },
    fill: (stage) => stage.submit('f', [{ payload: LARGE, itemId: 'i' }]),
    ask: (stage) => stage.submit('p', [{ payload: LARGE, itemId: 'i' }]),
    told: 'p MEMORY_FULL',
    else: 'p ACCEPT',
  },
  {
    what: 'busy lanes of Submits',
    limits: { busyLanes: 2 },
    fill: (stage) => stage.submit('f', [{ key: 'a' }, { key: 'b' }]),
    ask: (stage) => stage.submit('p', [{ key: 'c' }]),
    told: 'p LIMIT',
    else: 'p ACCEPT',
  },
  {
    what: 'busy lanes of callers',
    limits: { busyLanes: 1 },
    fill: (stage) => stage.enQueue('f', { key: 'a' }),
    ask: (stage) => stage.enQueue('p', { key: 'b' }),
    told: 'p LIMIT',
    else: 'p ACCEPT',
  },
  {
    what: 'queues',
    limits: { queues: 3 },
    fill: (stage) => stage.submit('f', [{}], 'one'),
    ask: (stage) => stage.submit('p', [{}], 'two'),
    told: 'p LIMIT',
    else: 'p ACCEPT',
  },
  {
    what: 'dependencies',
    limits: { dependencies: 1 },
    fill: (stage) => {
      stage.submit('f', [{ itemId: 'a' }]);
      stage.submit('f', [{ itemId: 'b', after: [{ queue: QUEUE, itemId: 'a' }] }]);
    },
    ask: (stage) => {
      stage.submit('q', [{ itemId: 'a' }]);
      stage.submit('p', [{ itemId: 'b', after: [{ queue: QUEUE, itemId: 'a' }] }]);
    },
    told: 'p LIMIT',
    else: 'p ACCEPT',
  },
  {
    what: 'callers that wait',
    limits: { waitingCallers: 1 },
    fill: (stage) => {
      stage.enQueue('f');
      stage.enQueue('f', { wait: 60_000 });
    },
    ask: (stage) => {
      stage.enQueue('q');
      stage.enQueue('p', { wait: 60_000 });
    },
    told: 'p LIMIT',
    else: undefined,
  },
  {
    what: 'Acquires that wait',
    limits: { waitingAcquires: 1 },
    fill: (stage) => stage.acquire('f', { wait: 60_000 }),
    ask: (stage) => stage.acquire('p', { wait: 60_000 }),
    told: 'p LIMIT',
    else: undefined,
  },
  {
    what: 'Awaits that wait',
    limits: { waitingAwaits: 1 },
    fill: (stage) => {
      stage.submit('f', [{ itemId: 'i' }]);
      stage.awaitItem('f', 'i', 60_000);
    },
    ask: (stage) => {
      stage.submit('q', [{ itemId: 'i' }]);
      stage.awaitItem('p', 'i', 60_000);
    },
    told: 'p LIMIT',
    else: undefined,
  },
  {
    what: 'Submits that wait for room',
    limits: { waitingSubmits: 1, busyLanes: 1 },
    fill: (stage) => {
      stage.submit('f', [{ key: 'a' }]);
      stage.submit('f', [{ key: 'b' }], QUEUE, 60_000);
    },
    ask: (stage) => stage.submit('p', [{ key: 'b' }], QUEUE, 60_000),
    told: 'p LIMIT',
    else: 'p ACCEPT',
  },
  {
    what: 'what Submits hold that wait for room',
    limits: { payloadMemoryBytes: 20_000 },
    fill: (stage) => {
      for (const itemId of ['a', 'b', 'c']) stage.submit('f', [{ payload: LARGE, itemId, key: itemId }]);
      stage.submit('f', [{ payload: LARGE, itemId: 'd', key: 'd' }], QUEUE, 60_000);
    },
    ask: (stage) => stage.submit('p', [{ payload: LARGE, itemId: 'd' }], QUEUE, 60_000),
    told: 'p MEMORY_FULL',
    else: 'p ACCEPT',
  },
];

describe('S273: cores of one process', () => {
  for (const { what, limits, fill, ask, told, else: free } of CASES) {
    it(`have one bound together: ${what}`, () => {
      const [one, other] = new Process(limits).two;
      fill(one);
      ask(other);
      assert.equal(other.told.at(-1), told);
    });

    it(`what a core that is dropped had is free: ${what}`, () => {
      const process = new Process(limits);
      const [one, other] = process.two;
      fill(one);
      process.end(one);
      ask(other);
      process.turn();
      assert.equal(other.told.filter((line) => line.startsWith('p ')).at(-1), free);
    });

    it(`one that joins with more than there may be keeps it, and others are refused: ${what}`, () => {
      const process = new Process(limits, 1);
      const [other] = process.stages;
      assert.ok(other !== undefined);
      const late = new Stage({ queues: { [QUEUE]: { wait: 0 } }, limits }, 5_000, { partition: { number: 3, of: OF } });
      fill(late);
      late.core.join(process.shared, () => undefined);
      ask(other);
      assert.equal(other.told.at(-1), told);
      recountShared(process.shared, [other, late]);
    });
  }

  it('one that has room again tells the others, whose Submits wait for it', () => {
    const process = new Process({ payloadMemoryBytes: 10_000 });
    const [one, other] = process.two;
    one.submit('f', [{ payload: LARGE, itemId: 'i' }]);
    other.submit('p', [{ payload: LARGE, itemId: 'j' }], QUEUE, 60_000);
    process.turn();
    assert.deepEqual(other.told, []);
    one.ack('w', { token: tokenOf(one) });
    assert.deepEqual(other.told, [], 'not in the midst of the step of another');
    process.turn();
    assert.deepEqual(other.told, ['p ACCEPT']);
    assert.equal(process.shared.use.payloadBytes, other.core.inside.payloadBytes);
  });

  it('idle keys are shared out: a core keeps its share, and what others leave free', () => {
    const process = new Process({ idleLanes: 100 });
    const [one, other] = process.two;
    const touch = (stage: Stage, from: number, count: number) => {
      for (let key = from; key < from + count; key++) {
        const call = stage.enQueue('w', { key: `k${key}` });
        assert.ok(call.value.decision === 'accept');
        stage.deQueue('w', { key: `k${key}`, holder: { token: call.value.turn.token } });
      }
    };
    touch(one, 0, 300);
    assert.equal(one.core.inside.idle.size, 100, 'nobody else has any');
    touch(other, 0, 300);
    assert.equal(other.core.inside.idle.size, 50, 'its share, though there is no room');
    assert.equal(process.shared.use.idleLanes, 150);
    one.pass(HOUSEKEEPING);
    assert.equal(one.core.inside.idle.size, 50, 'who has more than its share gives it up');
    touch(one, 300, 3);
    assert.equal(one.core.inside.idle.size, 50);
    process.end(one);
    touch(other, 300, 300);
    assert.equal(other.core.inside.idle.size, 100);
    process.turn();
  });

  it('results that are remembered are shared out in the same way', () => {
    const process = new Process({ payloadMemoryBytes: 400_000 });
    const [one, other] = process.two;
    const finish = (stage: Stage, name: string, count: number) => {
      for (let i = 0; i < count; i++) {
        stage.submit('p', [{ itemId: `${name}${i}` }]);
        stage.ack('w', { token: tokenOf(stage), result: new Uint8Array(1_000) });
      }
    };
    finish(one, 'a', 200);
    assert.equal(one.core.inside.results.bytes, 100_000);
    finish(other, 'b', 200);
    assert.equal(other.core.inside.results.bytes, 50_000);
    one.pass(HOUSEKEEPING);
    assert.equal(one.core.inside.results.bytes, 50_000);
    process.turn();
  });

  it('however many there are, each may keep one idle key', () => {
    const process = new Process({ idleLanes: 1 }, 3);
    for (const stage of process.stages) {
      const call = stage.enQueue('w');
      assert.ok(call.value.decision === 'accept');
      stage.deQueue('w', { holder: { token: call.value.turn.token } });
    }
    assert.deepEqual(
      process.stages.map(({ core }) => core.inside.idle.size),
      [1, 1, 1],
    );
  });

  it('no core has two shares, and one that left twice left once', () => {
    const process = new Process({});
    const [one] = process.two;
    assert.throws(() => one.core.join(process.shared, () => undefined), /one share/);
    process.end(one);
    one.core.leave(process.shared);
    process.turn();
  });

  it('whatever they do in whatever order, come and go: the sum is what they have, and no bound is passed', (t) => {
    for (const seed of seedsOf(t, 1, { usual: 12, fewest: 3 })) new World(seed).run();
  });
});

/** Random commands to random cores. */
class World {
  readonly #chance: Chance;
  readonly #process: Process;
  readonly #tokens = new Map<Stage, { readonly token: number; readonly key: string }[]>();
  #ids = 0;

  constructor(private readonly seed: number) {
    this.#chance = new Chance(seed);
    const limits = { payloadMemoryBytes: 8_000, busyLanes: 6, idleLanes: 9, dependencies: 4, queues: 5 };
    this.#process = new Process({ ...limits, waitingSubmits: 3, waitingCallers: 3, waitingAcquires: 2 }, 3);
  }

  run(): void {
    for (let step = 0; step < 400; step++) {
      this.#step();
      recountShared(this.#process.shared, this.#process.stages);
      this.#check(step);
    }
  }

  #step(): void {
    const { stages } = this.#process;
    const chance = this.#chance;
    const stage = stages[chance.int(0, stages.length - 1)];
    if (stage === undefined) return void this.#process.begin();
    const lot = chance.int(0, 99);
    const key = `k${chance.int(0, 7)}`;
    if (lot < 30) this.#submit(stage, key);
    else if (lot < 45) stage.enQueue('c', { key, wait: chance.int(0, 500) });
    else if (lot < 65) this.#acquire(stage);
    else if (lot < 85) this.#settle(stage);
    else if (lot < 90) this.#process.turn();
    else if (lot < 94) for (const one of stages) one.pass(chance.int(1, 30_000));
    else if (lot < 97 && stages.length < OF) this.#process.begin();
    else if (lot < 98) this.#process.end(stage);
    // No turn ends but by time: nobody is left with a stage that is gone.
    for (const one of this.#tokens.keys()) if (!stages.includes(one)) this.#tokens.delete(one);
  }

  #submit(stage: Stage, key: string): void {
    const chance = this.#chance;
    this.#ids += 1;
    const after = chance.in100(30) ? [{ queue: QUEUE, itemId: `i${this.#ids - chance.int(1, 5)}` }] : undefined;
    const payload = new Uint8Array(chance.int(0, 1_500));
    const item = { itemId: `i${this.#ids}`, key, payload, after, afterUnknown: 'wait' } as const;
    stage.submit('p', [item], chance.in100(20) ? `q${chance.int(1, 5)}` : QUEUE, chance.of(0, 0, 300));
  }

  #acquire(stage: Stage): void {
    const call = stage.acquire('w', { wait: this.#chance.of(0, 0, 200) });
    if (call.outcome === undefined || !('answer' in call.outcome)) return;
    const tokens = this.#tokens.get(stage) ?? [];
    for (const { turn } of call.value.deliveries) tokens.push({ token: turn.token, key: turn.key });
    this.#tokens.set(stage, tokens);
  }

  #settle(stage: Stage): void {
    const turn = this.#tokens.get(stage)?.shift();
    if (turn !== undefined) stage.ack('w', { ...turn, result: new Uint8Array(this.#chance.int(0, 400)) });
  }

  #check(step: number): void {
    const { use } = this.#process.shared;
    const { limits } = this.#process;
    const said = `seed ${this.seed}, step ${step}`;
    assert.ok(use.payloadBytes <= (limits.payloadMemoryBytes ?? 0), said);
    assert.ok(use.queues <= (limits.queues ?? 0) + OF, said);
    assert.ok(use.dependencies <= (limits.dependencies ?? 0), said);
    assert.ok(use.waiting.room <= 3 && use.waiting.caller <= 3 && use.waiting.acquire <= 2, said);
    assert.ok(use.idleLanes <= 2 * (limits.idleLanes ?? 0), said);
    assert.ok(use.resultBytes <= (limits.payloadMemoryBytes ?? 0) / 2, said);
  }
}
