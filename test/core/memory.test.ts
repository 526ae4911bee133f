/**
 * Bounded memory: whatever is done again and again leaves nothing behind. Each cycle uses names that were never used before,
 * so that what is not forgotten is another one each time. Nothing here depends on time: the clock is a number, and the heap
 * is looked at when all that is garbage was collected. Each run looks at some kinds, by lot.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { AcquireAnswer, EnQueueAnswer, Limits, Policy, Reply, TurnRef } from '../../src/coordinator.js';
import { Core, type Stream, type WaitingCall } from '../../src/core/core.js';
import * as build from '../support/builders.js';
import { FIRST_WALL } from '../support/fake-clock.js';
import { someOf } from '../support/runs.js';
import { atOnce, carry, isAnswer, okay } from './stage.js';

/** `KEYTURN_RUNS=99 KEYTURN_CYCLES=100000 node --test dist/test/core/memory.test.js` looks at all of them, eight times as closely. */
const CYCLES = Number(process.env['KEYTURN_CYCLES'] ?? 12_000);
/** Until every memory that has a limit is full. */
const WARM_UP = 5_000;
/** What a look at the heap may be wrong by, all in all. An entry that is kept in a Map has 16 bytes and more. */
const NOISE = 96_000;
const LOOKS = 3;

setFlagsFromString('--expose-gc');
const collectGarbage: () => void = runInNewContext('gc');

function heap(): number {
  collectGarbage();
  collectGarbage();
  return process.memoryUsage().heapUsed;
}

type Change<F extends (...args: never[]) => unknown> = Parameters<F>[0];

/** A core, and callers that forget what they are told. */
class Table {
  readonly core: Core;
  now = 5_000;
  on: Stream | undefined;
  #asked: Reply<unknown> = ACCEPTED;
  #turns: TurnRef[] = [];

  constructor(policy: Partial<Policy>, limits: Partial<Limits>, durable: boolean) {
    const small = { idleLanes: 64, payloadMemoryBytes: 1_000_000, ...limits };
    const settings = build.settings({ queues: { [build.QUEUE]: { maxRemembered: 64, ...policy } }, limits: small });
    this.core = new Core(settings, { now: this.now, wall: FIRST_WALL, seed: 1, durable });
  }

  enQueue(change: Change<typeof build.enQueueRequest>): WaitingCall | undefined {
    const reply = this.#reply<EnQueueAnswer>((answer) => {
      if (answer.decision === 'accept') this.#turns.push(answer.turn);
    });
    return this.#done(this.core.enQueue(build.enQueueRequest(change), reply, this.now, this.on));
  }

  deQueue(change: Change<typeof build.deQueueRequest>): void {
    this.core.deQueue(build.deQueueRequest(change), this.#reply(), this.now, this.on);
    this.#done();
  }

  submit(change: Change<typeof build.newItem>, queue = build.QUEUE, waitForRoom = 0): WaitingCall | undefined {
    const request = { queue, items: [build.newItem(change)], waitForRoom, durability: undefined };
    return this.#done(this.core.submit(request, this.#reply(), this.now));
  }

  acquire(change: Change<typeof build.acquireRequest> = {}): WaitingCall | undefined {
    const reply = this.#reply<AcquireAnswer>((answer) => this.#takeAll(answer));
    return this.#done(this.core.acquire(build.acquireRequest(change), reply, this.now, this.on));
  }

  ack(turn: TurnRef, change: Partial<Change<typeof build.ackRequest>> = {}): void {
    this.core.ack(build.ackRequest({ ...turn, ...change }), this.#reply(), this.now, this.on);
    this.#done();
  }

  nack(turn: TurnRef, kind: 'retry' | 'release' | 'dead_letter'): void {
    this.core.nack(build.nackRequest({ ...turn, kind }), this.#reply(), this.now, this.on);
    this.#done();
  }

  awaitItem(itemId: string, wait: number): WaitingCall | undefined {
    return this.#done(this.core.awaitItem({ queue: build.QUEUE, itemId, wait }, this.#reply(), this.now));
  }

  hello(stream: Stream, sessionId: string): void {
    this.core.hello(stream, { consumerId: 'worker', sessionId, ttl: 100 }, ACCEPTED, this.now);
    this.#done();
  }

  /** The one that was asked last. */
  cancel(call: WaitingCall | undefined, leave = true): void {
    if (call !== undefined) this.core.cancel(call, this.#asked, leave, this.now);
    this.#done();
  }

  do(act: (core: Core, now: number) => unknown): void {
    act(this.core, this.now);
    this.#done();
  }

  /** The turn that was given last and not taken yet. */
  get turn(): TurnRef {
    const turn = this.#turns.pop();
    if (turn === undefined) throw new Error('no turn was given');
    return { queue: turn.queue, key: turn.key, token: turn.token };
  }

  /** Of the turns nobody looks at. */
  forget(): void {
    this.#turns = [];
  }

  pass(ms: number): void {
    this.now += ms;
    while (this.core.tick(this.now, 1_000));
    this.#done();
  }

  #takeAll({ deliveries }: AcquireAnswer): void {
    for (const { turn } of deliveries) this.#turns.push(turn);
  }

  #reply<T>(hear: (answer: T) => void = () => undefined): Reply<T> {
    const answer = (value: T) => {
      hear(value);
      return true;
    };
    const reply = { answer, refuse: () => undefined };
    this.#asked = reply;
    return reply;
  }

  #done(call?: WaitingCall): WaitingCall | undefined {
    const { core } = this;
    if (core.changes > 0) core.written(core.collect(this.now));
    for (
      let next = core.takeEffect() ?? core.takeHeld();
      next !== undefined;
      next = core.takeEffect() ?? core.takeHeld()
    ) {
      if (isAnswer(next)) carry(next);
    }
    return call;
  }
}

