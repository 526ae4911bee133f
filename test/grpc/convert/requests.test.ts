/** Every field of every request reaches the port, and unset fields mean what the contract says they mean. */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { Coordinator, Payload } from '../../../src/coordinator.js';
import { isByteText, latin1Of } from '../../../src/core/contract/payload.js';
import {
  AckRequest,
  AcquireRequest,
  AfterUnknown,
  AwaitRequest,
  DeQueueRequest,
  Durability,
  EnQueueRequest,
  NackKind,
  NackRequest,
  NewItem,
  RenewRequest,
  SubmitRequest,
} from '../../../src/grpc/gen/keyturn/v1/coordinator.js';
import { call, message, startSidecar } from '../../support/sidecar.js';
import { failureOf } from '../errors.js';
import { FakeCoordinator } from '../fake-coordinator.js';

const ms = (value: number) => ({
  seconds: BigInt(Math.floor(value / 1_000)),
  nanos: (value % 1_000) * 1_000_000,
});
/** What is kept of bytes: a copy in Node's pool; of none, nothing. */
const bytes = (...values: number[]) => (values.length === 0 ? new Uint8Array(0) : Buffer.from(values));

type WorkerCall = 'enQueue' | 'deQueue' | 'submit' | 'acquire' | 'ack' | 'nack' | 'renew' | 'awaitItem';

/** A sidecar that remembers what one call of the port was asked, and refuses it. */
async function recording(t: TestContext, name: WorkerCall) {
  const asked: unknown[] = [];
  const coordinator = new FakeCoordinator();
  const record: Coordinator['deQueue'] & Coordinator['enQueue'] = (request: unknown, reply) => {
    asked.push(request);
    reply.refuse({ kind: 'cancelled' });
    return undefined;
  };
  // One recorder stands in for every call: it only looks at what they have in common.
  Object.assign(coordinator, { [name]: record });
  const sidecar = await startSidecar(t, coordinator);
  return { ...sidecar, asked };
}

test('EnQueue: every field', async (t) => {
  const { raw, asked } = await recording(t, 'enQueue');
  const request = {
    queue: 'a/b:c.d-e_1',
    key: 'ключ',
    consumerId: 'worker 1',
    ticket: 't1',
    wait: ms(1_500),
    lease: ms(100),
    idempotencyKey: 'i1',
  };
  await failureOf(call(raw, raw.enQueue, request, 60_000));
  const [{ maxWait, ...rest }] = asked as [{ maxWait: number }];
  assert.deepEqual(rest, { ...request, wait: 1_500, lease: 100 });
  assert.ok(maxWait > 50_000 && maxWait <= 59_980, `${maxWait}`);
});

test('EnQueue: unset fields', async (t) => {
  const { raw, asked } = await recording(t, 'enQueue');
  await failureOf(call(raw, raw.enQueue, message(EnQueueRequest, { queue: 'q', key: 'k' }), Number.POSITIVE_INFINITY));
  const [{ consumerId, ...rest }] = asked as [{ consumerId: string }];
  assert.match(consumerId, /^127\.0\.0\.1:\d+$/);
  assert.deepEqual(rest, {
    queue: 'q',
    key: 'k',
    ticket: undefined,
    wait: undefined,
    maxWait: undefined,
    lease: undefined,
    idempotencyKey: undefined,
  });
});

test('DeQueue: by token, by ticket, with everything and with nothing else', async (t) => {
  const { raw, asked } = await recording(t, 'deQueue');
  const full = { queue: 'q', key: 'k', abandoned: true, result: Buffer.from([1, 2]) };
  await failureOf(call(raw, raw.deQueue, { ...full, holder: { $case: 'token', value: 9_007_199_254_740_991n } }));
  const sparse = message(DeQueueRequest, { queue: 'q', holder: { $case: 'ticket', value: 't' } });
  await failureOf(call(raw, raw.deQueue, sparse));
  assert.deepEqual(asked, [
    { queue: 'q', key: 'k', abandoned: true, result: bytes(1, 2), holder: { token: 9_007_199_254_740_991 } },
    { queue: 'q', key: '', abandoned: false, result: undefined, holder: { ticket: 't' } },
  ]);
});

