/** Every error of the contract's table, and every limit that is not a matter of one request, with the embedded coordinator. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type TestContext, test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { type CallSettings, type Keyturn, KeyturnError } from '@keyturn/client';
import type { LossCause, Turn } from '../../../src/coordinator.js';
import type { LocalCoordinator } from '../../../src/local/coordinator.js';
import { deferred } from '../../support/deferred.js';
import { type LocalSettings, localCoordinator } from '../../support/local-coordinator.js';
import { startSidecar } from '../../support/sidecar.js';

async function sidecar(t: TestContext, settings: LocalSettings = {}) {
  const coordinator = localCoordinator(t, settings);
  return { ...(await startSidecar(t, coordinator, { limits: settings.limits ?? {} })), coordinator };
}

async function refused(answer: Promise<unknown>): Promise<KeyturnError> {
  const error = await answer.then(
    () => assert.fail('the call was answered with OK'),
    (caught: unknown) => caught,
  );
  assert.ok(error instanceof KeyturnError, String(error));
  return error;
}

async function isLost(answer: Promise<unknown>, cause: Uppercase<LossCause>): Promise<void> {
  const error = await refused(answer);
  assert.deepEqual([error.code, error.reason, error.details.metadata.get('cause')], ['ABORTED', 'TURN_LOST', cause]);
}

async function isBadRequest(answer: Promise<unknown>, field: string): Promise<void> {
  const error = await refused(answer);
  assert.deepEqual(
    [error.code, error.reason, error.details.violations.map((violation) => violation.field)],
    ['INVALID_ARGUMENT', 'BAD_REQUEST', [field]],
  );
}

async function isFull(answer: Promise<unknown>, reason: 'QUEUE_FULL' | 'LIMIT' | 'MEMORY_FULL'): Promise<void> {
  const error = await refused(answer);
  assert.deepEqual([error.code, error.reason], ['RESOURCE_EXHAUSTED', reason]);
  assert.equal(error.details.quota.length, 1);
  assert.ok(error.details.retryAfter !== undefined);
}

async function take(client: Keyturn, key = 'k', lease?: number): Promise<Turn> {
  const answer = await client.enQueue({ queue: 'q', key, lease });
  assert.ok(answer.decision === 'accept');
  return answer.turn;
}

async function takeItem(client: Keyturn): Promise<Turn> {
  await client.submit({ queue: 'q', items: [{ key: 'k', itemId: 'i' }] });
  const { deliveries } = await client.acquire({ queues: ['q'] });
  assert.ok(deliveries[0]);
  return deliveries[0].turn;
}

test('TURN_LOST: a token that is not live, whatever it is and whichever call uses it', async (t) => {
  const { client } = await sidecar(t);
  const turn = await take(client);
  const other = await take(client, 'other');
  const tokens = [0, 1, other.token, turn.token - 1, turn.token + 1, 2n ** 53n, 2n ** 63n, 2n ** 64n - 1n];
  for (const token of tokens) {
    const ref = { queue: 'q', key: 'k', token };
    await isLost(client.deQueue(ref), 'UNKNOWN');
    await isLost(client.ack(ref), 'UNKNOWN');
    await isLost(client.nack({ ...ref, kind: 'release' }), 'UNKNOWN');
    assert.deepEqual((await client.renew({ turns: [ref] })).results, [{ alive: false, cause: 'unknown' }]);
  }
  assert.ok(
    (await client.renew({ turns: [turn, other] })).results.every(({ alive }) => alive),
    'nothing changed',
  );
});

test('DeQueue twice and Ack twice are the same answer; another call is TURN_LOST, SETTLED', async (t) => {
  const { client } = await sidecar(t);
  const turn = await take(client);
  const dequeued = await client.deQueue({ ...turn });
  assert.deepEqual(await client.deQueue({ ...turn }), dequeued);
  await isLost(client.deQueue({ ...turn, abandoned: true }), 'SETTLED');
  await isLost(client.ack({ ...turn }), 'SETTLED');
  const withItem = await takeItem(client);
  const acked = await client.ack({ ...withItem, result: Buffer.from('r') });
  assert.deepEqual(await client.ack({ ...withItem, result: Buffer.from('r') }), acked);
  await isLost(client.nack({ ...withItem, kind: 'retry' }), 'SETTLED');
});

test('TURN_LOST: after the lease, and nothing is changed by it', async (t) => {
  const { client, rawAdmin } = await sidecar(t);
  await client.submit({ queue: 'q', items: [{ key: 'k', itemId: 'i' }] });
  const stream = rawAdmin.watchEvents({ queue: 'q' });
  t.after(() => stream.cancel());
  stream.on('error', () => {}); // Cancelled when the test ends.
  const expired = deferred();
  stream.on('data', ({ events }: { events: { kind: number }[] }) => {
    if (events.some(({ kind }) => kind === 4)) expired.resolve();
  });
  await once(stream, 'metadata');
  const { deliveries } = await client.acquire({ queues: ['q'], lease: 100 });
  const turn = deliveries[0]?.turn;
  assert.ok(turn);
  await expired.promise;
  await isLost(client.ack({ ...turn }), 'LEASE_EXPIRED');
  await isLost(client.deQueue({ ...turn }), 'LEASE_EXPIRED');
  assert.deepEqual((await client.renew({ turns: [turn] })).results, [{ alive: false, cause: 'lease_expired' }]);
  const { state, attempt } = await client.awaitItem({ queue: 'q', itemId: 'i' });
  assert.deepEqual([state, attempt], ['waiting', 1]);
});

test('TURN_LOST: EVICTED', async (t) => {
  const { client } = await sidecar(t);
  const turn = await take(client);
  await client.admin.evictHolder('q', 'k');
  await isLost(client.deQueue({ ...turn }), 'EVICTED');
});

test('TURN_LOST: TAKEN_OVER', async (t) => {
  const { client } = await sidecar(t, { policy: { wait: 50, onWaitTimeout: 'take_over' } });
  const turn = await take(client);
  const next = await client.enQueue({ queue: 'q', key: 'k' });
  assert.ok(next.decision === 'accept' && next.turn.token > turn.token);
  await isLost(client.deQueue({ ...turn }), 'TAKEN_OVER');
});

test('USE_ACK and AT_MOST_ONCE', async (t) => {
  const { client } = await sidecar(t, { queues: { once: { delivery: 'at_most_once' } } });
  const turn = await takeItem(client);
  const useAck = await refused(client.deQueue({ ...turn }));
  assert.deepEqual([useAck.code, useAck.reason], ['FAILED_PRECONDITION', 'USE_ACK']);
  await client.submit({ queue: 'once', items: [{ key: 'k' }] });
  const { deliveries } = await client.acquire({ queues: ['once'] });
  const once = { queue: 'once', key: 'k', token: deliveries[0]?.turn.token ?? 0 };
  const retried = await refused(client.nack({ ...once, kind: 'retry' }));
  assert.deepEqual([retried.code, retried.reason], ['FAILED_PRECONDITION', 'AT_MOST_ONCE']);
});

test('QUEUE_FULL accepts nothing of the batch', async (t) => {
  const { client } = await sidecar(t, { policy: { maxWaiting: 2 } });
  await client.submit({ queue: 'q', items: [{ key: 'a' }] });
  await isFull(client.submit({ queue: 'q', items: [{ key: 'b' }, { key: 'c' }] }), 'QUEUE_FULL');
  const [queue] = (await client.admin.listQueues()).queues;
  assert.equal(queue?.waiting, 1);
});

test('wait_for_room waits until there is room, else it is QUEUE_FULL when its time ends', async (t) => {
  const { client } = await sidecar(t, { policy: { maxWaiting: 1 } });
  await client.submit({ queue: 'q', items: [{ key: 'a' }] });
  await isFull(client.submit({ queue: 'q', items: [{ key: 'b' }], waitForRoom: 50 }), 'QUEUE_FULL');
  const waiting = client.submit({ queue: 'q', items: [{ key: 'b' }], waitForRoom: 60_000 });
  await client.acquire({ queues: ['q'] });
  assert.equal((await waiting).results[0]?.decision, 'accept');
});

test('a batch larger than the queue may hold is a bad request', async (t) => {
  const { client } = await sidecar(t, { policy: { maxWaiting: 2 } });
  await isBadRequest(client.submit({ queue: 'q', items: [{}, {}, {}], waitForRoom: 60_000 }), 'items');
});

test('MEMORY_FULL when payloads use what they may', async (t) => {
  const { client } = await sidecar(t, { limits: { payloadMemoryBytes: 10_000 } });
  const items = [{ key: 'a', payload: Buffer.alloc(8_000) }];
  await client.submit({ queue: 'q', items });
  await isFull(client.submit({ queue: 'q', items: [{ key: 'b', payload: Buffer.alloc(8_000) }] }), 'MEMORY_FULL');
});

test('LIMIT: queues', async (t) => {
  const { client } = await sidecar(t, { limits: { queues: 1 } });
  await take(client);
  await isFull(client.enQueue({ queue: 'another', key: 'k' }), 'LIMIT');
  await isFull(client.submit({ queue: 'another', items: [{}] }), 'LIMIT');
});

/** What waits until the test ends, and how often something waited so far. */
function waiters(t: TestContext, coordinator: LocalCoordinator) {
  const abort = new AbortController();
  t.after(() => abort.abort());
  let parked = 0;
  return async (ask: (settings: CallSettings) => Promise<unknown>) => {
    ask({ signal: abort.signal }).catch(() => {}); // Aborted when the test ends.
    parked += 1;
    while (coordinator.stats().waitingCalls < parked) await nextTurn();
  };
}

