/** S634: a queue that remembers no idempotency keys, and callers and producers who send some. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { LocalCoordinator } from '../../../src/local/coordinator.js';
import { Stage } from '../../contract/stage.js';
import { newItem, QUEUE } from '../../support/builders.js';

function staged(idempotencyTtl: number) {
  const found: string[] = [];
  const onUnusedKey = (queue: string) => void found.push(queue);
  const change = { queues: { [QUEUE]: { idempotencyTtl }, next: { idempotencyTtl } } };
  const stage = new Stage((settings, clock) => new LocalCoordinator(settings, { clock, seed: 1, onUnusedKey }), change);
  return { stage, found };
}

describe('an idempotency key that does nothing', () => {
  it('of an item is noticed, once for its queue', () => {
    const { stage, found } = staged(0);
    stage.submit([{ idempotencyKey: 'a' }, { idempotencyKey: 'b' }]);
    stage.submit([{ idempotencyKey: 'c' }]);
    assert.deepEqual(found, [QUEUE]);
  });

  it('of a caller is noticed', () => {
    const { stage, found } = staged(0);
    stage.hold({ idempotencyKey: 'a' });
    assert.deepEqual(found, [QUEUE]);
  });

  it('of a follow-up is noticed, for the queue to which it goes', () => {
    const { stage, found } = staged(0);
    stage.items('i');
    const item = { key: 'k', idempotencyKey: 'a' };
    stage.ack(stage.take().turn, { followUps: [{ queue: 'next', item: newItem(item), target: undefined }] });
    assert.deepEqual(found, ['next']);
  });

  it('is none with idempotency_ttl, and none where there is no key', () => {
    const remembering = staged(1_000);
    remembering.stage.submit([{ idempotencyKey: 'a' }]);
    assert.deepEqual(remembering.found, []);
    const without = staged(0);
    without.stage.items('i');
    without.stage.hold({ key: 'other' });
    assert.deepEqual(without.found, []);
  });
});