/** A limit that is reached would hide what is left behind. */
const ACCEPTED: Reply<unknown> = {
  answer: () => true,
  refuse: (refusal) => assert.fail(JSON.stringify(refusal)),
};

interface Cycle {
  readonly run: (table: Table, n: number) => void;
  /** Once, before. */
  readonly prepare?: (table: Table) => void;
  readonly policy?: Partial<Policy>;
  readonly limits?: Partial<Limits>;
  /** It leaves rows of its own on disk. */
  readonly alsoDurable?: boolean;
}

const ALL = { queue: build.QUEUE, key: undefined, itemIds: [] };
const HOUR = 3_600_000;

const CYCLES_OF: Readonly<Record<string, Cycle>> = {
  'a caller with a ticket, of a key of its own': {
    alsoDurable: true,
    run: (table, n) => {
      table.enQueue({ key: `k${n}`, ticket: `t${n}`, idempotencyKey: `b${n}` });
      table.deQueue({ key: `k${n}`, holder: { token: table.turn.token } });
    },
    policy: { idempotencyTtl: HOUR, minInterval: 0 },
  },
  'a caller that waits, and one that is absent until its ticket ends': {
    prepare: (table) => table.enQueue({ key: 'k', lease: 24 * HOUR }),
    run: (table, n) => {
      table.enQueue({ key: 'k', ticket: `t${n}`, wait: 0 });
      table.cancel(table.enQueue({ key: 'k', ticket: `u${n}`, wait: 1_000 }), n % 2 === 0);
      table.enQueue({ key: 'k', wait: 10 });
      table.pass(60);
      if (n % 1_000 === 0) table.forget();
    },
    policy: { ticketTtl: 50, waitingPerKey: 'unlimited' },
  },
  'a refused EnQueue with a ticket': {
    prepare: (table) => {
      table.enQueue({ key: 'k', lease: 24 * HOUR });
      table.enQueue({ key: 'k', ticket: 'stays', wait: 0 });
    },
    run: (table, n) => void table.enQueue({ key: 'k', ticket: `t${n}`, wait: 1_000 }),
    policy: { waitingPerKey: 'unlimited', ticketTtl: 24 * HOUR },
    limits: { waitingCallers: 1 },
  },
  'a refused EnQueue of a key of its own': {
    prepare: (table) => void table.enQueue({ key: 'k', lease: 24 * HOUR }),
    run: (table, n) => void table.enQueue({ key: `k${n}`, ticket: `t${n}` }),
    limits: { busyLanes: 1 },
  },
  'a refused Acquire with a ticket': {
    prepare: (table) => void table.acquire({ wait: 300_000 }),
    run: (table, n) => void table.acquire({ ticket: `t${n}`, wait: 300_000 }),
    limits: { waitingAcquires: 1 },
  },
  'an Acquire with a ticket that gets nothing, is cancelled, or waits to its end': {
    run: (table, n) => {
      table.acquire({ ticket: `t${n}` });
      table.cancel(table.acquire({ ticket: `u${n}`, wait: 300_000 }));
      table.acquire({ ticket: `v${n}`, wait: 5 });
      table.pass(5);
    },
  },
  'an item of a client, taken with a ticket, done with a result': {
    alsoDurable: true,
    run: (table, n) => {
      table.submit({ key: `k${n}`, itemId: `i${n}`, idempotencyKey: `b${n}`, payload: new Uint8Array(10) });
      table.acquire({ ticket: `t${n}` });
      table.ack(table.turn, { result: new Uint8Array(10) });
    },
    policy: { idempotencyTtl: HOUR },
  },
  'an item of which the id is made here, and one without a key': {
    run: (table) => {
      for (const key of ['k', '']) {
        table.submit({ key });
        table.acquire();
        table.ack(table.turn);
      }
    },
  },
  'an item that is forgotten by its time': {
    run: (table, n) => {
      table.submit({ key: 'k', itemId: `i${n}` });
      table.acquire();
      table.ack(table.turn);
      table.pass(100);
    },
    policy: { resultTtl: 1_000, maxRemembered: 1_000 },
  },
  'an item that is retried, dies, is redriven, and dies to be discarded': {
    alsoDurable: true,
    run: (table, n) => {
      table.submit({ key: `k${n}`, itemId: `i${n}` });
      for (const kind of ['retry', 'dead_letter'] as const) {
        table.acquire();
        table.nack(table.turn, kind);
        table.pass(1);
      }
      table.do((core, now) => okay(atOnce(core.redrive(ALL, 1_000, () => now))));
      table.acquire();
      table.nack(table.turn, 'dead_letter');
      table.do((core, now) => okay(atOnce(core.discardDead(ALL, 1_000, () => now))));
    },
    policy: { retry: { maxAttempts: 9, initial: 1, factor: 1, max: 1, jitter: 'none' } },
  },
  'a key that is parked and resumed': {
    run: (table, n) => {
      table.submit({ key: `k${n}`, itemId: `i${n}` });
      table.acquire();
      table.nack(table.turn, 'dead_letter');
      table.do((core, now) => okay(core.resumeKey(build.QUEUE, `k${n}`, now)));
      table.do((core, now) => okay(atOnce(core.discardDead(ALL, 1_000, () => now))));
    },
    policy: { onDeadLetter: 'park' },
  },
  'a keyless item that is parked for want of room, and resumed': {
    prepare: (table) => {
      table.submit({ key: 'd', itemId: 'd' });
      table.acquire();
      table.nack(table.turn, 'dead_letter');
    },
    run: (table, n) => {
      table.submit({ key: '', itemId: `i${n}` });
      table.acquire();
      table.nack(table.turn, 'dead_letter');
      table.do((core, now) => okay(core.resumeKey(build.QUEUE, '', now)));
      table.acquire();
      table.ack(table.turn);
    },
    policy: { maxDeadLetters: 1 },
  },
  'items that wait for others': {
    alsoDurable: true,
    run: (table, n) => {
      const after = [{ queue: build.QUEUE, itemId: `a${n}` }];
      table.submit({ key: 'b', itemId: `b${n}`, after, afterUnknown: 'wait' });
      table.submit({ key: 'a', itemId: `a${n}` });
      for (let i = 0; i < 2; i++) {
        table.acquire();
        table.ack(table.turn);
      }
    },
  },
  'an item that dies with the one it waits for': {
    run: (table, n) => {
      table.submit({ key: 'a', itemId: `a${n}` });
      table.submit({ key: 'b', itemId: `b${n}`, after: [{ queue: build.QUEUE, itemId: `a${n}` }] });
      table.acquire();
      table.nack(table.turn, 'dead_letter');
      table.do((core, now) => okay(atOnce(core.discardDead(ALL, 1_000, () => now))));
    },
  },
  'an item that waits for what never comes, and is discarded': {
    run: (table, n) => {
      const after = [{ queue: build.QUEUE, itemId: `never${n}` }];
      table.submit({ key: 'b', itemId: `b${n}`, after, afterUnknown: 'wait' });
      table.do((core, now) => assert.equal(okay(atOnce(core.discardWaiting(ALL, 1_000, () => now))), 1));
    },
  },
  'a Submit that waits for room, cancelled or to its end': {
    prepare: (table) => void table.submit({ key: 'k' }),
    run: (table, n) => {
      table.cancel(table.submit({ key: `k${n}`, itemId: `i${n}` }, build.QUEUE, 300_000));
      table.submit({ key: `k${n}`, itemId: `i${n}` }, build.QUEUE, 5);
      table.pass(5);
    },
    policy: { maxWaiting: 1 },
  },
  'a refused Submit': {
    prepare: (table) => void table.submit({ key: 'k' }),
    run: (table, n) => void table.submit({ key: `k${n}`, itemId: `i${n}`, idempotencyKey: `b${n}` }),
    policy: { maxWaiting: 1 },
  },
  'an item that supersedes another': {
    prepare: (table) => void table.enQueue({ key: 'k', lease: 24 * HOUR }),
    run: (table, n) => void table.submit({ key: 'k', itemId: `i${n}` }),
    policy: { waitingPerKey: 1, whenFull: 'replace' },
  },
  'an Await, cancelled, to its end, or answered': {
    run: (table, n) => {
      table.submit({ key: 'k', itemId: `i${n}` });
      table.cancel(table.awaitItem(`i${n}`, 300_000));
      table.awaitItem(`i${n}`, 5);
      table.pass(5);
      table.awaitItem(`i${n}`, 1_000);
      table.acquire();
      table.ack(table.turn);
    },
  },
  'an Ack with a follow-up and a next with a ticket': {
    prepare: (table) => {
      table.submit({ key: 'k0' });
      table.acquire();
    },
    run: (table, n) => {
      const item = build.newItem({ key: `k${n + 1}`, itemId: `i${n + 1}` });
      const next = build.acquireRequest({ ticket: `t${n}` });
      table.ack(table.turn, { followUps: [{ queue: build.QUEUE, item }] });
      table.acquire(next);
    },
  },
  'a turn that nobody learnt of, with a ticket and without': {
    run: (table, n) => {
      table.enQueue({ key: `k${n}` });
      table.do((core, now) => core.undeliverable([table.turn], now));
      table.enQueue({ key: `k${n}`, ticket: `t${n}` });
      table.do((core, now) => core.undeliverable([table.turn], now));
      table.pass(50);
    },
    policy: { ticketTtl: 50 },
  },
  'an item at most once that nobody got, and then somebody': {
    alsoDurable: true,
    run: (table, n) => {
      table.submit({ key: `k${n}`, itemId: `i${n}`, idempotencyKey: `b${n}` });
      table.acquire();
      table.do((core, now) => core.undeliverable([table.turn], now));
      table.acquire();
      table.ack(table.turn);
    },
    policy: { delivery: 'at_most_once', idempotencyTtl: HOUR },
  },
  'a session with turns that breaks and does not come back': {
    alsoDurable: true,
    run: (table, n) => {
      const stream = okay(table.core.openStream({ notice: () => undefined, replaced: () => undefined }));
      table.hello(stream, `s${n}`);
      table.on = stream;
      table.enQueue({ key: `k${n}` });
      table.enQueue({ key: `l${n}`, lease: 200 });
      table.on = undefined;
      table.forget();
      table.do((core, now) => core.closeStream(stream, now));
      table.pass(200);
    },
    policy: { maxHold: 400 },
  },
  'a session that is replaced': {
    run: (table, n) => {
      const stream = okay(table.core.openStream({ notice: () => undefined, replaced: () => undefined }));
      const next = okay(table.core.openStream({ notice: () => undefined, replaced: () => undefined }));
      table.hello(stream, `s${n}`);
      table.hello(next, `s${n}`);
      table.do((core, now) => core.closeStream(stream, now));
      table.do((core, now) => core.closeStream(next, now));
      table.pass(100);
    },
  },
  'a queue that is used once': {
    run: (table, n) => {
      table.enQueue({ queue: `q${n}`, key: 'k' });
      table.deQueue({ queue: `q${n}`, key: 'k', holder: { token: table.turn.token } });
      table.pass(100);
    },
    limits: { queues: 20 },
  },
  'a lease that ends, an eviction, a limit that is changed, a pause': {
    run: (table, n) => {
      table.enQueue({ key: `k${n}`, lease: 100 });
      table.pass(100);
      table.enQueue({ key: `k${n}` });
      table.forget();
      table.do((core, now) => okay(core.evictHolder(build.QUEUE, `k${n}`, now)));
      table.do((core, now) => okay(core.pauseQueue(build.QUEUE, now)));
      table.do((core, now) => okay(core.resumeQueue(build.QUEUE, now)));
      table.do((core, now) => okay(core.setLimits(build.QUEUE, { rate: undefined, maxInFlight: 5 }, now)));
    },
  },
};

