/** The life of a call: how long it waits, how it is cancelled, and that whatever happens it gets exactly one answer. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type TestContext, test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Coordinator, EnQueueAnswer, EnQueueRequest, Limits, Reply } from '../../../src/coordinator.js';
import {
  AckRequest,
  AcquireRequest,
  AwaitRequest,
  DeQueueRequest,
  NewItem,
  SubmitRequest,
  EnQueueRequest as WireEnQueueRequest,
} from '../../../src/grpc/gen/keyturn/v1/coordinator.js';
import { deferred } from '../../support/deferred.js';
import { call, message, start, startSidecar } from '../../support/sidecar.js';
import { failureOf } from '../errors.js';
import { FakeCoordinator } from '../fake-coordinator.js';

const enQueue = message(WireEnQueueRequest, { queue: 'q', key: 'k' });
const minute = { seconds: 60n, nanos: 0 };
const blocked: EnQueueAnswer = { decision: 'block', ahead: 1, retryAfter: undefined, ticket: undefined };

/** A call that waits at the port, until the test goes on with it. */
class Parked {
  readonly arrived = deferred<{ request: EnQueueRequest; reply: Reply<EnQueueAnswer> }>();
  readonly cancelled = deferred<void>();
  cancels = 0;

  readonly enQueue: Coordinator['enQueue'] = (request, reply) => {
    this.arrived.resolve({ request, reply });
    return {
      cancel: () => {
        this.cancels += 1;
        this.cancelled.resolve();
      },
    };
  };
}

/** What the coordinator is asked to wait when each call asks for a minute. */
async function waitsOf(t: TestContext, limits: Partial<Limits> = {}): Promise<readonly number[]> {
  const waits: number[] = [];
  const coordinator = new FakeCoordinator();
  const { raw } = await startSidecar(t, coordinator, { limits });
  const cancelled = { kind: 'cancelled' } as const;
  coordinator.enQueue = ({ wait, maxWait }, reply) => {
    waits.push(wait ?? -1, maxWait ?? -1);
    reply.refuse(cancelled);
    return undefined;
  };
  coordinator.submit = ({ waitForRoom }, reply) => {
    waits.push(waitForRoom);
    reply.refuse(cancelled);
    return undefined;
  };
  coordinator.acquire = ({ wait }, reply) => {
    waits.push(wait);
    reply.refuse(cancelled);
    return undefined;
  };
  coordinator.ack = ({ next }, reply) => {
    waits.push(next?.wait ?? -1);
    reply.refuse(cancelled);
    return undefined;
  };
  coordinator.awaitItem = ({ wait }, reply) => {
    waits.push(wait);
    reply.refuse(cancelled);
    return undefined;
  };
  const acquire = message(AcquireRequest, { queues: ['q'], wait: minute });
  const submit = message(SubmitRequest, { queue: 'q', items: [message(NewItem)], waitForRoom: minute });
  await failureOf(call(raw, raw.enQueue, { ...enQueue, wait: minute }, 10_000));
  await failureOf(call(raw, raw.submit, submit, 10_000));
  await failureOf(call(raw, raw.acquire, acquire, 10_000));
  await failureOf(call(raw, raw.ack, message(AckRequest, { queue: 'q', token: 1n, next: acquire }), 10_000));
  await failureOf(call(raw, raw.await, message(AwaitRequest, { queue: 'q', itemId: 'i', wait: minute }), 10_000));
  return waits;
}

test('waits are bounded by the deadline of the call, less 20 ms', async (t) => {
  const waits = await waitsOf(t);
  assert.equal(waits.length, 6);
  for (const wait of waits) assert.ok(wait > 5_000 && wait <= 9_980, `${waits}`);
});

test('S608: and by limits.max_wait', async (t) => {
  const [enQueueWait, deadline = 0, ...others] = await waitsOf(t, { maxWait: 5_000 });
  assert.deepEqual([enQueueWait, ...others], [5_000, 5_000, 5_000, 5_000, 5_000]);
  assert.ok(deadline > 5_000);
});

test('a deadline that is near leaves half of the time', async (t) => {
  const coordinator = new FakeCoordinator();
  const { raw } = await startSidecar(t, coordinator);
  await failureOf(call(raw, raw.enQueue, enQueue)); // The connection is made; only the call itself takes time now.
  const parked = new Parked();
  coordinator.enQueue = parked.enQueue;
  const failure = failureOf(call(raw, raw.enQueue, { ...enQueue, wait: minute }, 30));
  const { request } = await parked.arrived.promise;
  assert.ok(request.wait !== undefined && request.wait >= 0 && request.wait <= 15, `${request.wait}`);
  assert.equal((await failure).code, 'DEADLINE_EXCEEDED');
});

test('a wait that is cancelled leaves the port at once, and no answer follows', async (t) => {
  const parked = new Parked();
  const coordinator = new FakeCoordinator();
  coordinator.enQueue = parked.enQueue;
  const { raw, observed } = await startSidecar(t, coordinator);
  const waiting = start(raw, raw.enQueue, enQueue);
  const failure = failureOf(waiting.answer);
  const { reply } = await parked.arrived.promise;
  waiting.cancel();
  assert.equal((await failure).code, 'CANCELLED');
  await parked.cancelled.promise;
  assert.equal(reply.answer(blocked), false, 'the answer is known not to reach anybody');
  assert.equal(parked.cancels, 1);
  assert.deepEqual(
    observed.map(({ code }) => code),
    ['CANCELLED'],
  );
});