test('a token that can not be one of ours is passed on as one that is not live', async (t) => {
  const { raw, asked } = await recording(t, 'deQueue');
  for (const value of [0n, 1n, 2n ** 53n - 1n, 2n ** 53n, 2n ** 63n, 2n ** 64n - 1n]) {
    const request = message(DeQueueRequest, { queue: 'q', key: 'k', holder: { $case: 'token', value } });
    await failureOf(call(raw, raw.deQueue, request));
  }
  const tokens = (asked as { holder: { token: number } }[]).map(({ holder }) => holder.token);
  assert.deepEqual(tokens, [0, 1, 2 ** 53 - 1, 0, 0, 0]);
});

const wireItem = {
  key: 'k',
  payload: Buffer.from([1, 2, 3]),
  headers: new Map([
    ['a', '1'],
    ['__proto__', 'kept'],
  ]),
  itemId: 'i1',
  idempotencyKey: 'b1',
  delay: ms(2_592_000_000),
  after: [
    { queue: 'q', itemId: 'i0' },
    { queue: 'q2', itemId: 'i0' },
  ],
  afterUnknown: AfterUnknown.AFTER_UNKNOWN_WAIT,
};
const item = { ...wireItem, payload: '\x01\x02\x03', delay: 2_592_000_000, afterUnknown: 'wait' };
const emptyItem = {
  key: '',
  payload: '',
  headers: undefined,
  itemId: undefined,
  idempotencyKey: undefined,
  delay: 0,
  after: undefined,
  afterUnknown: 'refuse',
};

test('Submit: every field, and an item with none', async (t) => {
  const { raw, asked } = await recording(t, 'submit');
  const items = [wireItem, message(NewItem, { afterUnknown: AfterUnknown.AFTER_UNKNOWN_REFUSE })];
  const durability = Durability.DURABILITY_COUNT;
  await failureOf(call(raw, raw.submit, { queue: 'q', items, waitForRoom: ms(250), durability }));
  await failureOf(call(raw, raw.submit, message(SubmitRequest, { queue: 'q', items: [message(NewItem)] })));
  assert.deepEqual(asked, [
    { queue: 'q', items: [item, emptyItem], waitForRoom: 250, durability: 'count' },
    { queue: 'q', items: [emptyItem], waitForRoom: 0, durability: undefined },
  ]);
});

test('what is kept of a message does not hold the rest of it in memory', async (t) => {
  const { raw, asked } = await recording(t, 'submit');
  const items = [message(NewItem, { payload: Buffer.alloc(100_000) }), message(NewItem, { payload: Buffer.alloc(3) })];
  await failureOf(call(raw, raw.submit, message(SubmitRequest, { queue: 'q', items })));
  const [{ items: kept }] = asked as [{ items: { payload: Payload }[] }];
  // A small one is a text, which has no memory but its own.
  assert.deepEqual(
    kept.map(({ payload }) => (isByteText(payload) ? latin1Of(payload) : payload.buffer.byteLength)),
    [100_000, '\0\0\0'],
  );
});

const acquire = {
  queues: ['q1', 'q2'],
  key: '',
  consumerId: 'w',
  ticket: 't',
  maxTurns: 1_000,
  maxItemsPerTurn: 999,
  wait: ms(3_000),
  lease: ms(86_400_000),
};
const acquired = { ...acquire, key: undefined, wait: 3_000, lease: 86_400_000 };

test('Acquire: every field of dispatch, with a key, and unset fields', async (t) => {
  const { raw, asked } = await recording(t, 'acquire');
  await failureOf(call(raw, raw.acquire, acquire));
  await failureOf(call(raw, raw.acquire, message(AcquireRequest, { queues: ['q'], key: 'k', consumerId: 'w' })));
  assert.deepEqual(asked, [
    acquired,
    {
      queues: ['q'],
      key: 'k',
      consumerId: 'w',
      ticket: undefined,
      maxTurns: 1,
      maxItemsPerTurn: 1,
      wait: 0,
      lease: undefined,
    },
  ]);
});

