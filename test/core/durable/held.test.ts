/** Which effects wait for the disk, and how soon what changed has to be there. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Durability, Policy } from '../../../src/coordinator.js';
import { Core } from '../../../src/core/core.js';
import * as build from '../../support/builders.js';
import { FIRST_WALL } from '../../support/fake-clock.js';

const REPLY = { answer: () => true, refuse: () => undefined };
const NOW = 5_000;
const ON_DISK = 'on-disk';
const IN_MEMORY = 'in-memory';

function start(policy: Partial<Policy> = {}): Core {
  const queues = { [ON_DISK]: { durable: true, ...policy }, [IN_MEMORY]: {} };
  const core = new Core(build.settings({ queues }), { now: NOW, wall: FIRST_WALL, seed: 1, durable: true });
  core.collect(NOW);
  return core;
}

function submit(core: Core, queue: string, durability?: Durability, now = NOW): void {
  core.submit({ queue, items: [build.newItem()], waitForRoom: 0, durability }, REPLY, now);
}

const acquire = (core: Core, queues: readonly string[], wait = 0) =>
  core.acquire(build.acquireRequest({ queues: [...queues], wait }), REPLY, NOW);

/** Kinds of the effects, in order. */
function taken(core: Core): { free: string[]; held: string[] } {
  const free: string[] = [];
  const held: string[] = [];
  for (let next = core.takeEffect(); next !== undefined; next = core.takeEffect()) free.push(next.kind);
  for (let next = core.takeHeld(); next !== undefined; next = core.takeHeld()) held.push(next.kind);
  return { free, held };
}

describe('what is told of a durable queue waits for the disk', () => {
  const calls: readonly { what: string; call: (core: Core, queue: string) => void; told: string[] }[] = [
    { what: 'Submit', call: submit, told: ['submit'] },
    {
      what: 'EnQueue',
      call: (core, queue) => void core.enQueue(build.enQueueRequest({ queue }), REPLY, NOW),
      told: ['enqueue'],
    },
    { what: 'Acquire of nothing', call: (core, queue) => void acquire(core, [queue]), told: ['acquire'] },
    {
      what: 'Ack that is refused',
      call: (core, queue) => void core.ack(build.ackRequest({ queue, token: 1 }), REPLY, NOW),
      told: ['refuse'],
    },
    {
      what: 'Await',
      call: (core, queue) => void core.awaitItem({ queue, itemId: 'i', wait: 0 }, REPLY, NOW),
      told: ['await'],
    },
    {
      what: 'Renew',
      call: (core, queue) => core.renew({ turns: [{ queue, key: 'k', token: 1 }], lease: undefined }, REPLY, NOW),
      told: ['renew'],
    },
  ];
  for (const { what, call, told } of calls) {
    it(`${what}: on_flush yes; interval, count and memory no`, () => {
      const cases: [string, Partial<Policy>, boolean][] = [
        [ON_DISK, {}, true],
        [ON_DISK, { durability: 'interval' }, false],
        [ON_DISK, { durability: 'count' }, false],
        [ON_DISK, { durability: 'memory' }, false],
        [IN_MEMORY, {}, false],
      ];
      for (const [queue, policy, held] of cases) {
        const core = start(policy);
        call(core, queue);
        assert.deepEqual(
          taken(core),
          held ? { free: [], held: told } : { free: told, held: [] },
          JSON.stringify(policy),
        );
      }
    });
  }

  it('turns that end by time are told to their streams when that is on disk', () => {
    const core = start({ lease: 1_000 });
    const opened = core.openStream({ notice: () => {}, replaced: () => {} });
    assert.ok(opened.ok);
    for (const queue of [IN_MEMORY, ON_DISK]) core.enQueue(build.enQueueRequest({ queue }), REPLY, NOW, opened.value);
    taken(core);
    core.tick(NOW + 60_000, 1_000);
    const { free, held } = taken(core);
    assert.deepEqual([free.filter((kind) => kind !== 'notice'), held], [[], ['notice']]);
  });

  it('what a memory queue has to tell in the same tick does not wait', () => {
    const core = start({ lease: 1_000 });
    for (const queue of [ON_DISK, IN_MEMORY]) {
      submit(core, queue);
      acquire(core, [queue]);
      core.collect(NOW);
      acquire(core, [queue], 30_000);
    }
    core.enQueue(build.enQueueRequest({ queue: IN_MEMORY, key: 'other', lease: 1_000 }), REPLY, NOW);
    core.enQueue(build.enQueueRequest({ queue: IN_MEMORY, key: 'other', wait: 20_000 }), REPLY, NOW);
    taken(core);
    core.tick(NOW + 1_000, 1_000);
    assert.deepEqual(taken(core).free, ['enqueue']);
  });

  it('Ack on disk with a next from memory: the answer tells of both', () => {
    const core = start();
    submit(core, ON_DISK);
    submit(core, IN_MEMORY);
    acquire(core, [ON_DISK]);
    taken(core);
    const holder = core.explainKey(ON_DISK, build.KEY, NOW);
    assert.ok(holder.ok && holder.value.holder !== undefined);
    const next = build.acquireRequest({ queues: [IN_MEMORY] });
    core.ack(build.ackRequest({ queue: ON_DISK, token: holder.value.holder.token, next }), REPLY, NOW);
    assert.deepEqual(taken(core), { free: [], held: ['ack'] });
  });

  it('a Submit may ask for less, or for more, than its queue: what it lets happen waits as ever', () => {
    for (const [policy, asked, wanted] of [
      ['on_flush', 'interval', { free: ['submit'], held: ['acquire'] }],
      ['on_flush', 'count', { free: ['submit'], held: ['acquire'] }],
      ['on_flush', 'memory', { free: ['submit'], held: ['acquire'] }],
      ['interval', 'on_flush', { free: ['acquire'], held: ['submit'] }],
    ] as const) {
      const core = start({ durability: policy });
      acquire(core, [ON_DISK], 10_000);
      submit(core, ON_DISK, asked);
      assert.deepEqual(taken(core), wanted, `${asked} at a queue of ${policy}`);
    }
  });
});

