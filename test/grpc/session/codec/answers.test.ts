/** What a session writes by itself is byte by byte what the generated code would have written. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inspect } from 'node:util';
import type {
  AcquireAnswer,
  AwaitAnswer,
  Delivery,
  EnQueueAnswer,
  HelloAnswer,
  NackAnswer,
  Notice,
  RenewAnswer,
  SubmitAnswer,
  Turn,
} from '../../../../src/coordinator.js';
import {
  ackResponse,
  acquireResponse,
  awaitResponse,
  deQueueResponse,
  enQueueResponse,
  nackResponse,
  renewResponse,
  submitResponse,
} from '../../../../src/grpc/convert/answers.js';
import type * as wire from '../../../../src/grpc/gen/keyturn/v1/coordinator.js';
import { Reply, SessionResponse } from '../../../../src/grpc/gen/keyturn/v1/coordinator.js';
import * as session from '../../../../src/grpc/session/codec/answers.js';
import { WireWriter } from '../../../../src/grpc/session/codec/wire-writer.js';
import { type Form, Outgoing } from '../../../../src/grpc/session/outgoing.js';

const LARGEST_TOKEN = Number.MAX_SAFE_INTEGER;
const bytes = (length: number) => Buffer.alloc(length, 7);
/** Lengths around which the length of a length changes. */
const LENGTHS = [0, 1, 47, 48, 49, 127, 128, 200, 16_383, 16_384, 300_000];
const TEXTS = ['', 'k', 'ключ', '😀'.repeat(30), 'a'.repeat(127), 'é'.repeat(64), 'x'.repeat(1_024), '\ufeff\u0000'];

function turn(change: Partial<Turn> = {}): Turn {
  return { queue: 'q', key: 'k', token: 1, lease: 20_000, leaseExpiresAt: 1_770_000_000_123, attempt: 0, ...change };
}

const TURNS: readonly Turn[] = [
  turn(),
  turn({ token: LARGEST_TOKEN, lease: 100, attempt: 300 }),
  ...[127, 128, 2 ** 28 - 1, 2 ** 28, 2 ** 31, 2 ** 32, 2 ** 35, 2 ** 49].map((token) => turn({ token })),
  ...[0.25, 1, 999.999, 1_000, 86_400_000, 1e12].map((lease) => turn({ lease })),
  ...TEXTS.map((key) => turn({ key, queue: key })),
  turn({ leaseExpiresAt: Number.POSITIVE_INFINITY }),
];

function delivery(change: Partial<Delivery['items'][number]> = {}, given = turn()): Delivery {
  const item = {
    itemId: 'i',
    payload: bytes(3),
    headers: undefined,
    idempotencyKey: undefined,
    submittedAt: 1_770_000_000_000,
    attempt: 1,
    ...change,
  };
  return { turn: given, items: [item, item] };
}

const DELIVERIES: readonly Delivery[] = [
  ...TURNS.map((given) => ({ turn: given, items: [] })),
  ...LENGTHS.map((length) => delivery({ payload: bytes(length) })),
  ...TEXTS.map((text) =>
    delivery({
      itemId: text,
      idempotencyKey: text,
      headers: new Map([
        [text, text],
        ['h', 'v'],
      ]),
    }),
  ),
  delivery({ submittedAt: 0.5, attempt: 1_000 }),
];

const RESULTS: SubmitAnswer['results'] = [
  ...TEXTS.map((text) => ({ decision: 'accept', itemId: text, supersededId: text }) as const),
  { decision: 'accept', itemId: 'i', supersededId: undefined },
  { decision: 'decline', itemId: 'i', reason: 'too_soon', survivorId: undefined, retryAfter: 0.5 },
  { decision: 'decline', itemId: 'i', reason: 'waiter_exists', survivorId: 's', retryAfter: undefined },
];

const decline = {
  decision: 'decline',
  reason: 'superseded',
  survivorId: undefined,
  retryAfter: undefined,
  result: undefined,
} as const;
const ENQUEUES: readonly EnQueueAnswer[] = [
  ...TURNS.map((given) => ({ decision: 'accept', turn: given, ticket: undefined }) as const),
  ...TEXTS.map((ticket) => ({ decision: 'accept', turn: turn(), ticket }) as const),
  { decision: 'block', ahead: 0, retryAfter: 0, ticket: 't' },
  { decision: 'block', ahead: 4_294_967_295, retryAfter: undefined, ticket: undefined },
  decline,
  { ...decline, reason: 'already_done', result: bytes(1_048_576) },
  { ...decline, reason: 'too_soon', retryAfter: 1_234.5 },
  ...TEXTS.map((survivorId) => ({ ...decline, reason: 'waiter_exists', survivorId }) as const),
];

