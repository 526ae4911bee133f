/** Every call of section 4, over real gRPC, with the embedded coordinator behind it. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type TestContext, test } from 'node:test';
import { connect, KeyturnError } from '@keyturn/client';
import type { EnQueueAnswer, Turn } from '../../../src/coordinator.js';
import { type Event, EventKind } from '../../../src/grpc/gen/keyturn/v1/admin.js';
import { EnQueueRequest } from '../../../src/grpc/gen/keyturn/v1/coordinator.js';
import { deferred } from '../../support/deferred.js';
import { FakeClock } from '../../support/fake-clock.js';
import { type LocalSettings, localCoordinator } from '../../support/local-coordinator.js';
import { message, start, startSidecar } from '../../support/sidecar.js';
import { failureOf } from '../errors.js';

async function sidecar(t: TestContext, settings: LocalSettings = {}) {
  const coordinator = localCoordinator(t, settings);
  return { ...(await startSidecar(t, coordinator)), coordinator };
}

function turnOf(answer: EnQueueAnswer): Turn {
  assert.equal(answer.decision, 'accept');
  return answer.turn;
}

const text = (value: string) => Buffer.from(value);

test('EnQueue and DeQueue: a turn, a wait, a hand-over', async (t) => {
  const { client } = await sidecar(t);
  const first = turnOf(await client.enQueue({ queue: 'q', key: 'k', lease: 5_000 }));
  assert.deepEqual([first.queue, first.key, first.lease, first.attempt], ['q', 'k', 5_000, 0]);
  const blocked = await client.enQueue({ queue: 'q', key: 'k', wait: 0 });
  assert.deepEqual(blocked, { decision: 'block', ahead: 1, retryAfter: undefined, ticket: undefined });
  const second = client.enQueue({ queue: 'q', key: 'k', wait: 60_000, consumerId: 'second' });
  const declined = await untilWaiting(client, 1).then(() => client.enQueue({ queue: 'q', key: 'k' }));
  assert.ok(declined.decision === 'decline');
  assert.deepEqual([declined.reason, declined.survivorId], ['waiter_exists', 'second']);
  const ended = await client.deQueue({ queue: 'q', key: 'k', token: first.token });
  assert.deepEqual(ended, { promoted: true, waiting: 0 });
  assert.ok(turnOf(await second).token > first.token);
});

async function untilWaiting(client: ReturnType<typeof connect>, count: number): Promise<void> {
  for (;;) {
    const { waitingCallers } = await client.admin.explainKey('q', 'k');
    if (waitingCallers === count) return;
  }
}

test('a ticket keeps its place, repeats its turn, and gives it up', async (t) => {
  const { client } = await sidecar(t);
  const holder = turnOf(await client.enQueue({ queue: 'q', key: 'k' }));
  const mine = { queue: 'q', key: 'k', ticket: 't1', wait: 0 };
  assert.deepEqual(await client.enQueue(mine), { decision: 'block', ahead: 1, retryAfter: undefined, ticket: 't1' });
  await client.deQueue({ queue: 'q', key: 'k', token: holder.token });
  const turn = turnOf(await client.enQueue(mine));
  assert.equal(turnOf(await client.enQueue(mine)).token, turn.token);
  assert.deepEqual(await client.deQueue({ queue: 'q', key: 'k', ticket: 't1' }), { promoted: false, waiting: 0 });
  assert.equal((await client.admin.explainKey('q', 'k')).state, 'INIT');
});

test('the same ticket from two connections at once: the newer waits, the older gets BLOCK', async (t) => {
  const { client, address } = await sidecar(t);
  const other = connect(address, { transport: 'unary' });
  t.after(() => other.close());
  const holder = turnOf(await client.enQueue({ queue: 'q', key: 'k' }));
  const mine = { queue: 'q', key: 'k', ticket: 't1', wait: 60_000 };
  const older = client.enQueue(mine);
  await untilWaiting(client, 1);
  const newer = other.enQueue(mine);
  assert.equal((await older).decision, 'block');
  await client.deQueue({ queue: 'q', key: 'k', token: holder.token });
  assert.equal((await newer).decision, 'accept');
});

test('a client that disconnects while it waits leaves the line', async (t) => {
  const { client, raw } = await sidecar(t);
  turnOf(await client.enQueue({ queue: 'q', key: 'k' }));
  const request = message(EnQueueRequest, { queue: 'q', key: 'k', wait: { seconds: 60n, nanos: 0 } });
  const waiting = start(raw, raw.enQueue, request);
  const failure = failureOf(waiting.answer);
  await untilWaiting(client, 1);
  waiting.cancel();
  assert.equal((await failure).code, 'CANCELLED');
  await untilWaiting(client, 0);
});

test('a wait ends before the deadline of its call, also when only the queue says how long to wait', async (t) => {
  const clock = new FakeClock();
  const { client } = await sidecar(t, { policy: { wait: 200_000, lease: 600_000 }, clock });
  turnOf(await client.enQueue({ queue: 'q', key: 'k' }));
  const waiting = client.enQueue({ queue: 'q', key: 'k' }, { timeout: 60_000 });
  await untilWaiting(client, 1);
  clock.advance(59_980);
  assert.equal((await waiting).decision, 'block');
});

test('Submit, Acquire, Ack, Await: an item from hand to hand', async (t) => {
  const { client } = await sidecar(t);
  const headers = new Map([['trace', 'abc']]);
  const { results } = await client.submit({
    queue: 'q',
    items: [{ key: 'k', payload: text('one'), headers, itemId: 'i1', idempotencyKey: 'b1' }, { key: 'k' }],
  });
  assert.deepEqual(results[0], { decision: 'accept', itemId: 'i1', supersededId: undefined });
  const ended = client.awaitItem({ queue: 'q', itemId: 'i1', wait: 60_000 });
  const { deliveries } = await client.acquire({ queues: ['q'], maxTurns: 10 });
  const [delivery] = deliveries;
  assert.ok(delivery && deliveries.length === 1, 'one turn per key');
  const [item] = delivery.items;
  assert.ok(item);
  assert.deepEqual(
    [item.itemId, String(item.payload), item.headers, item.idempotencyKey, item.attempt],
    ['i1', 'one', headers, 'b1', 1],
  );
  assert.equal(delivery.turn.attempt, 1);
  await client.ack({ queue: 'q', key: 'k', token: delivery.turn.token, result: text('done') });
  const { state, result } = await ended;
  assert.deepEqual([state, String(result)], ['done', 'done']);
});

test('Acquire waits for work, and answers empty when its wait ends', async (t) => {
  const { client } = await sidecar(t);
  assert.deepEqual(await client.acquire({ queues: ['q'] }), { deliveries: [] });
  const waiting = client.acquire({ queues: ['q', 'r'], wait: 60_000 });
  await client.submit({ queue: 'r', items: [{ payload: text('x') }] });
  const { deliveries } = await waiting;
  assert.equal(deliveries[0]?.turn.queue, 'r');
});

test('Acquire with a key waits in its line and brings no items', async (t) => {
  const { client } = await sidecar(t);
  const holder = turnOf(await client.enQueue({ queue: 'q', key: 'k' }));
  const waits = [1, 2].map(() => client.acquire({ queues: ['q'], key: 'k', wait: 60_000 }));
  await untilWaiting(client, 2);
  await client.deQueue({ queue: 'q', key: 'k', token: holder.token });
  const { deliveries } = await Promise.race(waits);
  assert.equal(deliveries.length, 1);
  assert.deepEqual(deliveries[0]?.items, []);
  await client.ack({ queue: 'q', key: 'k', token: deliveries[0]?.turn.token ?? 0 });
  await Promise.all(waits);
});

test('Ack with follow-ups and next: settled, submitted and taken in one step', async (t) => {
  const { client } = await sidecar(t);
  await client.submit({ queue: 'a', items: [{ key: 'k' }] });
  const [delivery] = (await client.acquire({ queues: ['a'] })).deliveries;
  const answer = await client.ack({
    queue: 'a',
    key: 'k',
    token: delivery?.turn.token ?? 0,
    followUps: [{ queue: 'b', item: { key: 'k2', payload: text('next'), itemId: 'f1' } }],
    next: { queues: ['b'] },
  });
  assert.deepEqual(answer.followUps, [{ decision: 'accept', itemId: 'f1', supersededId: undefined }]);
  assert.equal(answer.next?.deliveries[0]?.items[0]?.itemId, 'f1');
});

test('an Ack whose next is invalid changes nothing', async (t) => {
  const { client } = await sidecar(t);
  await client.submit({ queue: 'q', items: [{ key: 'k', itemId: 'i' }] });
  const [delivery] = (await client.acquire({ queues: ['q'] })).deliveries;
  const token = delivery?.turn.token ?? 0;
  await assert.rejects(client.ack({ queue: 'q', key: 'k', token, next: { queues: [] } }), /next\.queues/);
  assert.equal((await client.awaitItem({ queue: 'q', itemId: 'i' })).state, 'in_flight');
});

test('Nack: retry, release, dead letter; Redrive and Discard', async (t) => {
  const { client } = await sidecar(t);
  await client.submit({ queue: 'q', items: [{ key: 'k', itemId: 'i' }] });
  const take = async () => (await client.acquire({ queues: ['q'], wait: 60_000 })).deliveries[0]?.turn;
  const nack = async (fields: { kind: 'retry' | 'release' | 'dead_letter'; delay?: number; error?: string }) =>
    client.nack({ queue: 'q', key: 'k', token: (await take())?.token ?? 0, ...fields });

  const retried = await nack({ kind: 'retry', delay: 50, error: 'no luck' });
  assert.ok(retried.retryAt !== undefined && retried.deadLettered === 0);
  assert.deepEqual(await nack({ kind: 'release' }), { retryAt: undefined, deadLettered: 0 });
  assert.deepEqual(await nack({ kind: 'dead_letter', error: 'hopeless' }), { retryAt: undefined, deadLettered: 1 });
  const { deadLetters } = await client.admin.listDeadLetters({ queue: 'q', key: 'k' });
  assert.deepEqual(
    deadLetters.map(({ key, attempts, lastError, cause, item }) => [key, attempts, lastError, cause, item.itemId]),
    [['k', 2, 'hopeless', 'refused', 'i']],
  );
  assert.equal(await client.admin.redrive({ queue: 'q', itemIds: ['i'] }), 1);
  assert.equal((await client.awaitItem({ queue: 'q', itemId: 'i' })).state, 'waiting');
  assert.equal(await client.admin.discard({ queue: 'q' }, true), 1);
  assert.equal((await client.awaitItem({ queue: 'q', itemId: 'i' })).state, 'discarded');
});

test('Renew keeps a turn, and says of others why they are lost', async (t) => {
  const { client } = await sidecar(t);
  const turn = turnOf(await client.enQueue({ queue: 'q', key: 'k' }));
  const ended = turnOf(await client.enQueue({ queue: 'q', key: 'k2' }));
  await client.deQueue({ queue: 'q', key: 'k2', token: ended.token });
  const { results } = await client.renew({
    turns: [turn, ended, { queue: 'q', key: 'k', token: 0 }, { queue: 'q', key: 'k', token: 2n ** 64n - 1n }],
    lease: 60_000,
  });
  const [first, ...lost] = results;
  assert.ok(first?.alive && first.leaseExpiresAt > turn.leaseExpiresAt);
  assert.deepEqual(lost, [
    { alive: false, cause: 'settled' },
    { alive: false, cause: 'unknown' },
    { alive: false, cause: 'unknown' },
  ]);
});

test('an answer of Acquire stays within what clients accept, with the rest for the next one', async (t) => {
  const { client } = await sidecar(t);
  const payload = Buffer.alloc(1_000_000, 'x');
  for (let index = 0; index < 5; index += 1) {
    await client.submit({ queue: 'q', items: [{ key: `k${index}`, payload }] });
  }
  const first = await client.acquire({ queues: ['q'], maxTurns: 10 });
  const second = await client.acquire({ queues: ['q'], maxTurns: 10 });
  assert.deepEqual([first.deliveries.length, second.deliveries.length], [3, 2]);
});

test('AdminService: list, explain, evict, pause, resume, limits', async (t) => {
  const { client } = await sidecar(t);
  const turn = turnOf(await client.enQueue({ queue: 'q', key: 'k', consumerId: 'w1' }));
  const [queue] = (await client.admin.listQueues()).queues;
  assert.ok(queue);
  assert.deepEqual([queue.name, queue.liveTurns, queue.paused, queue.states.PROCESS], ['q', 1, false, 1]);
  const { keys } = await client.admin.listKeys({ queue: 'q' });
  assert.deepEqual(
    keys.map(({ key, state, consumerId }) => [key, state, consumerId]),
    [['k', 'PROCESS', 'w1']],
  );
  const { holder } = await client.admin.explainKey('q', 'k');
  assert.deepEqual([holder?.consumerId, holder?.token], ['w1', turn.token]);
  const evicted = await client.admin.evictHolder('q', 'k');
  assert.deepEqual([evicted.evicted, evicted.token, evicted.consumerId], [true, turn.token, 'w1']);
  await client.admin.pauseQueue('q');
  assert.equal((await client.enQueue({ queue: 'q', key: 'k', wait: 0 })).decision, 'block');
  await client.admin.resumeQueue('q');
  const limits = await client.admin.setLimits('q', { rate: { perSecond: 5, burst: 2 }, maxInFlight: 1 });
  assert.deepEqual(limits, { rate: { perSecond: 5, burst: 2 }, maxInFlight: 1 });
  const without = await client.admin.setLimits('q', { rate: 'none', maxInFlight: 'none' });
  assert.deepEqual(without, { rate: undefined, maxInFlight: undefined });
  assert.deepEqual(await client.admin.resumeKey('q', 'k'), { resumed: false, state: 'INIT' });
});

test('RetryNow: a key or an item that only time keeps back may start now', async (t) => {
  const { client } = await sidecar(t);
  await client.submit({ queue: 'q', items: [{ key: 'k', itemId: 'i', delay: 60_000 }] });
  const { changed, ended, wasUntil, key, itemId, state } = await client.admin.retryNow({ queue: 'q', itemId: 'i' });
  assert.deepEqual([changed, ended, key, itemId, state], [true, ['delay'], 'k', 'i', 'READY']);
  assert.ok(wasUntil !== undefined);
  const again = await client.admin.retryNow({ queue: 'q', key: 'k' });
  assert.deepEqual([again.changed, again.ended, again.itemId], [false, [], undefined]);
  assert.equal((await client.acquire({ queues: ['q'] })).deliveries[0]?.items[0]?.itemId, 'i');
});

test('ListQueues: all that fit 3 MiB, then a token; or pages as they are asked for', async (t) => {
  const { client, coordinator } = await sidecar(t, { limits: { queues: 12_000 } });
  const names = Array.from({ length: 11_000 }, (_, at) => `${'q'.repeat(120)}-${String(at).padStart(5, '0')}`);
  for (const name of names) await coordinator.admin.ask('pauseQueue', { queue: name });
  const first = await client.admin.listQueues();
  assert.ok(first.queues.length > 3_000 && first.queues.length < names.length, 'as many as fit');
  const told = first.queues.map(({ name }) => name);
  for (let pageToken = first.nextPageToken; pageToken !== ''; ) {
    const page = await client.admin.listQueues({ pageToken });
    told.push(...page.queues.map(({ name }) => name));
    pageToken = page.nextPageToken;
  }
  assert.deepEqual(told, names);
  const page = await client.admin.listQueues({ nameContains: '-0100', pageSize: 3 });
  assert.deepEqual(
    page.queues.map(({ name }) => name),
    names.slice(1_000, 1_003),
  );
  assert.equal(page.nextPageToken, names[1_002]);
});

test('WatchEvents tells what happens in a queue', async (t) => {
  const { client, rawAdmin } = await sidecar(t);
  await client.admin.setLimits('q', { rate: undefined, maxInFlight: undefined });
  const stream = rawAdmin.watchEvents({ queue: 'q', key: 'k' });
  const seen: Event[] = [];
  const settled = deferred();
  stream.on('data', ({ events }: { events: Event[] }) => {
    seen.push(...events);
    if (seen.some(({ kind }) => kind === EventKind.EVENT_KIND_SETTLEMENT)) settled.resolve();
  });
  stream.on('error', () => {}); // Cancelled below.
  await once(stream, 'metadata');
  await client.enQueue({ queue: 'q', key: 'another' });
  const turn = turnOf(await client.enQueue({ queue: 'q', key: 'k', consumerId: 'w1' }));
  await client.deQueue({ queue: 'q', key: 'k', token: turn.token });
  await settled.promise;
  stream.cancel();
  const { EVENT_KIND_ARRIVAL, EVENT_KIND_TURN, EVENT_KIND_SETTLEMENT } = EventKind;
  assert.deepEqual(
    seen.map(({ kind, key }) => [kind, key]),
    [EVENT_KIND_ARRIVAL, EVENT_KIND_TURN, EVENT_KIND_SETTLEMENT].map((kind) => [kind, 'k']),
  );
  assert.deepEqual([seen[1]?.token, seen[1]?.consumerId], [BigInt(turn.token), 'w1']);
});

test('a server that drains refuses new work, and those who wait', async (t) => {
  const { client, coordinator } = await sidecar(t);
  const turn = turnOf(await client.enQueue({ queue: 'q', key: 'k' }));
  const waiting = assert.rejects(client.enQueue({ queue: 'q', key: 'k', wait: 60_000 }), isDraining);
  await untilWaiting(client, 1);
  const drained = coordinator.drain(60_000);
  await waiting;
  await assert.rejects(client.submit({ queue: 'q', items: [{}] }), isDraining);
  await assert.rejects(client.acquire({ queues: ['q'] }), isDraining);
  assert.ok((await client.renew({ turns: [turn] })).results[0]?.alive);
  await client.deQueue({ queue: 'q', key: 'k', token: turn.token });
  assert.equal((await drained).liveTurns, 0);
});

function isDraining(error: unknown): boolean {
  assert.ok(error instanceof KeyturnError);
  assert.deepEqual([error.code, error.reason], ['UNAVAILABLE', 'DRAINING']);
  assert.ok(error.details.retryAfter !== undefined);
  return true;
}