describe('what a person lets happen in a queue in memory', () => {
  const acts: Readonly<Record<string, (core: Core) => unknown>> = {
    EvictHolder: (core) => core.evictHolder(IN_MEMORY, 'k', NOW),
    ResumeQueue: (core) => core.resumeQueue(IN_MEMORY, NOW),
  };
  for (const [what, act] of Object.entries(acts)) {
    it(`${what}: does not wait for the disk, though the step before did`, () => {
      const core = start();
      if (what === 'ResumeQueue') core.pauseQueue(IN_MEMORY, NOW);
      for (const wait of [0, 60_000])
        core.enQueue(
          build.enQueueRequest({ queue: IN_MEMORY, wait: what === 'ResumeQueue' ? 60_000 : wait }),
          REPLY,
          NOW,
        );
      taken(core);
      submit(core, ON_DISK);
      taken(core);
      act(core);
      assert.deepEqual(taken(core), { free: ['enqueue'], held: [] });
    });
  }
});

describe('how soon it is written', () => {
  it('on_flush: at once', () => {
    const core = start();
    assert.deepEqual([core.urgent, core.changes, core.flushBy], [false, 0, Number.POSITIVE_INFINITY]);
    submit(core, ON_DISK);
    assert.deepEqual([core.urgent, core.changes], [true, 1]);
    taken(core);
    assert.ok(core.urgent, 'also when its effects were taken');
    core.collect(NOW);
    assert.deepEqual([core.urgent, core.changes, core.flushBy], [false, 0, Number.POSITIVE_INFINITY]);
  });

  it('an effect that waits, though nothing changed: at once', () => {
    const core = start();
    core.awaitItem({ queue: ON_DISK, itemId: 'i', wait: 0 }, REPLY, NOW);
    assert.deepEqual([core.urgent, core.changes], [true, 0]);
    taken(core);
    assert.equal(core.urgent, false);
  });

  it('interval: within flush_interval of the first change', () => {
    const core = start({ durability: 'interval', flushInterval: 70 });
    submit(core, ON_DISK);
    submit(core, ON_DISK, undefined, NOW + 30);
    assert.deepEqual([core.urgent, core.flushBy], [false, NOW + 70]);
  });

  it('count: when there are flush_count changes, or within flush_interval', () => {
    const core = start({ durability: 'count', flushInterval: 70, flushCount: 3 });
    submit(core, ON_DISK);
    submit(core, ON_DISK);
    assert.deepEqual([core.urgent, core.flushBy], [false, NOW + 70]);
    submit(core, ON_DISK);
    assert.ok(core.urgent);
    core.collect(NOW);
    submit(core, ON_DISK);
    assert.equal(core.urgent, false, 'counted anew');
  });

  it('a Submit that asks for less than on_flush', () => {
    const core = start({ flushInterval: 70 });
    submit(core, ON_DISK, 'interval');
    assert.deepEqual([core.urgent, core.flushBy], [false, NOW + 70]);
  });

  it('what is forgotten: soon, but nobody waits for it', () => {
    const core = start({ resultTtl: 1_000 });
    submit(core, ON_DISK);
    acquire(core, [ON_DISK]);
    const holder = core.explainKey(ON_DISK, build.KEY, NOW);
    assert.ok(holder.ok && holder.value.holder !== undefined);
    core.ack(build.ackRequest({ queue: ON_DISK, token: holder.value.holder.token }), REPLY, NOW);
    core.collect(NOW);
    taken(core);
    core.tick(NOW + 10_000, 1_000);
    assert.deepEqual([core.changes, core.urgent, core.flushBy], [1, false, NOW + 10_050]);
  });

  it('without a journal there is never anything', () => {
    const core = new Core(build.settings({ queues: { [ON_DISK]: { durable: true } } }), {
      now: NOW,
      wall: FIRST_WALL,
      seed: 1,
    });
    submit(core, ON_DISK);
    assert.deepEqual([core.urgent, core.changes, core.flushBy], [false, 0, Number.POSITIVE_INFINITY]);
    assert.deepEqual(core.collect(NOW).changes, []);
    assert.deepEqual(taken(core), { free: ['submit'], held: [] });
    assert.equal(core.isDurable(ON_DISK), false);
  });

  it('tells which queues may have to wait, made or not', () => {
    const core = start();
    assert.deepEqual(
      [ON_DISK, IN_MEMORY, 'unknown'].map((queue) => core.isDurable(queue)),
      [true, false, false],
    );
  });
});