test('LIMIT: callers that wait', async (t) => {
  const policy = { waitingPerKey: 'unlimited' } as const;
  const { client, coordinator } = await sidecar(t, { limits: { waitingCallers: 1 }, policy });
  const park = waiters(t, coordinator);
  await take(client);
  await park((settings) => client.enQueue({ queue: 'q', key: 'k', wait: 60_000 }, settings));
  await isFull(client.enQueue({ queue: 'q', key: 'k', wait: 60_000 }), 'LIMIT');
  await isFull(client.acquire({ queues: ['q'], key: 'k', wait: 60_000 }), 'LIMIT');
});

test('LIMIT: Acquires that wait', async (t) => {
  const { client, coordinator } = await sidecar(t, { limits: { waitingAcquires: 1 } });
  const park = waiters(t, coordinator);
  await park((settings) => client.acquire({ queues: ['q'], wait: 60_000 }, settings));
  await isFull(client.acquire({ queues: ['q'], wait: 60_000 }), 'LIMIT');
});

test('LIMIT: Submits that wait for room', async (t) => {
  const { client, coordinator } = await sidecar(t, { limits: { waitingSubmits: 1 }, policy: { maxWaiting: 1 } });
  const park = waiters(t, coordinator);
  const submit = { queue: 'q', items: [{ key: 'k' }], waitForRoom: 60_000 };
  await client.submit(submit);
  await park((settings) => client.submit(submit, settings));
  await isFull(client.submit(submit), 'LIMIT');
});

