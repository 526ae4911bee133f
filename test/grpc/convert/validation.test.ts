/** Every limit of section 4 and of `Limits`, tried over a real connection: which field is named, and that nothing else is. */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { Duration } from '../../../src/grpc/gen/google/protobuf/duration.js';
import { LaneState } from '../../../src/grpc/gen/keyturn/v1/admin.js';
import {
  AckRequest,
  AcquireRequest,
  type AfterUnknown,
  AwaitRequest,
  DeQueueRequest,
  type Durability,
  EnQueueRequest,
  NackKind,
  NackRequest,
  NewItem,
  RenewRequest,
  SubmitRequest,
  TurnRef,
} from '../../../src/grpc/gen/keyturn/v1/coordinator.js';
import { call, message, type Sidecar, startSidecar } from '../../support/sidecar.js';
import { failureOf } from '../errors.js';
import { FakeCoordinator } from '../fake-coordinator.js';

/** What a call is refused for: the fields by their names in the proto. */
interface Case {
  readonly what: string;
  readonly ask: (sidecar: Sidecar) => Promise<unknown>;
  readonly fields: readonly string[];
}

const enQueue = (fields: Partial<EnQueueRequest>) => (s: Sidecar) =>
  call(s.raw, s.raw.enQueue, message(EnQueueRequest, { queue: 'q', key: 'k', ...fields }));
const deQueue = (fields: Partial<DeQueueRequest>) => (s: Sidecar) =>
  call(
    s.raw,
    s.raw.deQueue,
    message(DeQueueRequest, { queue: 'q', key: 'k', holder: { $case: 'token', value: 1n }, ...fields }),
  );
const submit = (fields: Partial<SubmitRequest>) => (s: Sidecar) =>
  call(s.raw, s.raw.submit, message(SubmitRequest, { queue: 'q', items: [message(NewItem)], ...fields }));
const submitItem = (fields: Partial<NewItem>) => submit({ items: [message(NewItem), message(NewItem, fields)] });
const acquire = (fields: Partial<AcquireRequest>) => (s: Sidecar) =>
  call(s.raw, s.raw.acquire, message(AcquireRequest, { queues: ['q'], ...fields }));
const ack = (fields: Partial<AckRequest>) => (s: Sidecar) =>
  call(s.raw, s.raw.ack, message(AckRequest, { queue: 'q', key: 'k', token: 1n, ...fields }));
const nack = (fields: Partial<NackRequest>) => (s: Sidecar) =>
  call(
    s.raw,
    s.raw.nack,
    message(NackRequest, { queue: 'q', key: 'k', token: 1n, kind: NackKind.NACK_KIND_RETRY, ...fields }),
  );
const renew = (fields: Partial<RenewRequest>) => (s: Sidecar) =>
  call(s.raw, s.raw.renew, message(RenewRequest, { turns: [turn({})], ...fields }));
const turn = (fields: Partial<TurnRef>) => message(TurnRef, { queue: 'q', key: 'k', token: 1n, ...fields });
const awaitItem = (fields: Partial<AwaitRequest>) => (s: Sidecar) =>
  call(s.raw, s.raw.await, message(AwaitRequest, { queue: 'q', itemId: 'i', ...fields }));

const ms = (value: number): Duration => ({
  seconds: BigInt(Math.trunc(value / 1_000)),
  nanos: (value % 1_000) * 1_000_000,
});
const bytes = (count: number) => Buffer.alloc(count);
const times = <T>(count: number, one: T) => Array.from({ length: count }, () => one);
const MIB = 1_048_576;
const MAX_INT64 = 2n ** 63n - 1n;