const AWAITS: readonly AwaitAnswer[] = [
  { state: 'unknown', result: undefined, error: undefined, attempt: 0 },
  { state: 'dead', result: bytes(1_048_576), error: 'e', attempt: 10 },
];

const NACKS: readonly NackAnswer[] = [
  { retryAt: undefined, deadLettered: 0 },
  { retryAt: 1_770_000_000_001.5, deadLettered: 1_000 },
];

const RENEWAL: RenewAnswer = {
  results: [
    { alive: true, leaseExpiresAt: 1_770_000_000_123 },
    { alive: true, leaseExpiresAt: Number.POSITIVE_INFINITY },
    { alive: false, cause: 'evicted' },
  ],
};

type Outcome = NonNullable<wire.Reply['outcome']>;

/** Byte by byte what the generated encoder makes of this outcome. */
function written<A>(write: (out: WireWriter, answer: A) => void, answer: A, outcome: Outcome): void {
  const out = new WireWriter();
  write(out, answer);
  const expected = Reply.encode({ id: 0, outcome }).finish();
  assert.ok(out.take().equals(expected), `${outcome.$case}: ${inspect(answer)}`);
}

/** As a session says it: without its name where the command said it. */
function told(message: wire.Turn | undefined, named: boolean): wire.Turn | undefined {
  return message && (named ? message : { ...message, queue: '', key: '' });
}

function toldAll({ deliveries }: wire.AcquireResponse, named: boolean): wire.AcquireResponse {
  return { deliveries: deliveries.map((one) => ({ ...one, turn: told(one.turn, named) })) };
}

test('EnQueue', () => {
  for (const answer of ENQUEUES) {
    const unary = enQueueResponse(answer);
    written(session.writeEnQueue, answer, { $case: 'enqueue', value: { ...unary, turn: told(unary.turn, false) } });
  }
});

test('DeQueue', () => {
  for (const answer of [
    { promoted: false, waiting: 0 },
    { promoted: true, waiting: 1_000_000 },
  ]) {
    written(session.writeDeQueue, answer, { $case: 'dequeue', value: deQueueResponse(answer) });
  }
});

test('Submit', () => {
  for (const results of [[], RESULTS]) {
    written(session.writeSubmit, { results }, { $case: 'submit', value: submitResponse({ results }) });
  }
});

test('Acquire, of any key and of one', () => {
  for (const deliveries of [[], DELIVERIES, ...DELIVERIES.map((one) => [one])]) {
    const unary = acquireResponse({ deliveries });
    written(session.writeAcquire, { deliveries }, { $case: 'acquire', value: toldAll(unary, true) });
    written(session.writeKeyedAcquire, { deliveries }, { $case: 'acquire', value: toldAll(unary, false) });
  }
});

test('Ack', () => {
  for (const next of [undefined, { deliveries: [] }, { deliveries: DELIVERIES }]) {
    const answer = { followUps: RESULTS, next };
    const unary = ackResponse(answer);
    const value = { ...unary, next: unary.next && toldAll(unary.next, true) };
    written(session.writeAck, answer, { $case: 'ack', value });
  }
});

test('Nack, Renew, Await, Cancel', () => {
  for (const answer of NACKS) written(session.writeNack, answer, { $case: 'nack', value: nackResponse(answer) });
  written(session.writeRenew, RENEWAL, { $case: 'renew', value: renewResponse(RENEWAL) });
  for (const answer of AWAITS)
    written(session.writeAwait, answer, { $case: 'awaitItem', value: awaitResponse(answer) });
  for (const cancelled of [true, false]) {
    written(session.writeCancel, cancelled, { $case: 'cancel', value: { cancelled } });
  }
});

