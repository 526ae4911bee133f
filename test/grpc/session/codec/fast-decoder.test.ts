/** What a session reads by itself is what the generated decoder would have read, or is left to it. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { bytesOfPayload } from '../../../../src/core/contract/payload.js';
import { fromWireToken } from '../../../../src/grpc/convert/time.js';
import { refuseMalformedText } from '../../../../src/grpc/convert/utf8.js';
import { Command, type Command as CommandMessage } from '../../../../src/grpc/gen/keyturn/v1/coordinator.js';
import {
  type Call,
  type Command as FastCommand,
  FastDecoder,
} from '../../../../src/grpc/session/codec/fast-decoder.js';
import { Commands } from '../../../../src/grpc/session/codec/reader.js';

refuseMalformedText();

const text = fc.oneof(
  { weight: 6, arbitrary: fc.string({ unit: fc.constantFrom('a', 'b', '7'), maxLength: 6 }) },
  { weight: 6, arbitrary: fc.string({ unit: 'grapheme-ascii', maxLength: 200 }) },
  fc.string({ unit: 'grapheme', maxLength: 40 }),
);
/** Of several scripts; of some the UTF-16 units are the UTF-8 bytes of another: "é" is C3 A9, and so is "Ã©". */
const TEXTS = [
  ...[
    'é',
    'Ã©',
    'ã\u0081\u0093',
    'こ',
    'Ж',
    'Ð\u0096',
    'é1',
    '\u0080',
    'Â\u0080',
    'ÿ',
    '\u00ff\u00fe',
    '😀',
    'ð\u009f\u0098\u0080',
  ],
  ...[
    'שלום',
    'مرحبا',
    'ไทย',
    '한국',
    'नमस्ते',
    'Ελλάδα',
    'łódź',
    'a',
    'ab',
    'a'.repeat(48),
    'é'.repeat(24),
    '\ufeffk',
    '\u0000',
  ],
];

const textOrLike = fc
  .constantFrom(...TEXTS)
  .chain((one) =>
    fc.constantFrom(one, Buffer.from(one, 'utf8').toString('latin1'), Buffer.from(one, 'latin1').toString('utf8')),
  );
const bytes = fc.uint8Array({ maxLength: 300 });
const token = fc.oneof(
  fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
  fc.constantFrom(...[7n, 14n, 21n, 28n, 35n, 49n, 53n, 56n, 63n].flatMap((bits) => [2n ** bits - 1n, 2n ** bits])),
);
const duration = fc.option(fc.record({ seconds: fc.bigInt({ min: -9n, max: 9n }), nanos: fc.nat(10) }), {
  nil: undefined,
});
const usual = <T>(value: fc.Arbitrary<T>, absent: T) => fc.oneof({ weight: 3, arbitrary: fc.constant(absent) }, value);
const headers = usual(
  fc.array(fc.tuple(text, text), { maxLength: 3 }).map((entries) => new Map(entries)),
  new Map<string, string>(),
);
const item = fc.record({
  key: text,
  payload: bytes,
  headers,
  itemId: usual(text, ''),
  idempotencyKey: usual(text, ''),
  delay: usual(duration, undefined),
  after: usual(fc.array(fc.record({ queue: text, itemId: text }), { maxLength: 2 }), []),
  afterUnknown: usual(fc.nat(3), 0),
});
const enqueue = fc.record({
  queue: text,
  key: text,
  consumerId: usual(text, ''),
  ticket: text,
  wait: duration,
  lease: duration,
  idempotencyKey: usual(text, ''),
});
const holder = fc.option(
  fc.oneof(
    fc.record({ $case: fc.constant('token' as const), value: token }),
    fc.record({ $case: fc.constant('ticket' as const), value: text }),
  ),
  { nil: undefined },
);
const dequeue = fc.record({ queue: text, key: text, holder, abandoned: fc.boolean(), result: bytes });
const submit = fc.record({
  queue: text,
  items: fc.array(item, { maxLength: 5 }),
  waitForRoom: usual(duration, undefined),
  durability: usual(fc.nat(5), 0),
});
const ack = fc.record({
  queue: text,
  key: text,
  token,
  result: usual(bytes, new Uint8Array(0)),
  followUps: usual(fc.array(fc.record({ queue: text, item: usual(item, undefined as never) }), { maxLength: 2 }), []),
  next: fc.constant(undefined),
});
const call: fc.Arbitrary<CommandMessage['call']> = fc.oneof(
  enqueue.map((value) => ({ $case: 'enqueue', value }) as const),
  dequeue.map((value) => ({ $case: 'dequeue', value }) as const),
  submit.map((value) => ({ $case: 'submit', value }) as const),
  ack.map((value) => ({ $case: 'ack', value }) as const),
  fc.constant({ $case: 'cancel', value: { id: 7, leave: true } } as const),
  fc.constant(undefined),
);
const command: fc.Arbitrary<CommandMessage> = fc.record({ id: usual(fc.nat(2 ** 32 - 1), 300), call });

