/** A payload is the same wherever it goes, kept as bytes or as a text: what is written of it is equal, byte by byte. */
import assert from 'node:assert/strict';
import { Buffer } from 'node:buffer';
import { describe, it } from 'node:test';
import { bytesOfPayload, type Payload, SMALL_PAYLOAD } from '../../../src/core/contract/payload.js';
import { contentHashOf, weightOf } from '../../../src/core/items/content.js';
import { acquireResponse } from '../../../src/grpc/convert/answers.js';
import { ownBytes, ownPayload } from '../../../src/grpc/convert/own-bytes.js';
import { AcquireResponse } from '../../../src/grpc/gen/keyturn/v1/coordinator.js';
import { writeSubmitRequest } from '../../../src/grpc/peer/codec/requests.js';
import { fromBytes, payload as payloadShape, toBytes } from '../../../src/grpc/peer/codec/shapes.js';
import { writeAcquire } from '../../../src/grpc/session/codec/answers.js';
import { WireWriter } from '../../../src/grpc/session/codec/wire-writer.js';
import { ByteWriter } from '../../../src/local/journal/codec/byte-writer.js';
import { writeContentFields } from '../../../src/local/journal/codec/item-codec.js';
import { newItem } from '../../support/builders.js';

/** Every byte there is, and sizes around the limits of lengths, of growth, and of what is small. */
const SIZES = [0, 1, 2, 3, 4, 5, 127, 128, 256, 300, 511, 512, SMALL_PAYLOAD - 1, SMALL_PAYLOAD];

const WRITERS: Readonly<Record<string, (payload: Payload) => Uint8Array>> = {
  'an answer of a session': (payload) => wire((out) => writeAcquire(out, { deliveries: [delivery(payload)] })),
  'an answer of a unary call': (payload) =>
    AcquireResponse.encode(acquireResponse({ deliveries: [delivery(payload)] })).finish(),
  'a request to another sidecar': (payload) =>
    wire((out) =>
      writeSubmitRequest(out, {
        queue: 'q',
        items: [newItem({ payload }), newItem({ payload })],
        waitForRoom: 0,
        durability: undefined,
      }),
    ),
  'words between sidecars': (payload) => toBytes(payloadShape, payload),
  'a row of the journal': (payload) => {
    const to = new ByteWriter();
    to.begin();
    writeContentFields(to, { payload, headers: undefined });
    return to.end().subarray(4);
  },
  'what tells a resend': (payload) =>
    Buffer.from(`${contentHashOf({ key: 'k', payload, headers: undefined, idempotencyKey: 'i' })}`),
  'what is charged': (payload) =>
    Buffer.from(`${weightOf({ key: 'k', payload, headers: undefined, idempotencyKey: 'i' }, 7)}`),
};

describe('a payload, as bytes and as a text', () => {
  for (const [what, write] of Object.entries(WRITERS))
    it(`is the same in ${what}`, () => {
      for (const size of SIZES) {
        const bytes = bytesOf(size);
        const text = ownPayload(bytes);
        assert.equal(typeof text, 'string');
        assert.equal(text.length, size);
        assert.deepEqual(Buffer.from(write(text)), Buffer.from(write(ownBytes(bytes))), `${size} bytes`);
      }
    });

  it('comes back as the bytes that it was made of, also out of the middle of others', () => {
    for (const size of SIZES) {
      const bytes = bytesOf(size);
      const around = Buffer.concat([Buffer.from([9, 9, 9]), bytes, Buffer.from([9])]);
      const text = ownPayload(around, 3, 3 + size);
      around.fill(0);
      assert.deepEqual(bytesOfPayload(text), Uint8Array.from(bytes));
    }
  });

  it('is bytes of its own above that', () => {
    const payload = ownPayload(bytesOf(SMALL_PAYLOAD + 1));
    assert.ok(payload instanceof Uint8Array);
    assert.equal(payload.buffer.byteLength, SMALL_PAYLOAD + 1);
  });

  it('is read by another sidecar as it was written', () => {
    for (const size of SIZES) {
      const read = fromBytes(payloadShape, Buffer.from(toBytes(payloadShape, ownPayload(bytesOf(size)))));
      assert.deepEqual(bytesOfPayload(read), Uint8Array.from(bytesOf(size)));
    }
  });
});

function bytesOf(size: number): Buffer {
  return Buffer.from(Uint8Array.from({ length: size }, (_, at) => at % 256));
}

function wire(write: (out: WireWriter) => void): Uint8Array {
  const out = new WireWriter();
  write(out);
  return out.take();
}

function delivery(payload: Payload) {
  const turn = { queue: 'q', key: 'k', token: 5, lease: 1_000, leaseExpiresAt: 2_000, attempt: 1 };
  const item = { itemId: 'i', payload, headers: undefined, idempotencyKey: undefined, submittedAt: 7, attempt: 1 };
  return { turn, items: [item, item] };
}
