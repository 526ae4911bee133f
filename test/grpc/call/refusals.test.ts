/** The contract's error table: every refusal of the port becomes exactly its status, reason and details. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { KeyturnError } from '@keyturn/client';
import type { LossCause, Refusal } from '../../../src/coordinator.js';
import { DeQueueRequest } from '../../../src/grpc/gen/keyturn/v1/coordinator.js';
import { call, message, startSidecar } from '../../support/sidecar.js';
import { type Failure, failureOf } from '../errors.js';
import { FakeCoordinator } from '../fake-coordinator.js';

const full = { subject: 'queue:orders', limit: 7, description: '7 entries wait already', retryAfter: 1_500 };
const quota = [{ subject: 'queue:orders', description: '7 entries wait already' }];
const where = { queue: 'orders', key: 'k1' };

interface Case {
  readonly refusal: Refusal;
  readonly expected: Partial<Failure>;
}

const CASES: Readonly<Record<Refusal['kind'], Case>> = {
  bad_request: {
    refusal: { kind: 'bad_request', violations: [{ field: 'done', description: '3 is not allowed; allowed: 0 to 2' }] },
    expected: {
      code: 'INVALID_ARGUMENT',
      reason: 'BAD_REQUEST',
      types: ['ErrorInfo', 'BadRequest'],
      fields: [{ field: 'done', description: '3 is not allowed; allowed: 0 to 2' }],
      metadata: {},
    },
  },
  no_credentials: {
    refusal: { kind: 'no_credentials', description: 'nothing says who is asking' },
    expected: { code: 'UNAUTHENTICATED', reason: 'NO_CREDENTIALS', types: ['ErrorInfo'], metadata: {} },
  },
  not_allowed: {
    refusal: { kind: 'not_allowed', principal: 'ada', verb: 'produce', what: 'queue orders' },
    expected: {
      code: 'PERMISSION_DENIED',
      reason: 'NOT_ALLOWED',
      types: ['ErrorInfo'],
      metadata: { verb: 'produce', what: 'queue orders' },
    },
  },
  turn_lost: {
    refusal: { kind: 'turn_lost', ...where, cause: 'evicted' },
    expected: { code: 'ABORTED', reason: 'TURN_LOST', types: ['ErrorInfo'], metadata: { cause: 'EVICTED' } },
  },
  use_ack: {
    refusal: { kind: 'use_ack', ...where },
    expected: { code: 'FAILED_PRECONDITION', reason: 'USE_ACK', types: ['ErrorInfo'], metadata: {} },
  },
  at_most_once: {
    refusal: { kind: 'at_most_once', ...where },
    expected: { code: 'FAILED_PRECONDITION', reason: 'AT_MOST_ONCE', types: ['ErrorInfo'], metadata: {} },
  },
  queue_full: {
    refusal: { kind: 'queue_full', ...full },
    expected: { code: 'RESOURCE_EXHAUSTED', reason: 'QUEUE_FULL', quota, retryAfter: 1_500, metadata: { limit: '7' } },
  },
  limit: {
    refusal: { kind: 'limit', ...full },
    expected: { code: 'RESOURCE_EXHAUSTED', reason: 'LIMIT', quota, retryAfter: 1_500 },
  },
  memory_full: {
    refusal: { kind: 'memory_full', ...full },
    expected: {
      code: 'RESOURCE_EXHAUSTED',
      reason: 'MEMORY_FULL',
      types: ['ErrorInfo', 'QuotaFailure', 'RetryInfo'],
      quota,
      retryAfter: 1_500,
    },
  },
  no_such_queue: {
    refusal: { kind: 'no_such_queue', queue: 'orders' },
    expected: {
      code: 'NOT_FOUND',
      reason: 'NO_SUCH_QUEUE',
      types: ['ErrorInfo', 'ResourceInfo'],
      resource: 'orders',
      metadata: {},
    },
  },
  no_such: {
    refusal: { kind: 'no_such', what: 'item', queue: 'orders', name: 'i1', ended: 'done' },
    expected: {
      code: 'NOT_FOUND',
      reason: 'NO_SUCH_ITEM',
      message: 'no item "i1" of queue "orders" waits or is in flight: it is done',
      types: ['ErrorInfo', 'ResourceInfo'],
      resource: 'i1',
    },
  },
  not_delayed: {
    refusal: { kind: 'not_delayed', because: 'parked', ...where, itemId: 'i1' },
    expected: { code: 'FAILED_PRECONDITION', reason: 'PARKED', types: ['ErrorInfo'], metadata: {} },
  },
  draining: {
    refusal: { kind: 'draining', retryAfter: 2_000 },
    expected: { code: 'UNAVAILABLE', reason: 'DRAINING', types: ['ErrorInfo', 'RetryInfo'], retryAfter: 2_000 },
  },
  store_unavailable: {
    refusal: { kind: 'store_unavailable', description: 'recovering: 42 %', retryAfter: 1_000 },
    expected: {
      code: 'UNAVAILABLE',
      reason: 'STORE_UNAVAILABLE',
      message: 'recovering: 42 %',
      types: ['ErrorInfo', 'RetryInfo'],
      retryAfter: 1_000,
    },
  },
  no_home: {
    refusal: { kind: 'no_home', partition: 17, description: 'partition 17 has no home yet', retryAfter: 250 },
    expected: {
      code: 'UNAVAILABLE',
      reason: 'NO_HOME',
      message: 'partition 17 has no home yet',
      types: ['ErrorInfo', 'RetryInfo'],
      metadata: { partition: '17' },
      retryAfter: 250,
    },
  },
  other_group: {
    refusal: {
      kind: 'other_group',
      field: 'follow_ups[2].queue',
      queue: 'orders',
      group: 'shop',
      other: 'bills',
      unfixed: true,
    },
    expected: {
      code: 'FAILED_PRECONDITION',
      reason: 'OTHER_GROUP',
      message:
        'follow_ups[2].queue: queue "bills" is not of the group "shop" of queue "orders", and one step cannot reach both; ' +
        'what goes to other groups, or waits for them, needs the newest format of rows: "keyturn cluster finalize", once no older version is to come back; or ' +
        'give both one "group" ("keyturn cluster route", while a queue is empty)',
      types: ['ErrorInfo'],
      metadata: { queue: 'bills' },
    },
  },
  not_possible: {
    refusal: { kind: 'not_possible', because: 'no_cluster', description: 'it stands alone' },
    expected: {
      code: 'FAILED_PRECONDITION',
      reason: 'NO_CLUSTER',
      message: 'it stands alone',
      types: ['ErrorInfo'],
      metadata: {},
    },
  },
  session_replaced: {
    refusal: { kind: 'session_replaced', sessionId: 's' },
    expected: { code: 'ABORTED', reason: 'SESSION_REPLACED', types: ['ErrorInfo'], metadata: {} },
  },
  cancelled: {
    refusal: { kind: 'cancelled' },
    expected: { code: 'CANCELLED', reason: 'CANCELLED', types: ['ErrorInfo'] },
  },
};

const deQueue = message(DeQueueRequest, { queue: 'orders', key: 'k1', holder: { $case: 'token', value: 5n } });

for (const [kind, { refusal, expected }] of Object.entries(CASES)) {
  test(`${kind} is ${expected.code} ${expected.reason}`, async (t) => {
    const coordinator = new FakeCoordinator();
    coordinator.deQueue = (_request, reply) => reply.refuse(refusal);
    const { raw, observed } = await startSidecar(t, coordinator);
    const failure = await failureOf(call(raw, raw.deQueue, deQueue));
    assert.deepEqual({ ...failure, ...expected }, failure);
    assert.deepEqual(
      observed.map(({ method, code }) => ({ method, code })),
      [{ method: '/keyturn.v1.CoordinatorService/DeQueue', code: expected.code }],
    );
  });
}

const CAUSES: Readonly<Record<LossCause, string>> = {
  lease_expired: 'LEASE_EXPIRED',
  evicted: 'EVICTED',
  taken_over: 'TAKEN_OVER',
  settled: 'SETTLED',
  unknown: 'UNKNOWN',
};

test('TURN_LOST names each cause as the contract does', async (t) => {
  const coordinator = new FakeCoordinator();
  const { raw } = await startSidecar(t, coordinator);
  for (const cause of ['lease_expired', 'evicted', 'taken_over', 'settled', 'unknown'] as const) {
    coordinator.deQueue = (_request, reply) => reply.refuse({ kind: 'turn_lost', ...where, cause });
    const { metadata } = await failureOf(call(raw, raw.deQueue, deQueue));
    assert.deepEqual(metadata, { cause: CAUSES[cause] });
  }
});

test('what RetryNow cannot end says what to do instead', async (t) => {
  const coordinator = new FakeCoordinator();
  const { raw } = await startSidecar(t, coordinator);
  const after = [{ queue: 'orders', itemId: 'a' }];
  const told: Readonly<Record<string, readonly [RegExp, Refusal]>> = {
    NO_SUCH_QUEUE: [/keyturn queues/, { kind: 'no_such', what: 'queue', queue: 'nope', name: 'nope' }],
    NO_SUCH_KEY: [/nobody waits/, { kind: 'no_such', what: 'key', queue: 'orders', name: 'k1' }],
    PARKED: [/keyturn resume/, { kind: 'not_delayed', because: 'parked', ...where, itemId: 'i1' }],
    DEAD_LETTER: [/dead-letters redrive/, { kind: 'not_delayed', because: 'dead_letter', ...where, itemId: 'i1' }],
    WAITS_FOR_ITEMS: [
      /"a" of queue orders and 2 more$/,
      { kind: 'not_delayed', because: 'waits_for_items', ...where, itemId: 'i1', after, afterCount: 3 },
    ],
  };
  for (const [reason, [message, refusal]] of Object.entries(told)) {
    coordinator.deQueue = (_request, reply) => reply.refuse(refusal);
    const failure = await failureOf(call(raw, raw.deQueue, deQueue));
    assert.equal(failure.reason, reason);
    assert.match(failure.message, message);
  }
});

test('a refusal of AdminService is told in the same way', async (t) => {
  const coordinator = new FakeCoordinator();
  coordinator.admin.answers.pauseQueue = () =>
    Promise.resolve({ ok: false, refusal: { kind: 'no_such_queue', queue: 'nope' } });
  const { rawAdmin } = await startSidecar(t, coordinator);
  const failure = await failureOf(call(rawAdmin, rawAdmin.pauseQueue, { queue: 'nope', reason: '' }));
  assert.deepEqual([failure.code, failure.reason, failure.resource], ['NOT_FOUND', 'NO_SUCH_QUEUE', 'nope']);
});

test('a key that can not stand in a status message as it is does not keep the error from its caller', async (t) => {
  const coordinator = new FakeCoordinator();
  const { raw } = await startSidecar(t, coordinator);
  const astral = '😀'.repeat(40);
  for (const key of [astral, `x${astral}`, '\ud800 alone', '%25 %', 'line\nbreak', '\u0000']) {
    coordinator.deQueue = (_request, reply) => reply.refuse({ kind: 'turn_lost', queue: 'q', key, cause: 'unknown' });
    const failure = await failureOf(call(raw, raw.deQueue, deQueue));
    assert.equal(failure.reason, 'TURN_LOST');
  }
  coordinator.deQueue = (_, reply) =>
    reply.refuse({ kind: 'limit', ...full, description: 'half of \ud83d a character' });
  assert.equal((await failureOf(call(raw, raw.deQueue, deQueue))).message, 'half of \ufffd a character');
});

test('our client gives code, reason and details of an error', async (t) => {
  const coordinator = new FakeCoordinator();
  coordinator.deQueue = (_request, reply) => reply.refuse({ kind: 'queue_full', ...full });
  const { client } = await startSidecar(t, coordinator);
  await assert.rejects(client.deQueue({ queue: 'orders', key: 'k1', token: 5 }), (error) => {
    assert.ok(error instanceof KeyturnError);
    assert.deepEqual([error.code, error.reason, error.message], ['RESOURCE_EXHAUSTED', 'QUEUE_FULL', full.description]);
    assert.deepEqual(error.details, {
      metadata: new Map([['limit', '7']]),
      violations: [],
      quota,
      retryAfter: 1_500,
      resource: undefined,
    });
    return true;
  });
});

test('our client says UNAVAILABLE when nobody listens', async (t) => {
  const { client, server } = await startSidecar(t, new FakeCoordinator());
  await server.stop(0);
  await assert.rejects(client.admin.listQueues(), (error) => {
    assert.ok(error instanceof KeyturnError);
    assert.deepEqual([error.code, error.reason], ['UNAVAILABLE', '']);
    return true;
  });
});
