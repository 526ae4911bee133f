/** The codec of a session's messages is that of the generated code, only quicker: whatever there is to be written or read. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import {
  type Command,
  type NewItem,
  type Reply,
  SessionRequest,
  SessionResponse,
} from '#client/gen/keyturn/v1/coordinator';
import { decodeSessionResponse } from '#client/wire/session-decoder';
import { encodeSessionRequest } from '#client/wire/session-encoder';

const RUNS = { numRuns: 2_000 };

const text = fc.oneof(
  fc.constant(''),
  fc.string({ maxLength: 20 }),
  fc.string({ unit: 'grapheme', maxLength: 20 }),
  fc.string({ unit: fc.constantFrom('\ufeff', '\ud800', '\udc00', 'a', '\0'), maxLength: 4 }),
  fc.string({ minLength: 40, maxLength: 140 }),
);
const data = fc.oneof(fc.constant(new Uint8Array(0)), fc.uint8Array({ maxLength: 300 }));
const headers = fc.array(fc.tuple(text, text), { maxLength: 3 }).map((pairs) => new Map(pairs));
const count = fc.oneof(fc.constant(0), fc.nat({ max: 300 }), fc.integer({ min: 0, max: 2 ** 32 - 1 }));
const word = fc.nat({ max: 5 });
const token = fc.oneof(fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }), fc.bigInt({ min: 0n, max: 2n ** 53n }));
const time = fc.oneof(
  fc.constant(undefined),
  fc.record({
    seconds: fc.oneof(fc.bigInt({ min: 0n, max: 2n ** 34n }), fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n })),
    nanos: fc.oneof(fc.nat({ max: 999_999_999 }), fc.integer()),
  }),
);

const item: fc.Arbitrary<NewItem> = fc.record({
  key: text,
  payload: data,
  headers,
  itemId: text,
  idempotencyKey: text,
  delay: time,
  after: fc.array(fc.record({ queue: text, itemId: text }), { maxLength: 2, size: 'xsmall' }),
  afterUnknown: fc.oneof(fc.constant(0), word),
});
const acquire = fc.record({
  queues: fc.array(text, { maxLength: 3 }),
  key: text,
  consumerId: text,
  ticket: text,
  maxTurns: count,
  maxItemsPerTurn: count,
  wait: time,
  lease: time,
});
const enQueue = fc.record({
  queue: text,
  key: text,
  consumerId: text,
  ticket: text,
  wait: time,
  lease: time,
  idempotencyKey: text,
});
const holder = fc.oneof(
  fc.constant(undefined),
  token.map((value) => ({ $case: 'token', value }) as const),
  text.map((value) => ({ $case: 'ticket', value }) as const),
);
const deQueue = fc.record({ queue: text, key: text, holder, abandoned: fc.boolean(), result: data });
const followUp = fc.record({ queue: text, item: fc.option(item, { nil: undefined }) });
const ack = fc.record({
  queue: text,
  key: text,
  token,
  result: data,
  followUps: fc.array(followUp, { maxLength: 3 }),
  next: fc.option(acquire, { nil: undefined }),
});
const submit = fc.record({
  queue: text,
  items: fc.array(item, { maxLength: 4 }),
  waitForRoom: time,
  durability: fc.oneof(fc.constant(0), word),
});
const call: fc.Arbitrary<Command['call']> = fc.oneof(
  fc.constant(undefined),
  enQueue.map((value) => ({ $case: 'enqueue', value }) as const),
  deQueue.map((value) => ({ $case: 'dequeue', value }) as const),
  submit.map((value) => ({ $case: 'submit', value }) as const),
  acquire.map((value) => ({ $case: 'acquire', value }) as const),
  ack.map((value) => ({ $case: 'ack', value }) as const),
  fc.record({ id: count, leave: fc.boolean() }).map((value) => ({ $case: 'cancel', value }) as const),
);
const request = fc.record({ commands: fc.array(fc.record({ id: count, call }), { maxLength: 6 }) });

const turn = fc.option(
  fc.record({ queue: text, key: text, token, lease: time, leaseExpiresAt: time, attempt: count }),
  { nil: undefined },
);
const delivered = fc.record({
  itemId: text,
  payload: data.map((bytes) => Buffer.from(bytes)),
  headers,
  idempotencyKey: text,
  submittedAt: time,
  attempt: count,
});
const deliveries = fc.array(fc.record({ turn, items: fc.array(delivered, { maxLength: 3 }) }), { maxLength: 3 });
const result = fc.record({
  itemId: text,
  decision: word,
  reason: word,
  survivorId: text,
  supersededId: text,
  retryAfter: time,
  onItsWay: fc.boolean(),
});
const results = fc.array(result, { maxLength: 3 });
const accept = fc.record({
  decision: word,
  turn,
  ticket: text,
  ahead: count,
  reason: word,
  retryAfter: time,
  result: data,
  survivorId: text,
});
const acked = fc.record({
  followUps: results,
  next: fc.option(fc.record({ deliveries }), { nil: undefined }),
});
const outcome: fc.Arbitrary<Reply['outcome']> = fc.oneof(
  fc.constant(undefined),
  accept.map((value) => ({ $case: 'enqueue', value }) as const),
  fc.record({ promoted: fc.boolean(), waiting: count }).map((value) => ({ $case: 'dequeue', value }) as const),
  fc.record({ retryAt: time, deadLettered: count }).map((value) => ({ $case: 'nack', value }) as const),
  results.map((value) => ({ $case: 'submit', value: { results: value } }) as const),
  deliveries.map((value) => ({ $case: 'acquire', value: { deliveries: value } }) as const),
  acked.map((value) => ({ $case: 'ack', value }) as const),
  fc
    .record({ code: word, message: text })
    .map((value) => ({ $case: 'error' as const, value: { ...value, details: [] } })),
);
const response = fc
  .record({
    replies: fc.array(fc.record({ id: count, outcome }), { maxLength: 6 }),
    notices: fc.array(fc.record({ turn, kind: word, cause: word }), { maxLength: 2 }),
  })
  .map((message) => Buffer.from(SessionResponse.encode(SessionResponse.decode(encoded(message))).finish()));

/** Enums and all: the generated encoder takes what the types of this file cannot say. */
function encoded(message: unknown): Uint8Array {
  return SessionResponse.encode(message as SessionResponse).finish();
}