/** Changes that break a message, or say the same in another way: what no encoder of ours writes. */
type Change = (written: Buffer) => Buffer;
const change: fc.Arbitrary<Change> = fc.oneof(
  fc.tuple(fc.nat(), fc.nat(255)).map(
    ([at, byte]): Change =>
      (written) => {
        const changed = Buffer.from(written);
        if (changed.length > 0) changed[at % changed.length] = byte;
        return changed;
      },
  ),
  fc.nat().map(
    (at): Change =>
      (written) =>
        written.subarray(0, at % (written.length + 1)),
  ),
  fc.tuple(fc.nat(), bytes).map(
    ([at, more]): Change =>
      (written) => {
        const cut = at % (written.length + 1);
        return Buffer.concat([written.subarray(0, cut), more.subarray(0, 12), written.subarray(cut)]);
      },
  ),
  // Fields once more: of two texts the last counts, lists grow, messages of a oneof replace one another.
  command.map(
    (other): Change =>
      (written) =>
        Buffer.concat([written, encoded(other)]),
  ),
);

describe('a command read by the fast decoder', () => {
  it('is what the generated decoder reads', () => {
    const reader = new FastDecoder();
    let count = 0;
    fc.assert(
      fc.property(command, (message) => {
        const written = encoded(message);
        const read = reader.read(written, 0, written.length);
        if (read === undefined) return;
        count += 1;
        assert.deepEqual(plain(read), plain(Command.decode(written)));
      }),
      { numRuns: 3_000 },
    );
    assert.ok(count > 300, `only ${count} of 3,000 were read by the fast decoder`);
  });

  it('says of whatever bytes what the generated decoder says', () => {
    const reader = new FastDecoder();
    fc.assert(
      fc.property(command, fc.array(change, { minLength: 1, maxLength: 3 }), (message, changes) => {
        const written = changes.reduce((bytesSoFar, apply) => apply(bytesSoFar), encoded(message));
        const read = reader.read(written, 0, written.length);
        if (read !== undefined) assert.deepEqual(plain(read), plain(Command.decode(written)));
      }),
      { numRuns: 20_000 },
    );
  });

  it('is what the generated decoder reads of texts of every script, and of those whose units are their bytes', () => {
    for (const key of TEXTS.flatMap((one) => [one, Buffer.from(one, 'utf8').toString('latin1')])) {
      const value = { queue: 'q', key, token: 1n, result: new Uint8Array(0), followUps: [], next: undefined };
      const written = encoded({ id: 1, call: { $case: 'ack', value } });
      const read = new FastDecoder().read(written, 0, written.length);
      if (read !== undefined) assert.deepEqual(plain(read), plain(Command.decode(written)));
    }
    const reader = new FastDecoder();
    fc.assert(
      fc.property(ack, textOrLike, textOrLike, (value, queue, key) => {
        const written = encoded({ id: 1, call: { $case: 'ack', value: { ...value, queue, key } } });
        const read = reader.read(written, 0, written.length);
        if (read !== undefined) assert.deepEqual(plain(read), plain(Command.decode(written)));
      }),
      { numRuns: 3_000 },
    );
  });

  it('leaves bytes that are no UTF-8 to the generated decoder', () => {
    for (const one of TEXTS) {
      const raw = Buffer.from(one, 'latin1');
      const fields = Buffer.concat([Buffer.from([0x0a, 1, 0x71, 0x12, raw.length]), raw, Buffer.from([0x18, 1])]);
      const written = Buffer.concat([Buffer.from([0x08, 1, 0x32, fields.length]), fields]);
      const read = new FastDecoder().read(written, 0, written.length);
      if (read !== undefined) assert.deepEqual(plain(read), plain(Command.decode(written)));
    }
  });

  it('is the same in the middle of a message', () => {
    fc.assert(
      fc.property(fc.array(command, { minLength: 2, maxLength: 6 }), (messages) => {
        const written = Buffer.concat(messages.map((message) => framed(encoded(message))));
        const commands = new Commands(written, new FastDecoder());
        for (const message of messages) {
          const next = commands.next();
          assert.deepEqual(next && plain(next), plain(Command.decode(encoded(message))));
        }
        assert.equal(commands.next(), undefined);
      }),
    );
  });

  it('does not reach beyond its end', () => {
    const written = encoded({ id: 1, call: { $case: 'cancel', value: { id: 1, leave: false } } });
    assert.equal(new FastDecoder().read(written, 0, written.length + 1), undefined);
  });

  it('has payloads of its own: the message they came in may go', () => {
    const value = {
      queue: 'q',
      items: [{ ...plainItem, payload: Buffer.from('abc') }],
      waitForRoom: undefined,
      durability: 0,
    };
    const written = encoded({ id: 1, call: { $case: 'submit', value } });
    const read = new FastDecoder().read(written, 0, written.length)?.call;
    written.fill(0);
    assert.ok(read?.$case === 'submit' && read.value.items[0]?.isKept);
    assert.deepEqual(Buffer.from(bytesOfPayload(read.value.items[0].payload)), Buffer.from('abc'));
  });

  it('names each of several keys that are alike by its own name', () => {
    const reader = new FastDecoder();
    for (const key of ['a-00001', 'b-00001', 'a-00001', '\u0000', '', 'é-00001', 'a-00001']) {
      const value = { queue: 'q', key, token: 1n, result: new Uint8Array(0), followUps: [], next: undefined };
      const written = encoded({ id: 1, call: { $case: 'ack', value } });
      const read = reader.read(written, 0, written.length) ?? Command.decode(written);
      assert.ok(read.call?.$case === 'ack');
      assert.equal(read.call.value.key, key);
    }
  });
});

