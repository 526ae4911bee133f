/** S271: a partition of a cluster. Somebody else may go on from what is on disk at any moment, and give turns. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Durability } from '../../../src/coordinator.js';
import { Core } from '../../../src/core/core.js';
import * as build from '../../support/builders.js';
import { FIRST_WALL } from '../../support/fake-clock.js';
import { Lives } from './reborn.js';

const REPLY = { answer: () => true, refuse: () => undefined };
const NOW = 5_000;
const { QUEUE, KEY } = build;

/** Of queues that need not wait for the disk. */
const LAX = ['interval', 'count'] as const;

function begin(durability: Durability): Core {
  const settings = build.settings({ queues: { [QUEUE]: { durable: true, durability, wait: 0 } } });
  const partition = { number: 3, of: 64 };
  const core = new Core(settings, { now: NOW, wall: FIRST_WALL, seed: 1, durable: true, partition });
  core.written(core.collect(NOW));
  return core;
}

/** Kinds of the effects, in order, and what they tell. */
function taken(core: Core) {
  const free: string[] = [];
  const held: string[] = [];
  let token = 0;
  for (let next = core.takeEffect(); next !== undefined; next = core.takeEffect()) free.push(next.kind);
  for (let next = core.takeHeld(); next !== undefined; next = core.takeHeld()) {
    held.push(next.kind);
    if (next.kind === 'enqueue' && next.answer.decision === 'accept') token = next.answer.turn.token;
    if (next.kind === 'acquire') token = next.answer.deliveries[0]?.turn.token ?? 0;
    if (next.kind === 'ack') token = next.answer.next?.deliveries[0]?.turn.token ?? 0;
  }
  return { free, held, token };
}

const enQueue = (core: Core) => void core.enQueue(build.enQueueRequest(), REPLY, NOW);
const acquire = (core: Core) => void core.acquire(build.acquireRequest(), REPLY, NOW);
const submit = (core: Core, durability?: Durability) => {
  core.submit({ queue: QUEUE, items: [build.newItem()], waitForRoom: 0, durability }, REPLY, NOW);
};

for (const durability of LAX) {
  describe(`S271: in a partition, with durability ${durability}`, () => {
    it('the answer that gives a turn waits for its flush, which is wanted at once', () => {
      const core = begin(durability);
      enQueue(core);
      assert.ok(core.urgent);
      const { free, held } = taken(core);
      assert.deepEqual([free, held], [[], ['enqueue']]);
    });

    it('so does that of a turn with items, and of the next of an Ack', () => {
      const core = begin(durability);
      submit(core);
      submit(core);
      assert.deepEqual(taken(core), { free: ['submit', 'submit'], held: [], token: 0 });
      acquire(core);
      const { free, held, token } = taken(core);
      assert.deepEqual([free, held], [[], ['acquire']]);
      core.ack(build.ackRequest({ token, next: build.acquireRequest() }), REPLY, NOW);
      const after = taken(core);
      assert.deepEqual([after.free, after.held, after.token > token], [[], ['ack'], true]);
    });

    it('so does that of a turn that lives longer', () => {
      const core = begin(durability);
      enQueue(core);
      const { token } = taken(core);
      core.renew({ turns: [{ queue: QUEUE, key: KEY, token }], lease: 60_000 }, REPLY, NOW);
      assert.deepEqual(taken(core), { free: [], held: ['renew'], token: 0 });
    });

    it('Submit and what ends a turn do not wait', () => {
      const core = begin(durability);
      submit(core);
      acquire(core);
      const first = taken(core);
      assert.deepEqual([first.free, first.held], [['submit'], ['acquire']]);
      core.nack(build.nackRequest({ token: first.token, kind: 'release' }), REPLY, NOW);
      acquire(core);
      const second = taken(core);
      assert.deepEqual([second.free, second.held], [['nack'], ['acquire']]);
      core.ack(build.ackRequest({ token: second.token }), REPLY, NOW);
      enQueue(core);
      const third = taken(core);
      assert.deepEqual([third.free, third.held], [['ack'], ['enqueue']]);
      core.deQueue(build.deQueueRequest({ holder: { token: third.token } }), REPLY, NOW);
      assert.deepEqual(taken(core), { free: ['dequeue'], held: [], token: 0 });
    });

    it('a token from before the start is not believed: all live turns came back', () => {
      const change = { queues: { [QUEUE]: { durable: true, durability } }, startupHold: 10_000 };
      const world = new Lives(change, false, { number: 3, of: 64 });
      world.flush();
      world.restart();
      world.stage.renew('w', 3 + 64);
      assert.deepEqual(world.stage.told, ['w LOST unknown']);
    });
  });
}

describe('S271: in a partition', () => {
  it('a Submit that asks for memory is refused, and told what is allowed', () => {
    const world = new Lives(undefined, false, { number: 3, of: 64 });
    const call = world.stage.submit('p', [{ itemId: 'i' }], QUEUE, 0, 'memory');
    assert.ok(call.refusal.kind === 'bad_request');
    const [violation] = call.refusal.violations;
    assert.equal(violation?.field, 'durability');
    assert.match(violation?.description ?? '', /^memory is not allowed: in a cluster .*; allowed: on_flush, interval/);
    assert.equal(world.stage.queue()?.waitingItems, 0);
  });
});