const CASES: readonly Case[] = [
  { what: 'EnQueue without a queue', ask: enQueue({ queue: '' }), fields: ['queue'] },
  { what: 'a queue of 129 characters', ask: enQueue({ queue: 'q'.repeat(129) }), fields: ['queue'] },
  ...['a b', 'ä', 'a\n', 'a*', 'a,b', 'a\u0000'].map((queue) => ({
    what: `a queue named ${JSON.stringify(queue)}`,
    ask: enQueue({ queue }),
    fields: ['queue'],
  })),
  { what: 'EnQueue without a key', ask: enQueue({ key: '' }), fields: ['key'] },
  { what: 'a key of 1,025 bytes', ask: enQueue({ key: 'k'.repeat(1_025) }), fields: ['key'] },
  { what: 'a key of 513 characters but 1,026 bytes', ask: enQueue({ key: 'ä'.repeat(513) }), fields: ['key'] },
  { what: 'a consumer_id of 257 bytes', ask: enQueue({ consumerId: 'c'.repeat(257) }), fields: ['consumer_id'] },
  { what: 'a ticket of 257 bytes', ask: enQueue({ ticket: 't'.repeat(257) }), fields: ['ticket'] },
  {
    what: 'an idempotency_key of 257 bytes',
    ask: enQueue({ idempotencyKey: 'i'.repeat(257) }),
    fields: ['idempotency_key'],
  },
  { what: 'a wait above 5 min', ask: enQueue({ wait: ms(300_001) }), fields: ['wait'] },
  { what: 'a wait of 5 min and 1 ns', ask: enQueue({ wait: { seconds: 300n, nanos: 1 } }), fields: ['wait'] },
  { what: 'a negative wait', ask: enQueue({ wait: ms(-1) }), fields: ['wait'] },
  { what: 'a wait of -1 ns', ask: enQueue({ wait: { seconds: 0n, nanos: -1 } }), fields: ['wait'] },
  { what: 'a wait of int64 seconds', ask: enQueue({ wait: { seconds: MAX_INT64, nanos: 0 } }), fields: ['wait'] },
  {
    what: 'a wait of -int64 seconds',
    ask: enQueue({ wait: { seconds: -MAX_INT64 - 1n, nanos: 0 } }),
    fields: ['wait'],
  },
  { what: 'a wait of mixed signs', ask: enQueue({ wait: { seconds: 1n, nanos: -1 } }), fields: ['wait'] },
  { what: 'a wait of the other mixed signs', ask: enQueue({ wait: { seconds: -1n, nanos: 1 } }), fields: ['wait'] },
  { what: 'nanos of a second', ask: enQueue({ wait: { seconds: 0n, nanos: 1_000_000_000 } }), fields: ['wait'] },
  { what: 'the largest nanos', ask: enQueue({ wait: { seconds: 0n, nanos: 2_147_483_647 } }), fields: ['wait'] },
  { what: 'a lease of 99 ms', ask: enQueue({ lease: ms(99) }), fields: ['lease'] },
  { what: 'a lease of zero', ask: enQueue({ lease: ms(0) }), fields: ['lease'] },
  { what: 'a negative lease', ask: enQueue({ lease: ms(-20_000) }), fields: ['lease'] },
  { what: 'a lease above 24 h', ask: enQueue({ lease: ms(86_400_001) }), fields: ['lease'] },

  { what: 'DeQueue with neither token nor ticket', ask: deQueue({ holder: undefined }), fields: ['token'] },
  {
    what: 'DeQueue with an empty ticket',
    ask: deQueue({ holder: { $case: 'ticket', value: '' } }),
    fields: ['ticket'],
  },
  {
    what: 'DeQueue with a long ticket',
    ask: deQueue({ holder: { $case: 'ticket', value: 't'.repeat(257) } }),
    fields: ['ticket'],
  },
  { what: 'DeQueue with a bad queue', ask: deQueue({ queue: '' }), fields: ['queue'] },
  { what: 'DeQueue with a long key', ask: deQueue({ key: 'k'.repeat(1_025) }), fields: ['key'] },
  { what: 'a result above 1 MiB', ask: deQueue({ result: bytes(MIB + 1) }), fields: ['result'] },

  { what: 'Submit with a bad queue', ask: submit({ queue: '?' }), fields: ['queue'] },
  { what: 'Submit without items', ask: submit({ items: [] }), fields: ['items'] },
  { what: 'Submit of 1,001 items', ask: submit({ items: times(1_001, message(NewItem)) }), fields: ['items'] },
  { what: 'wait_for_room above 5 min', ask: submit({ waitForRoom: ms(300_001) }), fields: ['wait_for_room'] },
  { what: 'a negative wait_for_room', ask: submit({ waitForRoom: ms(-5) }), fields: ['wait_for_room'] },
  { what: 'an item with a long key', ask: submitItem({ key: 'k'.repeat(1_025) }), fields: ['items[1].key'] },
  { what: 'a payload above 1 MiB', ask: submitItem({ payload: bytes(MIB + 1) }), fields: ['items[1].payload'] },
  {
    what: '65 headers',
    ask: submitItem({ headers: new Map(times(65, '').map((_, i) => [`h${i}`, ''])) }),
    fields: ['items[1].headers'],
  },
  {
    what: 'headers above 8 KiB together',
    ask: submitItem({ headers: new Map([['h', 'v'.repeat(8_192)]]) }),
    fields: ['items[1].headers'],
  },
  { what: 'a long item_id', ask: submitItem({ itemId: 'i'.repeat(257) }), fields: ['items[1].item_id'] },
  {
    what: 'a long idempotency_key of an item',
    ask: submitItem({ idempotencyKey: 'i'.repeat(257) }),
    fields: ['items[1].idempotency_key'],
  },
  { what: 'a delay above 30 days', ask: submitItem({ delay: ms(2_592_000_001) }), fields: ['items[1].delay'] },
  { what: 'a negative delay', ask: submitItem({ delay: ms(-1) }), fields: ['items[1].delay'] },
  {
    what: 'an item after 101 others',
    ask: submitItem({ after: times(101, '').map((_, i) => ({ queue: 'q', itemId: `i${i}` })) }),
    fields: ['items[1].after'],
  },
  {
    what: 'an item after one of a bad queue, one without an id, one with a long id',
    ask: submitItem({
      after: [
        { queue: '', itemId: 'i' },
        { queue: 'q', itemId: '' },
        { queue: 'q', itemId: 'i'.repeat(257) },
      ],
    }),
    fields: ['items[1].after[0].queue', 'items[1].after[1].item_id', 'items[1].after[2].item_id'],
  },
  {
    what: 'an item after the same one twice',
    ask: submitItem({
      after: [
        { queue: 'q', itemId: 'i' },
        { queue: 'r', itemId: 'i' },
        { queue: 'q', itemId: 'i' },
      ],
    }),
    fields: ['items[1].after[2]'],
  },
  {
    what: 'an unknown after_unknown',
    ask: submitItem({ afterUnknown: 99 as AfterUnknown }),
    fields: ['items[1].after_unknown'],
  },
  { what: 'an unknown durability', ask: submit({ durability: 99 as Durability }), fields: ['durability'] },

  { what: 'Acquire without queues', ask: acquire({ queues: [] }), fields: ['queues'] },
  {
    what: 'Acquire of 101 queues',
    ask: acquire({ queues: times(101, '').map((_, i) => `q${i}`) }),
    fields: ['queues'],
  },
  { what: 'a bad name among queues', ask: acquire({ queues: ['q', 'b d'] }), fields: ['queues[1]'] },
  { what: 'a queue twice', ask: acquire({ queues: ['q', 'r', 'q'] }), fields: ['queues[2]'] },
  { what: 'two queues with a key', ask: acquire({ queues: ['q', 'r'], key: 'k' }), fields: ['queues'] },
  { what: 'Acquire with a long key', ask: acquire({ key: 'k'.repeat(1_025) }), fields: ['key'] },
  { what: 'Acquire with a long consumer_id', ask: acquire({ consumerId: 'c'.repeat(257) }), fields: ['consumer_id'] },
  { what: 'Acquire with a long ticket', ask: acquire({ ticket: 't'.repeat(257) }), fields: ['ticket'] },
  { what: '1,001 turns', ask: acquire({ maxTurns: 1_001 }), fields: ['max_turns'] },
  { what: '1,001 items per turn', ask: acquire({ maxItemsPerTurn: 1_001 }), fields: ['max_items_per_turn'] },
  { what: 'Acquire with a long wait', ask: acquire({ wait: ms(300_001) }), fields: ['wait'] },
  { what: 'Acquire with a short lease', ask: acquire({ lease: ms(1) }), fields: ['lease'] },

  { what: 'Ack with a bad queue', ask: ack({ queue: '' }), fields: ['queue'] },
  { what: 'Ack with a long key', ask: ack({ key: 'k'.repeat(1_025) }), fields: ['key'] },
  { what: 'Ack with a result above 1 MiB', ask: ack({ result: bytes(MIB + 1) }), fields: ['result'] },
  {
    what: '1,001 follow-ups',
    ask: ack({ followUps: times(1_001, { queue: 'q', item: message(NewItem) }) }),
    fields: ['follow_ups'],
  },
  {
    what: 'follow-ups with a bad queue, no item, a bad item',
    ask: ack({
      followUps: [
        { queue: '', item: message(NewItem) },
        { queue: 'q', item: undefined },
        { queue: 'q', item: message(NewItem, { key: 'k'.repeat(1_025) }) },
      ],
    }),
    fields: ['follow_ups[0].queue', 'follow_ups[1].item', 'follow_ups[2].item.key'],
  },
  {
    what: 'an Ack whose next is wrong',
    ask: ack({ next: message(AcquireRequest, { queues: ['q', 'q'], maxTurns: 1_001 }) }),
    fields: ['next.queues[1]', 'next.max_turns'],
  },

  { what: 'Nack without a kind', ask: nack({ kind: NackKind.NACK_KIND_UNSPECIFIED }), fields: ['kind'] },
  { what: 'Nack of an unknown kind', ask: nack({ kind: 99 as NackKind }), fields: ['kind'] },
  { what: 'Nack with a bad queue', ask: nack({ queue: '' }), fields: ['queue'] },
  { what: 'Nack with a long key', ask: nack({ key: 'k'.repeat(1_025) }), fields: ['key'] },
  { what: 'Nack with a long delay', ask: nack({ delay: ms(2_592_000_001) }), fields: ['delay'] },
  { what: 'an error above 8 KiB', ask: nack({ error: 'e'.repeat(8_193) }), fields: ['error'] },

  { what: 'Renew without turns', ask: renew({ turns: [] }), fields: ['turns'] },
  { what: 'Renew of 1,001 turns', ask: renew({ turns: times(1_001, turn({})) }), fields: ['turns'] },
  {
    what: 'Renew of bad turns',
    ask: renew({ turns: [turn({ queue: '' }), turn({ key: 'k'.repeat(1_025) })] }),
    fields: ['turns[0].queue', 'turns[1].key'],
  },
  { what: 'Renew with a short lease', ask: renew({ lease: ms(99) }), fields: ['lease'] },

  { what: 'Await with a bad queue', ask: awaitItem({ queue: '' }), fields: ['queue'] },
  { what: 'Await without an item', ask: awaitItem({ itemId: '' }), fields: ['item_id'] },
  { what: 'Await with a long item_id', ask: awaitItem({ itemId: 'i'.repeat(257) }), fields: ['item_id'] },
  { what: 'Await with a long wait', ask: awaitItem({ wait: ms(300_001) }), fields: ['wait'] },

  ...adminCases(),
];