/** Fields of any number and kind within each other: repeated, unknown, merged, out of order. */
const { soup } = fc.letrec<{ soup: Uint8Array; field: Uint8Array }>((tie) => ({
  soup: fc.array(tie('field'), { maxLength: 4, depthIdentifier: 'soup' }).map((fields) => Buffer.concat(fields)),
  field: fc.oneof(
    { maxDepth: 5, depthIdentifier: 'soup' },
    fc.tuple(fc.nat({ max: 9 }), fc.uint8Array({ maxLength: 5 })).map(([number, value]) => varintField(number, value)),
    fc.tuple(fc.nat({ max: 9 }), tie('soup')).map(([number, value]) => bytesField(number, value)),
    fc.tuple(fc.nat({ max: 9 }), fc.uint8Array({ maxLength: 9 })).map(([number, value]) => bytesField(number, value)),
  ),
}));

/** The bytes with all but the last one marked as continued. */
function varintField(number: number, bytes: Uint8Array): Uint8Array {
  return Buffer.from([number << 3, ...Array.from(bytes, (byte) => byte | 0x80), number]);
}

function bytesField(number: number, value: Uint8Array): Uint8Array {
  const length = value.length < 0x80 ? [value.length] : [(value.length & 0x7f) | 0x80, value.length >>> 7];
  return Buffer.concat([Buffer.from([(number << 3) | 2, ...length]), value]);
}

function whatComesOf<T>(read: () => T): unknown {
  try {
    return { value: read() };
  } catch (error) {
    return { error: String(error) };
  }
}

function sameRead(bytes: Buffer): void {
  assert.deepStrictEqual(
    whatComesOf(() => decodeSessionResponse(bytes)),
    whatComesOf(() => SessionResponse.decode(bytes)),
  );
}

describe('the codec of a session', () => {
  it('writes what the generated one writes', () => {
    fc.assert(
      fc.property(request, (message) => {
        assert.deepEqual(encodeSessionRequest(message), Buffer.from(SessionRequest.encode(message).finish()));
      }),
      RUNS,
    );
  });

  it('refuses what the generated one refuses, and writes around it as before', () => {
    const wrong: unknown[] = [-1, 1.5, 2 ** 32, Number.NaN, 'x'];
    for (const id of wrong) {
      const message = { commands: [{ id, call: undefined }] } as unknown as SessionRequest;
      assert.throws(() => SessionRequest.encode(message).finish());
      assert.throws(() => encodeSessionRequest(message), String(id));
    }
  });

  it('reads what the generated one reads', () => {
    fc.assert(fc.property(response, sameRead), RUNS);
  });

  it('reads it alike when it is cut off', () => {
    const cut = fc.tuple(response, fc.double({ min: 0, max: 1, noNaN: true }));
    fc.assert(
      fc.property(cut, ([bytes, part]) => sameRead(bytes.subarray(0, Math.floor(bytes.length * part)))),
      RUNS,
    );
  });

  it('reads it alike when bytes of it are others', () => {
    const change = fc.tuple(fc.nat(), fc.nat({ max: 255 }));
    fc.assert(
      fc.property(response, fc.array(change, { minLength: 1, maxLength: 3 }), (bytes, changes) => {
        for (const [at, byte] of changes) if (bytes.length > 0) bytes[at % bytes.length] = byte;
        sameRead(bytes);
      }),
      RUNS,
    );
  });

  it('reads fields alike that nobody would write so', () => {
    fc.assert(
      fc.property(soup, fc.nat({ max: 3 }), soup, (first, number, second) => {
        const reply = Buffer.concat([varintField(1, new Uint8Array(0)), bytesField(number + 3, first), second]);
        sameRead(Buffer.concat([bytesField(1, reply), bytesField(1, first)]));
      }),
      RUNS,
    );
  });
});