function growth({ run, prepare, policy = {}, limits = {} }: Cycle, durable: boolean): number {
  const table = new Table({ durable, ...policy }, limits, durable);
  prepare?.(table);
  let n = 0;
  const again = (cycles: number) => {
    for (const end = n + cycles; n < end; n++) run(table, n);
    return heap();
  };
  let before = again(WARM_UP);
  let grown = 0;
  // What code and caches take they take once; what is left behind grows each time.
  for (let look = 0; look < LOOKS; look++) {
    const after = again(CYCLES);
    grown = after - before;
    if (grown < NOISE) return grown;
    before = after;
  }
  return grown;
}

interface Kind {
  readonly name: string;
  readonly cycle: Cycle;
  readonly durable: boolean;
}

const KINDS = Object.entries(CYCLES_OF).flatMap(([name, cycle]): readonly Kind[] => [
  { name, cycle, durable: false },
  ...(cycle.alsoDurable === true ? [{ name: `${name}, in a durable queue`, cycle, durable: true }] : []),
]);

test(`after ${CYCLES} times the heap is as large as before`, async (t) => {
  for (const { name, cycle, durable } of someOf(t, KINDS, (kind) => kind.name, { fewest: 12 }))
    await t.test(name, () => {
      const bytes = growth(cycle, durable);
      assert.ok(bytes < NOISE, `${(bytes / CYCLES).toFixed(1)} bytes stay of each`);
    });
});