test('Ack: every field, and unset fields', async (t) => {
  const { raw, asked } = await recording(t, 'ack');
  const followUps = [{ queue: 'q2', item: wireItem }];
  await failureOf(
    call(raw, raw.ack, { queue: 'q', key: 'k', token: 5n, result: Buffer.from([9]), followUps, next: acquire }),
  );
  await failureOf(call(raw, raw.ack, message(AckRequest, { queue: 'q', token: 6n })));
  assert.deepEqual(asked, [
    { queue: 'q', key: 'k', token: 5, result: bytes(9), followUps: [{ queue: 'q2', item }], next: acquired },
    { queue: 'q', key: '', token: 6, result: undefined, followUps: [], next: undefined },
  ]);
});

test('Nack: every field and kind', async (t) => {
  const { raw, asked } = await recording(t, 'nack');
  const full = { queue: 'q', key: 'k', token: 5n, delay: ms(10), error: 'no luck', done: 3 };
  await failureOf(call(raw, raw.nack, { ...full, kind: NackKind.NACK_KIND_RETRY }));
  for (const kind of [NackKind.NACK_KIND_RELEASE, NackKind.NACK_KIND_DEAD_LETTER]) {
    await failureOf(call(raw, raw.nack, message(NackRequest, { queue: 'q', token: 6n, kind })));
  }
  const sparse = { queue: 'q', key: '', token: 6, delay: undefined, error: '', done: 0 };
  assert.deepEqual(asked, [
    { ...full, token: 5, kind: 'retry', delay: 10 },
    { ...sparse, kind: 'release' },
    { ...sparse, kind: 'dead_letter' },
  ]);
});

test('Renew: every field, with tokens that are not live', async (t) => {
  const { raw, asked } = await recording(t, 'renew');
  const turns = [
    { queue: 'q', key: 'k', token: 7n },
    { queue: 'q', key: '', token: 2n ** 64n - 1n },
  ];
  await failureOf(call(raw, raw.renew, { turns, lease: ms(150) }));
  await failureOf(call(raw, raw.renew, message(RenewRequest, { turns })));
  const expected = [
    { queue: 'q', key: 'k', token: 7 },
    { queue: 'q', key: '', token: 0 },
  ];
  assert.deepEqual(asked, [
    { turns: expected, lease: 150 },
    { turns: expected, lease: undefined },
  ]);
});

test('Await: every field, and unset fields', async (t) => {
  const { raw, asked } = await recording(t, 'awaitItem');
  await failureOf(call(raw, raw.await, { queue: 'q', itemId: 'i', wait: ms(20) }));
  await failureOf(call(raw, raw.await, message(AwaitRequest, { queue: 'q', itemId: 'i' })));
  assert.deepEqual(asked, [
    { queue: 'q', itemId: 'i', wait: 20 },
    { queue: 'q', itemId: 'i', wait: 0 },
  ]);
});

test('durations become whole milliseconds, rounded up, and only zero is zero', async (t) => {
  const { raw, asked } = await recording(t, 'awaitItem');
  const cases = [
    { wait: { seconds: 0n, nanos: 0 }, expected: 0 },
    { wait: { seconds: 0n, nanos: 1 }, expected: 1 },
    { wait: { seconds: 0n, nanos: 1_000_000 }, expected: 1 },
    { wait: { seconds: 0n, nanos: 1_000_001 }, expected: 2 },
    { wait: { seconds: 2n, nanos: 999_999_999 }, expected: 3_000 },
  ];
  for (const { wait } of cases) await failureOf(call(raw, raw.await, { queue: 'q', itemId: 'i', wait }));
  assert.deepEqual(
    (asked as { wait: number }[]).map(({ wait }) => wait),
    cases.map(({ expected }) => expected),
  );
});

test('our client sends every field', async (t) => {
  const { client, asked } = await recording(t, 'enQueue');
  const request = { queue: 'q', key: 'k', consumerId: 'w', ticket: 't', wait: 5, lease: 100, idempotencyKey: 'i' };
  await assert.rejects(client.enQueue(request));
  const [{ maxWait: _, ...rest }] = asked as [{ maxWait: number }];
  assert.deepEqual(rest, request);
});