test('a client that disconnects while it waits leaves the port', async (t) => {
  const parked = new Parked();
  const coordinator = new FakeCoordinator();
  coordinator.enQueue = parked.enQueue;
  const sidecar = await startSidecar(t, coordinator);
  const abort = new AbortController();
  const failing = assert.rejects(sidecar.client.enQueue({ queue: 'q', key: 'k' }, { signal: abort.signal }));
  await parked.arrived.promise;
  abort.abort();
  await failing;
  await parked.cancelled.promise;
  assert.equal(parked.cancels, 1);
});

test('a deadline that ends all the same cancels the wait', async (t) => {
  const parked = new Parked();
  const coordinator = new FakeCoordinator();
  coordinator.enQueue = parked.enQueue;
  const { raw, observed } = await startSidecar(t, coordinator);
  const failure = failureOf(call(raw, raw.enQueue, enQueue, 100));
  const { reply } = await parked.arrived.promise;
  assert.equal((await failure).code, 'DEADLINE_EXCEEDED');
  await parked.cancelled.promise;
  assert.equal(reply.answer(blocked), false);
  assert.deepEqual(
    observed.map(({ code }) => code),
    ['DEADLINE_EXCEEDED'],
  );
});

test('a call that was answered is not cancelled afterwards, and a second answer goes nowhere', async (t) => {
  const parked = new Parked();
  const coordinator = new FakeCoordinator();
  coordinator.enQueue = parked.enQueue;
  const { client, observed } = await startSidecar(t, coordinator);
  const answer = client.enQueue({ queue: 'q', key: 'k' });
  const { reply } = await parked.arrived.promise;
  assert.equal(reply.answer(blocked), true);
  assert.equal(reply.answer({ ...blocked, ahead: 2 }), false);
  reply.refuse({ kind: 'cancelled' });
  assert.deepEqual(await answer, blocked);
  while (observed.length === 0) await nextTurn();
  assert.equal(parked.cancels, 0);
  assert.equal(observed.length, 1);
});

test('a throw in a handler is INTERNAL with the id of its line in the log', async (t) => {
  const coordinator = new FakeCoordinator();
  const { raw, log } = await startSidecar(t, coordinator);
  coordinator.enQueue = () => {
    throw new Error('the secret cause');
  };
  const failure = await failureOf(call(raw, raw.enQueue, enQueue));
  assert.deepEqual([failure.code, failure.reason], ['INTERNAL', 'INTERNAL']);
  assert.doesNotMatch(failure.message, /secret/);
  const [line] = log;
  assert.ok(line);
  assert.equal(line.level, 'error');
  const { id, method, err } = line.fields;
  const { id: toldId } = failure.metadata;
  assert.equal(id, toldId);
  assert.equal(method, '/keyturn.v1.CoordinatorService/EnQueue');
  assert.match(String(err), /the secret cause/);
});

test('a rejection, a throw before the promise, and a throw in WatchEvents are INTERNAL too', async (t) => {
  const coordinator = new FakeCoordinator();
  const { rawAdmin, log, failures } = await startSidecar(t, coordinator);
  coordinator.admin.answers.explainKey = () => Promise.reject(new Error('rejected'));
  const key = { queue: 'q', key: 'k' };
  assert.equal((await failureOf(call(rawAdmin, rawAdmin.explainKey, key))).reason, 'INTERNAL');
  assert.equal(
    (await failureOf(call(rawAdmin, rawAdmin.evictHolder, { ...key, reason: '', discard: false }))).reason,
    'INTERNAL',
  );
  const [error] = await once(rawAdmin.watchEvents({ queue: 'q' }), 'error');
  assert.equal((await failureOf(Promise.reject(error))).reason, 'INTERNAL');
  assert.deepEqual([log.length, failures()], [3, 3]);
});

test('an answer that can not be written is INTERNAL, and the port hears that it did not arrive', async (t) => {
  const coordinator = new FakeCoordinator();
  const { raw, log } = await startSidecar(t, coordinator);
  let arrived: boolean | undefined;
  const turn = { queue: 'q', key: 'k', token: 1.5, lease: 1, leaseExpiresAt: 1, attempt: 0 };
  coordinator.enQueue = (_, reply) => {
    arrived = reply.answer({ decision: 'accept', turn, ticket: undefined });
    return undefined;
  };
  assert.equal((await failureOf(call(raw, raw.enQueue, enQueue))).reason, 'INTERNAL');
  assert.equal(arrived, false);
  assert.equal(log.length, 1);
});

test('a port that throws when a wait is cancelled is heard in the log and nowhere else', async (t) => {
  const coordinator = new FakeCoordinator();
  const { raw, log } = await startSidecar(t, coordinator);
  const arrived = deferred<void>();
  coordinator.enQueue = () => {
    arrived.resolve();
    return {
      cancel() {
        throw new Error('not now');
      },
    };
  };
  const waiting = start(raw, raw.enQueue, enQueue);
  const failure = failureOf(waiting.answer);
  await arrived.promise;
  waiting.cancel();
  await failure;
  while (log.length === 0) await nextTurn();
  coordinator.enQueue = (_, reply) => void reply.answer(blocked) as undefined;
  await call(raw, raw.enQueue, enQueue);
});

test('calls that never wait are answered before the port returns', async (t) => {
  const coordinator = new FakeCoordinator();
  coordinator.deQueue = (_, reply) => void reply.answer({ promoted: false, waiting: 0 });
  const { raw } = await startSidecar(t, coordinator);
  const request = message(DeQueueRequest, { queue: 'q', key: 'k', holder: { $case: 'token', value: 1n } });
  assert.deepEqual(await call(raw, raw.deQueue, request), { promoted: false, waiting: 0 });
});
