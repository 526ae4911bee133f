/** I9, of what is kept: payloads, dead letters, what is remembered, queues. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { BUILT_IN_POLICY } from '../../src/core/contract/policy.js';
import { ALL_QUEUES, bytes, newItem, QUEUE } from '../support/builders.js';
import { full } from './refused.js';
import { atOnce, okay, runThrough, Stage } from './stage.js';

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
    assert.equal(scan && runThrough(scan).done, 1);
    stage.carry();
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
    okay(atOnce(stage.core.discardDead({ queue: QUEUE, key: undefined, itemIds: [] }, 1_000, () => stage.now)));
    assert.equal(stage.core.stats(stage.now).payloadBytes, 0);
  });
});

describe('limits.answer_bytes', () => {
  const items = ['a', 'b', 'c'].map((itemId) => ({ itemId, key: itemId, payload: bytes('x'.repeat(2_000)) }));
  const keysOf = (stage: Stage) =>
    stage.acquire('worker', { maxTurns: 3 }).value.deliveries.map(({ turn }) => turn.key);

  it('ends an answer with the turn before the one that is too much; the first is given whatever it has', () => {
    const stage = new Stage({ limits: { answerBytes: 5_000 } });
    stage.submit('submitter', items);
    assert.deepEqual([keysOf(stage), keysOf(stage), keysOf(stage)], [['a', 'b'], ['c'], []]);
    const small = new Stage({ limits: { answerBytes: 100 } });
    small.submit('submitter', items);
    assert.deepEqual([keysOf(small), keysOf(small)], [['a'], ['b']]);
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
    okay(atOnce(stage.core.discardDead({ queue: QUEUE, key: 'a', itemIds: [] }, 1_000, () => stage.now)));
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
      stage.core.listQueues(ALL_QUEUES, stage.now).queues.map(({ name }) => name),
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
    const names = () => stage.core.listQueues(ALL_QUEUES, stage.now).queues.map(({ name }) => name);
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
    const followUps = ['b', 'c'].map((queue) => ({ queue, item: newItem({ itemId: queue }) }));
    full(stage.ack('worker', { queue: 'a', token, followUps }).refusal, 'limit', 'queues', 2);
    assert.equal(stage.explain('a').state, 'PROCESS');
    const one = followUps.slice(0, 1);
    stage.now += 1;
    assert.equal(stage.ack('worker', { queue: 'a', token, followUps: one }).value.followUps.length, 1);
  });
});
