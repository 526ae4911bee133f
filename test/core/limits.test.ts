/** I9: every collection has a limit, and what is over a limit gets a clear error with nothing lost. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { QUEUE } from '../support/builders.js';
import { full } from './refused.js';
import { okay, Stage } from './stage.js';

const STRICT = { waitingPerKey: 'unlimited' } as const;

describe('limits.waiting_callers', () => {
  it('refuses one more, counts those whose ticket keeps a place, and lets one in when one has left', () => {
    const stage = new Stage({ queues: { [QUEUE]: STRICT }, limits: { waitingCallers: 2 } });
    stage.enQueue('holder');
    const first = stage.enQueue('first', { wait: 1_000 });
    stage.enQueue('absent', { wait: 0, ticket: 't' });
    full(stage.enQueue('over', { wait: 1_000 }).refusal, 'limit', 'waiting_callers', 2);
    full(stage.acquire('over', { key: 'k', wait: 1_000 }).refusal, 'limit', 'waiting_callers', 2);
    assert.deepEqual(
      stage.explain().line.map(({ id }) => id),
      ['first', 't'],
    );
    first.cancel();
    assert.ok(stage.enQueue('next', { wait: 1_000 }).open);
  });

  it('a call that does not stay needs no room', () => {
    const stage = new Stage({ limits: { waitingCallers: 1 } });
    for (const key of ['a', 'b']) stage.enQueue('holder', { key });
    stage.enQueue('first', { key: 'a', wait: 1_000 });
    assert.equal(stage.enQueue('passer-by', { key: 'b', wait: 0 }).value.decision, 'block');
  });

  it('is kept too where a caller would take the place of an item', () => {
    const policy = { waitingPerKey: 1, whenFull: 'replace' } as const;
    const stage = new Stage({ queues: { [QUEUE]: policy }, limits: { waitingCallers: 1 } });
    for (const key of ['a', 'b']) stage.enQueue('holder', { key });
    stage.submit('submitter', [
      { key: 'a', itemId: 'a' },
      { key: 'b', itemId: 'b' },
    ]);
    assert.ok(stage.enQueue('first', { key: 'a', wait: 1_000 }).open);
    full(stage.enQueue('over', { key: 'b', wait: 1_000 }).refusal, 'limit', 'waiting_callers', 1);
    assert.equal(stage.awaitItem('someone', 'b', 0).value.state, 'waiting', 'the item is where it was');
    // One caller for another: there are no more of them than before.
    assert.ok(stage.enQueue('second', { key: 'a', wait: 1_000 }).open);
  });
});

describe('limits.waiting_acquires', () => {
  it('refuses one more, and lets one in when one was answered', () => {
    const stage = new Stage({ limits: { waitingAcquires: 1 } });
    const first = stage.acquire('first', { wait: 1_000 });
    full(stage.acquire('over', { wait: 1_000, ticket: 't' }).refusal, 'limit', 'waiting_acquires', 1);
    assert.equal(stage.acquire('passer-by').value.deliveries.length, 0);
    stage.submit('submitter', [{ itemId: 'i' }]);
    assert.equal(first.value.deliveries.length, 1);
    assert.ok(stage.acquire('next', { wait: 1_000 }).open);
  });
});

describe('limits.waiting_awaits', () => {
  it('refuses one more, and lets one in when one has ended', () => {
    const stage = new Stage({ limits: { waitingAwaits: 1 } });
    stage.submit('submitter', [{ itemId: 'i' }]);
    stage.awaitItem('first', 'i', 1_000);
    full(stage.awaitItem('over', 'i', 1_000).refusal, 'limit', 'waiting_awaits', 1);
    assert.equal(stage.awaitItem('passer-by', 'i', 0).value.state, 'waiting');
    stage.pass(1_000);
    assert.ok(stage.awaitItem('next', 'i', 1_000).open);
  });
});

describe('limits.waiting_submits and max_waiting', () => {
  const small = { queues: { [QUEUE]: { maxWaiting: 1 } }, limits: { waitingSubmits: 1 } };

  it('max_waiting refuses one more entry of whatever kind, and takes nothing of a batch', () => {
    const stage = new Stage({ queues: { [QUEUE]: { ...STRICT, maxWaiting: 2 } } });
    stage.enQueue('holder');
    stage.enQueue('first', { wait: 1_000 });
    full(stage.submit('over', [{ itemId: 'a' }, { itemId: 'b' }]).refusal, 'queue_full', QUEUE, 2);
    assert.equal(stage.awaitItem('someone', 'a', 0).value.state, 'unknown');
    stage.submit('submitter', [{ itemId: 'a' }]);
    full(stage.enQueue('over', { wait: 1_000 }).refusal, 'queue_full', QUEUE, 2);
    full(stage.acquire('over', { key: 'k', wait: 1_000 }).refusal, 'queue_full', QUEUE, 2);
    assert.equal(stage.explain().line.length, 2);
  });

  it('what comes back always finds room', () => {
    const stage = new Stage(small);
    stage.submit('submitter', [{ itemId: 'a' }]);
    const [delivery] = stage.acquire('worker').value.deliveries;
    assert.ok(delivery);
    stage.submit('submitter', [{ itemId: 'b' }]);
    assert.equal(stage.nack('worker', { token: delivery.turn.token, kind: 'release' }).value.deadLettered, 0);
    assert.deepEqual(
      stage.explain().line.map(({ id }) => id),
      ['a', 'b'],
    );
  });

  it('a batch larger than the queue may hold is a bad request, wait or not', () => {
    const stage = new Stage(small);
    const batch = [{ itemId: 'a' }, { itemId: 'b' }];
    assert.equal(stage.submit('submitter', batch, QUEUE, 1_000).refusal.kind, 'bad_request');
  });

  it('waits for room first come first served; one more who waits is refused', () => {
    const stage = new Stage(small);
    stage.submit('submitter', [{ itemId: 'a' }]);
    const first = stage.submit('first', [{ itemId: 'b' }], QUEUE, 1_000);
    full(stage.submit('over', [{ itemId: 'c' }], QUEUE, 1_000).refusal, 'limit', 'waiting_submits', 1);
    assert.equal(stage.acquire('worker').value.deliveries.length, 1);
    assert.deepEqual(first.value.results, [{ decision: 'accept', itemId: 'b', supersededId: undefined }]);
    const second = stage.submit('second', [{ itemId: 'd' }], QUEUE, 1_000);
    stage.pass(1_000);
    full(second.refusal, 'queue_full', QUEUE, 1);
    assert.ok(stage.submit('third', [{ itemId: 'd' }], QUEUE, 1_000).open);
  });

  it('with several of them, one that does not wait never overtakes those who do', () => {
    const stage = new Stage({ queues: { [QUEUE]: { maxWaiting: 2 } } });
    stage.submit('submitter', [{ itemId: 'a' }]);
    const large = stage.submit('large', [{ itemId: 'b' }, { itemId: 'c' }], QUEUE, 1_000);
    assert.equal(stage.submit('small', [{ itemId: 'd' }]).refusal.kind, 'queue_full');
    large.cancel();
    assert.equal(stage.submit('small', [{ itemId: 'd' }]).value.results.length, 1);
  });
});

describe('who waits for room behind one that leaves', () => {
  /** Room for one more; the first in the queue of those who wait wants two. */
  function twoWait(firstWait: number) {
    const stage = new Stage({ queues: { [QUEUE]: { maxWaiting: 2 } } });
    stage.submit('submitter', [{ itemId: 'a' }]);
    const first = stage.submit('first', [{ itemId: 'b' }, { itemId: 'c' }], QUEUE, firstWait);
    const second = stage.submit('second', [{ itemId: 'd' }], QUEUE, 5_000);
    assert.ok(first.open && second.open);
    return { stage, first, second };
  }

  it('has its room when that one is cancelled', () => {
    const { first, second } = twoWait(5_000);
    first.cancel();
    assert.equal(second.value.results[0]?.decision, 'accept');
  });

  it('has its room when the wait of that one ends', () => {
    const { stage, first, second } = twoWait(1_000);
    stage.pass(1_000);
    assert.equal(first.refusal.kind, 'queue_full');
    assert.equal(second.value.results[0]?.decision, 'accept');
  });
});