function adminCases(): readonly Case[] {
  const long = 'k'.repeat(1_025);
  const keys = { queue: 'q', state: LaneState.LANE_STATE_UNSPECIFIED, pageSize: 0, pageToken: '' };
  const queues = { nameContains: '', pageSize: 0, pageToken: '', stuckFor: undefined, withoutPolicy: false };
  const letters = { queue: 'q', pageSize: 0, pageToken: '', filter: undefined };
  const choice = { queue: 'q', itemIds: [], filter: undefined, dryRun: false, limit: 0, reason: '' };
  return [
    {
      what: 'ListQueues with a long name_contains',
      ask: (s) => call(s.rawAdmin, s.rawAdmin.listQueues, { ...queues, nameContains: 'q'.repeat(129) }),
      fields: ['name_contains'],
    },
    {
      what: 'a page of 1,001 queues, after what is no name',
      ask: (s) => call(s.rawAdmin, s.rawAdmin.listQueues, { ...queues, pageSize: 1_001, pageToken: '?' }),
      fields: ['page_token', 'page_size'],
    },
    {
      what: 'queues that are stuck for more than a day',
      ask: (s) => call(s.rawAdmin, s.rawAdmin.listQueues, { ...queues, stuckFor: ms(86_400_001) }),
      fields: ['stuck_for'],
    },
    {
      what: 'a reason of more than 256 bytes',
      ask: (s) => call(s.rawAdmin, s.rawAdmin.pauseQueue, { queue: 'q', reason: `${'r'.repeat(255)}é` }),
      fields: ['reason'],
    },
    {
      what: 'dead letters of a cause that there is not, with a long error, that died before they died',
      ask: (s) => {
        const died = (ms: number) => ({ seconds: BigInt(ms), nanos: 0 });
        const filter = {
          causes: ['max_attempts', 'bored'],
          errorContains: 'e'.repeat(257),
          diedAfter: died(2),
          diedBefore: died(1),
        };
        return call(s.rawAdmin, s.rawAdmin.redrive, { ...choice, filter, limit: 10_001 });
      },
      fields: ['filter.causes[1]', 'filter.error_contains', 'filter.died_before', 'limit'],
    },
    {
      what: 'a filter of dead letters that is to find items that wait',
      ask: (s) => {
        const filter = { causes: [], errorContains: '', diedAfter: undefined, diedBefore: { seconds: 1n, nanos: -1 } };
        return call(s.rawAdmin, s.rawAdmin.discard, { ...choice, filter, waiting: true });
      },
      fields: ['filter', 'filter.died_before'],
    },
    {
      what: 'RetryNow of a key and an item',
      ask: (s) => call(s.rawAdmin, s.rawAdmin.retryNow, { queue: 'q', key: 'k', itemId: 'i', reason: '' }),
      fields: ['item_id'],
    },
    {
      what: 'RetryNow of neither, in a bad queue',
      ask: (s) => call(s.rawAdmin, s.rawAdmin.retryNow, { queue: '', key: '', itemId: '', reason: '' }),
      fields: ['queue', 'key'],
    },
    {
      what: 'ListKeys with a bad queue',
      ask: (s) => call(s.rawAdmin, s.rawAdmin.listKeys, { ...keys, queue: '' }),
      fields: ['queue'],
    },
    {
      what: 'ListKeys of an unknown state',
      ask: (s) => call(s.rawAdmin, s.rawAdmin.listKeys, { ...keys, state: 42 as LaneState }),
      fields: ['state'],
    },
    {
      what: 'a page of 1,001 keys',
      ask: (s) => call(s.rawAdmin, s.rawAdmin.listKeys, { ...keys, pageSize: 1_001 }),
      fields: ['page_size'],
    },
    {
      what: 'a huge page_token',
      ask: (s) => call(s.rawAdmin, s.rawAdmin.listKeys, { ...keys, pageToken: 'p'.repeat(131_073) }),
      fields: ['page_token'],
    },
    {
      what: 'ExplainKey of a long key',
      ask: (s) => call(s.rawAdmin, s.rawAdmin.explainKey, { queue: 'q', key: long }),
      fields: ['key'],
    },
    {
      what: 'EvictHolder of a bad queue and key',
      ask: (s) => call(s.rawAdmin, s.rawAdmin.evictHolder, { queue: '', key: long, reason: '', discard: false }),
      fields: ['queue', 'key'],
    },
    {
      what: 'ResumeKey of a long key',
      ask: (s) => call(s.rawAdmin, s.rawAdmin.resumeKey, { queue: 'q', key: long, reason: '' }),
      fields: ['key'],
    },
    {
      what: 'PauseQueue of none',
      ask: (s) => call(s.rawAdmin, s.rawAdmin.pauseQueue, { queue: '', reason: '' }),
      fields: ['queue'],
    },
    {
      what: 'ResumeQueue of none',
      ask: (s) => call(s.rawAdmin, s.rawAdmin.resumeQueue, { queue: '', reason: '' }),
      fields: ['queue'],
    },
    ...[-1, 1e-320, 1e-7, Number.NaN, Number.POSITIVE_INFINITY, 1e10].map((perSecond) => ({
      what: `a rate of ${perSecond} per second`,
      ask: (s: Sidecar) =>
        call(s.rawAdmin, s.rawAdmin.setLimits, { queue: 'q', rate: { perSecond, burst: 1 }, reason: '' }),
      fields: ['rate.per_second'],
    })),
    {
      what: 'a rate with no burst',
      ask: (s) => call(s.rawAdmin, s.rawAdmin.setLimits, { queue: 'q', rate: { perSecond: 1, burst: 0 }, reason: '' }),
      fields: ['rate.burst'],
    },
    {
      what: 'a page of 1,001 dead letters',
      ask: (s) => call(s.rawAdmin, s.rawAdmin.listDeadLetters, { ...letters, pageSize: 1_001 }),
      fields: ['page_size'],
    },
    {
      what: 'dead letters of a long key',
      ask: (s) => call(s.rawAdmin, s.rawAdmin.listDeadLetters, { ...letters, key: long }),
      fields: ['key'],
    },
    {
      what: 'Redrive of 1,001 ids',
      ask: (s) => call(s.rawAdmin, s.rawAdmin.redrive, { ...choice, itemIds: times(1_001, 'i') }),
      fields: ['item_ids'],
    },
    {
      what: 'Redrive of an empty id',
      ask: (s) => call(s.rawAdmin, s.rawAdmin.redrive, { ...choice, itemIds: ['i', ''] }),
      fields: ['item_ids[1]'],
    },
    {
      what: 'Discard of a long id',
      ask: (s) => call(s.rawAdmin, s.rawAdmin.discard, { ...choice, itemIds: ['i'.repeat(257)], waiting: true }),
      fields: ['item_ids[0]'],
    },
    { what: 'WatchEvents of a bad queue', ask: (s) => firstEvent(s, 'a b'), fields: ['queue'] },
  ];
}

