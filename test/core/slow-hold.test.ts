/** S454: which turns are told because they were held for long, and what of them. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { bytes, QUEUE } from '../support/builders.js';
import { Stage } from './stage.js';

const TRACE = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';

function stageWith(policy: object = {}): Stage {
  return new Stage({ queues: { [QUEUE]: { lease: 60_000, slowHold: 1_000, ...policy } } });
}

describe('S454: slow_hold', () => {
  it('a turn that is held for longer is told when it ends, with its worker, items and their trace', () => {
    const stage = stageWith();
    const items = ['a', 'b', 'c'].map((itemId) => ({
      itemId,
      payload: bytes('p'),
      headers: new Map(itemId === 'b' ? [['traceparent', TRACE]] : []),
    }));
    stage.submit('submitter', items);
    const [delivery] = stage.acquire('worker', { maxItemsPerTurn: 3 }).value.deliveries;
    assert.ok(delivery);
    stage.pass(1_001);
    assert.deepEqual(stage.slow, []);
    stage.ack('worker', { token: delivery.turn.token });
    const { key, token } = delivery.turn;
    const itemIds = ['a', 'b', 'c'];
    const how = { held: 1_001, slowHold: 1_000, how: 'ack' };
    const told = { queue: QUEUE, key, token, consumerId: 'worker', ...how, itemIds, items: 3, traceparent: TRACE };
    assert.deepEqual(stage.slow, [told]);
  });

  it('one that is held for exactly as long is not, nor any without the setting', () => {
    for (const policy of [{}, { slowHold: undefined }]) {
      const stage = stageWith(policy);
      const { token } = accepted(stage);
      stage.pass(policy.slowHold === undefined && 'slowHold' in policy ? 50_000 : 1_000);
      stage.deQueue('caller', { holder: { token } });
      assert.deepEqual(stage.slow, []);
    }
  });

  it('however it ends: by its lease, by a person, given back', () => {
    const ends: readonly (readonly [string, (stage: Stage, token: number) => void])[] = [
      ['expired', (stage) => stage.pass(60_000)],
      ['evicted', (stage) => stage.person((now) => stage.core.evictHolder(QUEUE, 'k', now), String)],
      ['dequeue', (stage, token) => stage.deQueue('caller', { holder: { token } })],
      ['release', (stage, token) => stage.deQueue('caller', { holder: { token }, abandoned: true })],
    ];
    for (const [how, end] of ends) {
      const stage = stageWith();
      const { token } = accepted(stage);
      stage.pass(2_000);
      end(stage, token);
      assert.deepEqual(
        stage.slow.map((turn) => [turn.how, turn.items, turn.traceparent]),
        [[how, 0, undefined]],
      );
    }
  });

  it('counts from when the turn was handed over, not from when it was kept for an absent caller', () => {
    const stage = stageWith({ waitingPerKey: 'unlimited', ticketTtl: 30_000 });
    const { token } = accepted(stage);
    stage.enQueue('next', { wait: 0, ticket: 't' });
    stage.deQueue('caller', { holder: { token } });
    stage.pass(5_000);
    const again = stage.enQueue('next', { wait: 0, ticket: 't' }).value;
    assert.ok(again.decision === 'accept');
    stage.pass(900);
    stage.deQueue('next', { holder: { token: again.turn.token } });
    assert.deepEqual(stage.slow, []);
  });

  it('names ten of many items', () => {
    const stage = stageWith();
    stage.submit(
      'submitter',
      Array.from({ length: 25 }, (_, at) => ({ itemId: `i${at}`, payload: bytes('p') })),
    );
    const [delivery] = stage.acquire('worker', { maxItemsPerTurn: 25 }).value.deliveries;
    stage.pass(1_500);
    stage.ack('worker', { token: delivery?.turn.token ?? assert.fail() });
    assert.deepEqual(
      stage.slow.map(({ itemIds, items }) => [itemIds.length, items]),
      [[10, 25]],
    );
  });
});

function accepted(stage: Stage) {
  const answer = stage.enQueue('caller').value;
  assert.ok(answer.decision === 'accept');
  return answer.turn;
}