describe('limits.busy_lanes', () => {
  it('refuses a key more, not one more for a key that is busy, and lets a key in when one is idle', () => {
    const stage = new Stage({ queues: { [QUEUE]: STRICT }, limits: { busyLanes: 2 } });
    const holder = stage.enQueue('holder', { key: 'a' });
    stage.submit('submitter', [{ key: 'b' }]);
    full(stage.enQueue('over', { key: 'c' }).refusal, 'limit', 'busy_lanes', 2);
    full(stage.submit('over', [{ key: 'c' }]).refusal, 'limit', 'busy_lanes', 2);
    assert.ok(stage.enQueue('next', { key: 'a', wait: 1_000 }).open);
    assert.equal(stage.explain(QUEUE, 'c').state, 'INIT');
    assert.ok(holder.value.decision === 'accept');
    stage.deQueue('holder', { key: 'a', holder: { token: holder.value.turn.token } });
    stage.pass(1_000);
    assert.equal(stage.explain(QUEUE, 'a').state, 'PROCESS');
  });

  it('refuses a caller at a closed gate', () => {
    const stage = new Stage({ limits: { busyLanes: 1 } });
    okay(stage.core.pauseQueue(QUEUE, stage.now));
    assert.ok(stage.enQueue('first', { key: 'a', wait: 1_000 }).open);
    full(stage.enQueue('over', { key: 'b', wait: 1_000 }).refusal, 'limit', 'busy_lanes', 1);
  });

  it('is kept by turns from before the start, which are made up easily', () => {
    const stage = new Stage({ startupHold: 60_000, limits: { busyLanes: 2 } });
    for (const key of ['a', 'b', 'c', 'd']) stage.renew('worker', 100, QUEUE, key);
    assert.equal(stage.queue()?.liveTurns, 2);
    full(stage.deQueue('worker', { key: 'c', holder: { token: 100 } }).refusal, 'limit', 'busy_lanes', 2);
    assert.ok(stage.deQueue('worker', { key: 'a', holder: { token: 100 } }).value);
    assert.ok(stage.deQueue('worker', { key: 'c', holder: { token: 100 } }).value, 'there is room now');
  });
});