function firstEvent(sidecar: Sidecar, queue: string): Promise<unknown> {
  return new Promise((resolve, reject) => {
    sidecar.rawAdmin.watchEvents({ queue }).once('data', resolve).once('error', reject);
  });
}

// One server for the whole table: the fake fails every call that gets as far as the port.
async function tableServer(t: TestContext): Promise<Sidecar> {
  return startSidecar(t, new FakeCoordinator());
}

test('what is wrong is refused by the name of its field', async (t) => {
  const sidecar = await tableServer(t);
  for (const { what, ask, fields } of CASES) {
    await t.test(what, async () => {
      const failure = await failureOf(ask(sidecar));
      assert.deepEqual([failure.code, failure.reason], ['INVALID_ARGUMENT', 'BAD_REQUEST']);
      assert.deepEqual(
        failure.fields.map(({ field }) => field),
        fields,
      );
      for (const { description } of failure.fields)
        assert.match(description, /(is not allowed|missing, and so is \w+); allowed: /);
    });
  }
});

test('what is just allowed reaches the port', async (t) => {
  let asked = 0;
  const coordinator = new FakeCoordinator();
  const refuse = (_: unknown, reply: { refuse(refusal: { kind: 'cancelled' }): void }) => {
    asked += 1;
    reply.refuse({ kind: 'cancelled' });
    return undefined;
  };
  Object.assign(coordinator, {
    enQueue: refuse,
    submit: refuse,
    acquire: refuse,
    deQueue: refuse,
    nack: refuse,
    renew: refuse,
  });
  const sidecar = await startSidecar(t, coordinator);
  const allowed = [
    enQueue({ queue: 'q'.repeat(128), key: 'k'.repeat(1_024), ticket: 't'.repeat(256), wait: ms(300_000) }),
    enQueue({ key: 'ä'.repeat(512), lease: ms(100), idempotencyKey: 'i'.repeat(256), wait: ms(0) }),
    enQueue({ key: ' ', lease: ms(86_400_000), consumerId: 'c'.repeat(256) }),
    deQueue({ key: '', result: bytes(MIB) }),
    submit({ items: times(1_000, message(NewItem)) }),
    submitItem({ payload: bytes(MIB), delay: ms(2_592_000_000), headers: new Map([['h', 'v'.repeat(8_191)]]) }),
    submitItem({ headers: new Map(times(64, '').map((_, i) => [`h${i}`, ''])) }),
    acquire({ queues: times(100, '').map((_, i) => `q${i}`), maxTurns: 1_000, maxItemsPerTurn: 1_000 }),
    nack({ error: 'e'.repeat(8_192), delay: ms(0) }),
    renew({ turns: times(1_000, turn({})) }),
  ];
  for (const ask of allowed) {
    const failure = await failureOf(ask(sidecar));
    assert.equal(failure.code, 'CANCELLED', failure.message);
  }
  assert.equal(asked, allowed.length);
});