test('Hello says all turns that fit, and how many there are', () => {
  const some: HelloAnswer = {
    sessionId: 's',
    ttl: 1_500,
    turns: [turn(), turn({ key: '', token: LARGEST_TOKEN })],
    turnCount: 2,
  };
  written(session.writeHello, some, {
    $case: 'hello',
    value: {
      sessionId: 's',
      ttl: { seconds: 1n, nanos: 500_000_000 },
      turns: [
        { queue: 'q', key: 'k', token: 1n },
        { queue: 'q', key: '', token: BigInt(LARGEST_TOKEN) },
      ],
      turnCount: 2,
    },
  });
  const turns = Array.from({ length: 10_000 }, (_, token) => turn({ key: 'k'.repeat(1_024), token: token + 1 }));
  const out = new WireWriter();
  session.writeHello(out, { ...some, turns, turnCount: 10_000 });
  assert.ok(out.length < 4_000_000, 'a client accepts 4 MiB');
  const reply = Reply.decode(out.take()).outcome;
  assert.ok(reply?.$case === 'hello' && reply.value.turns.length > 2_000);
  assert.equal(reply.value.turnCount, 10_000);
});

test('a notice names its turn', () => {
  const notices: readonly Notice[] = [
    { kind: 'turn_lost', turn: turn({ leaseExpiresAt: Number.POSITIVE_INFINITY }), cause: 'taken_over' },
    { kind: 'turn_ending', turn: turn({ key: 'ключ', leaseExpiresAt: Number.POSITIVE_INFINITY }) },
  ];
  const out = new Outgoing();
  for (const notice of notices) out.notice(notice);
  const sent = SessionResponse.decode(out.next()?.bytes ?? Buffer.alloc(0));
  const named = {
    queue: 'q',
    key: 'k',
    token: 1n,
    lease: { seconds: 20n, nanos: 0 },
    leaseExpiresAt: undefined,
    attempt: 0,
  };
  assert.deepEqual(sent, {
    replies: [],
    notices: [
      { turn: named, kind: 1, cause: 3 },
      { turn: { ...named, key: 'ключ' }, kind: 2, cause: 0 },
    ],
  });
});

const form: Form = {
  write: (out, answer) => session.writeAcquire(out, answer as AcquireAnswer),
  gives: (answer, turns) => turns.push(...(answer as AcquireAnswer).deliveries.map((one) => one.turn)),
  canBeUndone: true,
};

/** An Acquire answer of about so many bytes. */
function large(size: number, token: number): AcquireAnswer {
  return {
    deliveries: [
      {
        ...delivery({ payload: bytes(size) }, turn({ token })),
        items: delivery({ payload: bytes(size) }).items.slice(1),
      },
    ],
  };
}

test('answers are cut into messages that clients accept, each with its own turns, and none is lost', () => {
  const sizes = [10, 3_145_728, 10, 10, 900_000, 200_000, 3_145_728, 3_145_728, 500_000, 500_000, 500_000, 1];
  const out = new Outgoing();
  for (const [index, size] of sizes.entries()) out.answer(index, form, large(size, index));
  const total = out.bytes;
  const ids: number[] = [];
  let handed = 0;
  for (let next = out.next(); next !== undefined; next = out.next()) {
    assert.ok(next.bytes.length < 4_000_000);
    handed += next.bytes.length;
    const { replies } = SessionResponse.decode(next.bytes);
    const own = replies.map(({ id }) => id);
    assert.deepEqual(
      next.turns.map(({ token }) => token),
      own,
    );
    ids.push(...own);
  }
  assert.deepEqual(ids, [...sizes.keys()]);
  assert.equal(handed, total);
  assert.equal(out.bytes, total, 'on their way they count still');
  out.taken();
  assert.ok(out.bytes < total);
});

test('an answer that cannot be written leaves no trace', () => {
  const out = new Outgoing();
  out.answer(1, form, large(10, 1));
  const before = out.bytes;
  const broken: Form = {
    ...form,
    write(writer) {
      writer.open(5);
      writer.text(1, 'half');
      throw new Error('broken');
    },
  };
  assert.throws(() => out.answer(2, broken, large(10, 2)), /broken/);
  assert.equal(out.bytes, before);
  out.answer(3, form, large(10, 3));
  const { replies } = SessionResponse.decode(out.next()?.bytes ?? Buffer.alloc(0));
  assert.deepEqual(
    replies.map(({ id }) => id),
    [1, 3],
  );
  assert.deepEqual(
    out.end().map(({ token }) => token),
    [1, 3],
  );
});
