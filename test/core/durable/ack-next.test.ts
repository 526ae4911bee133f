/** An Ack with a `next` that has to wait is answered by a later step, which need not know of the durable queue. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { AckAnswer } from '../../../src/coordinator.js';
import { Core } from '../../../src/core/core.js';
import { ackRequest, acquireRequest, newItem, settings } from '../../support/builders.js';
import { Call } from '../../support/call.js';

const LATER = 1_000;

/** A core with a durable queue and one in memory, and an Ack in the durable one whose `next` waits in the other. */
function waiting(): { readonly core: Core; readonly ack: Call<AckAnswer> } {
  const queues = { durable: { durable: true }, memory: {} };
  const core = new Core(settings({ queues }), { now: 0, wall: 1_800_000_000_000, seed: 1, durable: true });
  submit(core, 'durable');
  core.acquire(acquireRequest({ queues: ['durable'] }), new Call(), 0);
  const [given] = [...held(core)].flatMap((effect) => (effect.kind === 'acquire' ? effect.answer.deliveries : []));
  assert.ok(given !== undefined);
  core.collect(0);
  const ack = new Call<AckAnswer>();
  const next = acquireRequest({ queues: ['memory'], wait: LATER });
  core.ack(ackRequest({ queue: 'durable', token: given.turn.token, next }), ack, 0);
  assert.deepEqual([...free(core), ...held(core)], [], 'it waits');
  return { core, ack };
}

function submit(core: Core, queue: string): void {
  core.submit({ queue, items: [newItem()], waitForRoom: 0, durability: undefined }, new Call(), 0);
}

function* free(core: Core) {
  for (let effect = core.takeEffect(); effect !== undefined; effect = core.takeEffect()) yield effect;
}

function* held(core: Core) {
  for (let effect = core.takeHeld(); effect !== undefined; effect = core.takeHeld()) yield effect;
}

describe('S47: the answer to an Ack of a durable queue waits for the disk', () => {
  it('when its next comes from a queue in memory', () => {
    const { core, ack } = waiting();
    submit(core, 'memory');
    assert.deepEqual(
      [...free(core)].map(({ kind }) => kind),
      ['submit'],
    );
    const [answer] = [...held(core)];
    assert.ok(answer?.kind === 'ack' && answer.to === ack && answer.answer.next?.deliveries.length === 1);
  });

  it('when the wait of its next ends', () => {
    const { core, ack } = waiting();
    core.tick(LATER, 10);
    assert.deepEqual([...free(core)], []);
    const [answer] = [...held(core)];
    assert.ok(answer?.kind === 'ack' && answer.to === ack);
  });

  it('when draining ends its next', () => {
    const { core, ack } = waiting();
    core.drain(1);
    assert.deepEqual([...free(core)], []);
    assert.deepEqual(
      [...held(core)].map((effect) => 'to' in effect && effect.to),
      [ack],
    );
  });
});
