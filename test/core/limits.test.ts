/** I9: every collection has a limit, and what is over a limit gets a clear error with nothing lost. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Refusal } from '../../src/coordinator.js';
import { BUILT_IN_POLICY } from '../../src/core/policy.js';
import { bytes, QUEUE } from '../support/builders.js';
import { okay, runThrough, Stage } from './stage.js';

const STRICT = { waitingPerKey: 'unlimited' } as const;

function full(refusal: Refusal, kind: Refusal['kind'], subject: string, limit: number): void {
  assert.deepEqual({ ...refusal, description: '' }, { kind, subject, limit, description: '', retryAfter: 1_000 });
  assert.match('description' in refusal ? refusal.description : '', new RegExp(String(limit)));
}

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

describe('limits.payload_memory_bytes', () => {
  const kilobyte = bytes('x'.repeat(1_000));
  const limits = { payloadMemoryBytes: 4_096 };
  const item = (itemId: string) => ({ itemId, key: itemId, payload: kilobyte });

  it('refuses what does not fit, whole, and lets it in when something is done', () => {
    const stage = new Stage({ limits });
    stage.submit('submitter', ['a', 'b'].map(item));
    full(stage.submit('over', ['c', 'd'].map(item)).refusal, 'memory_full', 'payload_memory_bytes', 4_096);
    stage.submit('submitter', [item('c')]);
    const waiting = stage.submit('waiting', [item('d')], QUEUE, 1_000);
    const [delivery] = stage.acquire('worker').value.deliveries;
    assert.ok(delivery && waiting.open, 'what is in flight is still kept');
    stage.ack('worker', { key: 'a', token: delivery.turn.token });
    assert.equal(waiting.value.results[0]?.decision, 'accept');
  });

  it('is shared by all queues: room made in one lets those in who wait in another', () => {
    const stage = new Stage({ limits });
    stage.submit('submitter', ['a', 'b', 'c'].map(item), 'one');
    const waiting = stage.submit('waiting', [item('d')], 'other', 1_000);
    assert.ok(waiting.open);
    const scan = okay(stage.core.discardWaiting({ queue: 'one', key: 'a', itemIds: [] }, 10, () => stage.now));
    assert.equal(scan && runThrough(scan), 1);
    stage.person(
      (now) => ({ ok: true, value: stage.core.finishSlice(now) }),
      () => 'slice',
    );
    assert.equal(waiting.value.results.length, 1);
  });

  it('a batch that can never fit is a bad request', () => {
    const stage = new Stage({ limits });
    assert.equal(stage.submit('over', ['a', 'b', 'c', 'd'].map(item), QUEUE, 1_000).refusal.kind, 'bad_request');
  });

  it('is all given back in the end, dead letters and superseded ones included', () => {
    const stage = new Stage({ limits, queues: { [QUEUE]: { waitingPerKey: 1, whenFull: 'replace' } } });
    const one = (itemId: string) => ({ ...item(itemId), key: 'k' });
    for (const id of ['a', 'b', 'c', 'd', 'e']) stage.submit('submitter', [one(id)]);
    const [delivery] = stage.acquire('worker').value.deliveries;
    assert.ok(delivery);
    stage.nack('worker', { token: delivery.turn.token, kind: 'dead_letter' });
    assert.ok(stage.core.stats(stage.now).payloadBytes > 1_000);
    okay(stage.core.discardDead({ queue: QUEUE, key: undefined, itemIds: [] }, stage.now));
    assert.equal(stage.core.stats(stage.now).payloadBytes, 0);
  });
});

describe('max_dead_letters', () => {
  it('S23: when full, the item stays at the head and the key parks; resumed, it gets one more attempt each time', () => {
    const retry = { ...BUILT_IN_POLICY.retry, maxAttempts: 1 };
    const stage = new Stage({ queues: { [QUEUE]: { maxDeadLetters: 1, retry } } });
    const fail = (key: string) => {
      const [delivery] = stage.acquire('worker').value.deliveries;
      assert.ok(delivery);
      return stage.nack('worker', { key, token: delivery.turn.token, error: 'no' }).value.deadLettered;
    };
    stage.submit('submitter', [{ key: 'a', itemId: 'a' }]);
    assert.equal(fail('a'), 1);
    stage.submit('submitter', [{ key: 'b', itemId: 'b' }]);
    for (const attempt of [1, 2]) {
      assert.equal(fail('b'), 0);
      const { state, line } = stage.explain(QUEUE, 'b');
      assert.deepEqual([state, line.map(({ id, attempts }) => [id, attempts])], ['PARK', [['b', attempt]]]);
      okay(stage.core.resumeKey(QUEUE, 'b', stage.now));
    }
    okay(stage.core.discardDead({ queue: QUEUE, key: 'a', itemIds: [] }, stage.now));
    assert.equal(fail('b'), 1, 'there is room now');
  });
});

describe('max_remembered', () => {
  it('is how many finished items are known, the least recently used forgotten first', () => {
    const stage = new Stage({ queues: { [QUEUE]: { maxRemembered: 2 } } });
    for (const id of ['a', 'b', 'c']) {
      stage.submit('submitter', [{ key: id, itemId: id }]);
      const [delivery] = stage.acquire('worker').value.deliveries;
      assert.ok(delivery);
      stage.ack('worker', { key: id, token: delivery.turn.token });
    }
    const states = ['a', 'b', 'c'].map((id) => stage.awaitItem('someone', id, 0).value.state);
    assert.deepEqual(states, ['unknown', 'done', 'done']);
  });

  it('is how many done idempotency keys are known', () => {
    const stage = new Stage({ queues: { [QUEUE]: { maxRemembered: 2, idempotencyTtl: 60_000 } } });
    const decide = (idempotencyKey: string) => {
      const { value } = stage.enQueue('worker', { idempotencyKey });
      if (value.decision === 'accept') stage.deQueue('worker', { holder: { token: value.turn.token } });
      return value.decision;
    };
    assert.deepEqual(['a', 'b', 'c', 'c', 'b', 'a'].map(decide), [
      'accept',
      'accept',
      'accept',
      'decline',
      'decline',
      'accept',
    ]);
  });
});

describe('limits.queues', () => {
  it('refuses one more; a queue that holds nothing makes room', () => {
    const stage = new Stage({ queues: {}, limits: { queues: 2 } });
    const first = stage.enQueue('worker', { queue: 'a' });
    stage.submit('submitter', [{}], 'b');
    full(stage.enQueue('over', { queue: 'c' }).refusal, 'limit', 'queues', 2);
    full(stage.submit('over', [{}], 'c').refusal, 'limit', 'queues', 2);
    full(stage.acquire('over', { queues: ['c'] }).refusal, 'limit', 'queues', 2);
    assert.ok(first.value.decision === 'accept');
    stage.deQueue('worker', { queue: 'a', holder: { token: first.value.turn.token } });
    stage.now += 1;
    assert.equal(stage.enQueue('worker', { queue: 'c' }).value.decision, 'accept');
    assert.deepEqual(
      stage.core.listQueues(stage.now).map(({ name }) => name),
      ['b', 'c'],
    );
  });

  it('a named queue always finds room', () => {
    const stage = new Stage({ queues: { a: {}, b: {} }, limits: { queues: 1 } });
    for (const queue of ['a', 'b']) assert.equal(stage.enQueue('worker', { queue }).value.decision, 'accept');
  });

  it('S26: a queue that is not named and was not used for 60 s is forgotten; what it holds keeps it', () => {
    const stage = new Stage({ queues: {} });
    const { value } = stage.enQueue('worker', { queue: 'idle' });
    assert.ok(value.decision === 'accept');
    stage.deQueue('worker', { queue: 'idle', holder: { token: value.turn.token } });
    stage.submit('submitter', [{}], 'busy');
    const names = () => stage.core.listQueues(stage.now).map(({ name }) => name);
    stage.pass(59_000);
    assert.deepEqual(names(), ['busy', 'idle']);
    stage.pass(20_000);
    assert.deepEqual(names(), ['busy']);
  });

  it('does not forget a queue that this very call uses: Acquire of two new ones waits in both', () => {
    const stage = new Stage({ queues: {}, limits: { queues: 2 } });
    stage.submit('submitter', [{}], 'busy');
    full(stage.acquire('worker', { queues: ['a', 'b'], wait: 1_000 }).refusal, 'limit', 'queues', 2);
    const waiting = stage.acquire('worker', { queues: ['a'], wait: 1_000 });
    stage.submit('submitter', [{}], 'a');
    assert.equal(waiting.value.deliveries.length, 1);
  });

  it('both or neither: follow-ups to queues for which there is no room leave the turn as it was', () => {
    const stage = new Stage({ queues: {}, limits: { queues: 2 } });
    stage.submit('submitter', [{ itemId: 'i' }], 'a');
    const [delivery] = stage.acquire('worker', { queues: ['a'] }).value.deliveries;
    assert.ok(delivery);
    const { token } = delivery.turn;
    const followUps = ['b', 'c'].map((queue) => ({ queue, item: { ...EMPTY, itemId: queue } }));
    full(stage.ack('worker', { queue: 'a', token, followUps }).refusal, 'limit', 'queues', 2);
    assert.equal(stage.explain('a').state, 'PROCESS');
    const one = followUps.slice(0, 1);
    stage.now += 1;
    assert.equal(stage.ack('worker', { queue: 'a', token, followUps: one }).value.followUps.length, 1);
  });
});

const EMPTY = {
  key: 'k',
  payload: bytes(''),
  headers: undefined,
  itemId: undefined,
  idempotencyKey: undefined,
  delay: 0,
};
