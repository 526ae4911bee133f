/** S352: calls that end turns, of which it is not known whether their home has carried them out. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Calls, Refusal, Reply, Turn } from '../../../src/coordinator.js';
import type { Call } from '../../support/call.js';
import type { FakeHome } from './fake-homes.js';
import { RoutingStage } from './stage.js';

const Q = 'q0';
const UNKNOWN: Refusal = { kind: 'store_unavailable', description: 'it is not known', retryAfter: 1_000 };

/** Carries the call out, and loses the answer. @returns what tells the caller that */
function losing(home: FakeHome, name: 'ack' | 'nack' | 'deQueue'): () => void {
  const asked: Reply<never>[] = [];
  const calls: Calls = home.inner;
  const lost = (request: never, reply: Reply<never>) => {
    const call: (request: never, reply: Reply<unknown>) => unknown = calls[name].bind(calls);
    call(request, { answer: () => true, refuse: () => assert.fail('it is carried out') });
    asked.push(reply);
    return { cancel: () => undefined };
  };
  Object.assign(home, { [name]: lost });
  return () => {
    for (const reply of asked) reply.refuse(UNKNOWN);
  };
}

const KINDS: Readonly<Record<'ack' | 'nack' | 'deQueue', (stage: RoutingStage, turn: Turn) => Call<unknown>>> = {
  ack: (stage, turn) => stage.ack(turn),
  nack: (stage, turn) => stage.nack(turn),
  deQueue: (stage, turn) => stage.end(turn),
};

function begun(name: 'ack' | 'nack' | 'deQueue') {
  const stage = new RoutingStage();
  const partition = stage.map.of(Q, '');
  if (name !== 'deQueue') stage.submit([{ itemId: 'a' }, { itemId: 'b' }], { queue: Q });
  const turn = name === 'deQueue' ? stage.hold({ queue: Q }) : stage.take({ queues: [Q] }).turn;
  const home = stage.at(partition);
  const lose = losing(home, name);
  const call = KINDS[name](stage, turn);
  return { stage, partition, home, call, lose };
}

describe('a call that ends a turn', () => {
  for (const name of ['ack', 'nack', 'deQueue'] as const)
    it(`${name}: is asked again at the next home before what came after it, and answered as it was`, () => {
      const { stage, partition, home, call, lose } = begun(name);
      // As a link that is over: it was at the home for longer than calls are held.
      stage.advance(10_000);
      stage.homes.set(partition, undefined);
      lose();
      const after = stage.enQueue({ queue: Q, key: 'other' });
      const next = stage.moved(home, partition);
      assert.ok(call.value);
      assert.ok(after.value);
      assert.deepEqual(next.asked, [name.toLowerCase(), 'enqueue']);
    });

  it('is refused as what it is after 2 s: not known', () => {
    const { stage, partition, call, lose } = begun('ack');
    stage.homes.set(partition, undefined);
    lose();
    stage.advance(1_999);
    assert.ok(call.open);
    stage.advance(1);
    assert.deepEqual(call.refusal, UNKNOWN);
  });

  it('and when this sidecar ends', async () => {
    const { stage, partition, call, lose } = begun('ack');
    stage.homes.set(partition, undefined);
    lose();
    await stage.coordinator.close();
    assert.deepEqual(call.refusal, UNKNOWN);
  });

  it('is asked again for 2 s of a home whose store is away, and no longer', () => {
    const { stage, partition, home, call, lose } = begun('ack');
    home.trouble = UNKNOWN;
    stage.moved(home, partition).trouble = UNKNOWN;
    lose();
    stage.advance(1_950);
    assert.ok(call.open);
    stage.advance(50);
    assert.deepEqual(call.refusal, UNKNOWN);
    stage.advance(60_000);
  });
});