test('LIMIT: watchers', async (t) => {
  const { client, rawAdmin } = await sidecar(t, { limits: { watchers: 1 } });
  await take(client);
  const stream = rawAdmin.watchEvents({ queue: 'q' });
  stream.on('error', () => {}); // Cancelled below.
  await once(stream, 'metadata');
  await isFull(client.admin.watchEvents('q').next(), 'LIMIT');
  stream.cancel();
});

test('LIMIT: Awaits that wait', async (t) => {
  const { client, coordinator } = await sidecar(t, { limits: { waitingAwaits: 1 } });
  const park = waiters(t, coordinator);
  await client.submit({ queue: 'q', items: [{ key: 'k', itemId: 'i' }] });
  await park((settings) => client.awaitItem({ queue: 'q', itemId: 'i', wait: 60_000 }, settings));
  await isFull(client.awaitItem({ queue: 'q', itemId: 'i', wait: 60_000 }), 'LIMIT');
});

test('NO_SUCH_QUEUE for every call when queues are not made on first use', async (t) => {
  const { client } = await sidecar(t, { autoCreate: false, queues: { known: {} } });
  const ref = { queue: 'q', key: 'k', token: 1 };
  const calls = [
    client.enQueue({ queue: 'q', key: 'k' }),
    client.deQueue(ref),
    client.submit({ queue: 'q', items: [{}] }),
    client.acquire({ queues: ['known', 'q'] }),
    client.ack(ref),
    client.nack({ ...ref, kind: 'retry' }),
    client.awaitItem({ queue: 'q', itemId: 'i' }),
    client.admin.listKeys({ queue: 'q' }),
    client.admin.explainKey('q', 'k'),
    client.admin.evictHolder('q', 'k'),
    client.admin.retryNow({ queue: 'q', key: 'k' }),
    client.admin.resumeKey('q', 'k'),
    client.admin.pauseQueue('q'),
    client.admin.resumeQueue('q'),
    client.admin.setLimits('q', { rate: undefined, maxInFlight: 1 }),
    client.admin.listDeadLetters({ queue: 'q' }),
    client.admin.redrive({ queue: 'q' }),
    client.admin.discard({ queue: 'q' }, true),
    client.admin.watchEvents('q').next(),
  ];
  for (const error of await Promise.all(calls.map(refused))) {
    assert.deepEqual([error.code, error.reason, error.details.resource], ['NOT_FOUND', 'NO_SUCH_QUEUE', 'q']);
  }
});

test('an item_id again with another content, and Nack with more done than there are, are bad requests', async (t) => {
  const { client } = await sidecar(t);
  const turn = await takeItem(client);
  await isBadRequest(client.submit({ queue: 'q', items: [{ key: 'k2', itemId: 'i' }] }), 'items[0].item_id');
  await isBadRequest(client.nack({ ...turn, kind: 'retry', done: 2 }), 'done');
});

test('a place that is given up from elsewhere is CANCELLED for the call that waits in it', async (t) => {
  const { client } = await sidecar(t);
  await take(client);
  const waiting = refused(client.enQueue({ queue: 'q', key: 'k', ticket: 't', wait: 60_000 }));
  for (;;) {
    if ((await client.admin.explainKey('q', 'k')).waitingCallers === 1) break;
  }
  await client.deQueue({ queue: 'q', key: 'k', ticket: 't' });
  const error = await waiting;
  assert.deepEqual([error.code, error.reason], ['CANCELLED', 'CANCELLED']);
});

test('a page_token that is not ours is a bad request', async (t) => {
  const { client } = await sidecar(t);
  await take(client);
  await isBadRequest(client.admin.listKeys({ queue: 'q', pageToken: 'not ours' }), 'page_token');
  await isBadRequest(client.admin.listDeadLetters({ queue: 'q', pageToken: 'not ours' }), 'page_token');
  await isBadRequest(client.admin.listQueues({ pageToken: 'not ours' }), 'page_token');
});