test('all violations of a request are told, at most 20, within what clients accept as trailers', async (t) => {
  const sidecar = await tableServer(t);
  const few = await failureOf(enQueue({ queue: '', key: '', wait: ms(-1), lease: ms(1) })(sidecar));
  assert.deepEqual(
    few.fields.map(({ field }) => field),
    ['wait', 'queue', 'key', 'lease'],
  );
  const item = message(NewItem, { key: '😀'.repeat(300), itemId: '😀'.repeat(100) });
  const failing = submit({ items: times(1_000, item) })(sidecar);
  const many = await failureOf(failing);
  assert.equal(many.fields.length, 20);
  assert.match(many.message, /\(and 19 more\)$/);
  const size = many.fields.reduce((sum, { field, description }) => sum + Buffer.byteLength(field + description), 0);
  assert.ok((size * 4) / 3 < 8_192, `${size} bytes`);
});

test('the limits are those of the configuration', async (t) => {
  const limits = { keyBytes: 3, payloadBytes: 4, pageSize: 5, itemsPerSubmit: 1 };
  const sidecar = await startSidecar(t, new FakeCoordinator(), { limits });
  const wrong = [
    enQueue({ key: 'abcd' }),
    submit({ items: [message(NewItem, { payload: bytes(5) }), message(NewItem)] }),
    (s: Sidecar) =>
      call(s.rawAdmin, s.rawAdmin.redrive, {
        queue: 'q',
        itemIds: times(6, 'i'),
        filter: undefined,
        dryRun: false,
        limit: 0,
        reason: '',
      }),
  ];
  const named = [];
  for (const ask of wrong) named.push((await failureOf(ask(sidecar))).fields.map(({ field }) => field));
  assert.deepEqual(named, [['key'], ['items', 'items[0].payload'], ['item_ids']]);
});