const plainItem = {
  key: 'k',
  headers: new Map<string, string>(),
  itemId: '',
  idempotencyKey: '',
  delay: undefined,
  after: [],
  afterUnknown: 0,
};

function encoded(message: CommandMessage): Buffer {
  return Buffer.from(Command.encode(message).finish());
}

/** As a command of a SessionRequest. */
function framed(message: Buffer): Buffer {
  const length: number[] = [];
  for (let rest = message.length; ; rest >>>= 7) {
    length.push(rest >= 0x80 ? (rest & 0x7f) | 0x80 : rest);
    if (rest < 0x80) break;
  }
  return Buffer.concat([Buffer.from([(1 << 3) | 2, ...length]), message]);
}

/** Tokens as the port has them, bytes as bytes, and no word of who keeps a payload. */
function plain({ id, call: read }: FastCommand): unknown {
  return { id, call: read && { $case: read.$case, value: plainValue(read) } };
}

function plainValue(read: Call): unknown {
  switch (read.$case) {
    case 'ack':
      return {
        ...read.value,
        token: fromWireToken(read.value.token),
        result: [...read.value.result],
        followUps: read.value.followUps.map((followUp) => ({
          ...followUp,
          item: followUp.item && plainOf(followUp.item),
        })),
      };
    case 'dequeue': {
      const by = read.value.holder;
      const named = by?.$case === 'token' ? { ...by, value: fromWireToken(by.value) } : by;
      return { ...read.value, holder: named, result: [...read.value.result] };
    }
    case 'submit':
      return { ...read.value, items: read.value.items.map(plainOf) };
    default:
      return read.value;
  }
}

function plainOf({ key, payload, headers: named, itemId, idempotencyKey, delay }: ItemLike): unknown {
  return { key, payload: [...bytesOfPayload(payload)], headers: [...named], itemId, idempotencyKey, delay };
}

type ItemLike = Extract<Call, { readonly $case: 'submit' }>['value']['items'][number];
