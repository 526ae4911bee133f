/** What is kept of a request holds no memory but its own, however many requests came with it. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { DEFAULT_LIMITS } from '../../../src/core/contract/limits.js';
import { bytesOfPayload, isByteText, type Payload, SMALL_PAYLOAD } from '../../../src/core/contract/payload.js';
import { ackRequest, deQueueRequest, readAck, readSubmit, submitRequest } from '../../../src/grpc/convert/requests.js';
import { Check } from '../../../src/grpc/convert/validate.js';
import {
  AckRequest,
  Command,
  DeQueueRequest,
  NewItem,
  SubmitRequest,
} from '../../../src/grpc/gen/keyturn/v1/coordinator.js';
import { FastDecoder } from '../../../src/grpc/session/codec/fast-decoder.js';

const CALLER = { waiting: 0, getPeer: () => 'peer', getDeadline: () => Number.POSITIVE_INFINITY };
const BYTES = new Uint8Array(80).fill(7);
const SIZES = [1, 63, 64, 65, 80, SMALL_PAYLOAD, SMALL_PAYLOAD + 1, 4_095, 4_096, 100_000];

function check(): Check {
  return new Check(DEFAULT_LIMITS);
}

/** A small payload is a text, which has no memory but its own. */
function isOwnPayload(payload: Payload | undefined, size: number): void {
  assert.equal(payload !== undefined && isByteText(payload), size <= SMALL_PAYLOAD);
  if (payload !== undefined && isByteText(payload))
    assert.deepEqual(bytesOfPayload(payload), new Uint8Array(size).fill(7));
  else isOwn(payload, size);
}

function isOwn(bytes: Uint8Array | undefined, size: number): void {
  assert.ok(bytes);
  assert.deepEqual([bytes.length, bytes.buffer.byteLength], [size, size]);
  assert.ok(bytes.every((byte) => byte === 7));
}

/** As it comes over the network: in the middle of something larger. */
function received(message: Uint8Array): Buffer {
  return Buffer.concat([Buffer.alloc(3), message, Buffer.alloc(5)]).subarray(3, 3 + message.length);
}

const EMPTY = new Uint8Array(0);

function itemOf(payload: Uint8Array, key = 'k'): NewItem {
  return { ...NewItem.decode(EMPTY), key, payload, itemId: 'i' };
}

function submitOf(payload: Uint8Array, key = 'k'): SubmitRequest {
  return { ...SubmitRequest.decode(EMPTY), queue: 'q', items: [itemOf(payload, key)] };
}

function ackOf(result: Uint8Array): AckRequest {
  const followUps = [{ queue: 'q', item: itemOf(result) }];
  return { ...AckRequest.decode(EMPTY), queue: 'q', key: 'k', token: 5n, result, followUps };
}

describe('memory of its own', () => {
  for (const size of SIZES) {
    const bytes = new Uint8Array(size).fill(7);

    it(`${size} bytes: payloads and results of unary calls`, () => {
      const submit = SubmitRequest.encode(submitOf(bytes)).finish();
      isOwnPayload(submitRequest(SubmitRequest.decode(received(submit)), check(), CALLER).items[0]?.payload, size);
      const ack = AckRequest.encode(ackOf(bytes)).finish();
      const read = ackRequest(AckRequest.decode(received(ack)), check(), CALLER);
      isOwn(read.result, size);
      isOwnPayload(read.followUps[0]?.item.payload, size);
      const holder = { $case: 'token', value: 1n } as const;
      const done = { queue: 'q', key: 'k', holder, abandoned: false, result: bytes };
      isOwn(
        deQueueRequest(DeQueueRequest.decode(received(DeQueueRequest.encode(done).finish())), check()).result,
        size,
      );
    });

    it(`${size} bytes: those of a session, read by itself or by the generated decoder`, () => {
      const asks = [
        submitOf(bytes),
        // Text that is not ASCII is left to the generated decoder.
        submitOf(bytes, 'é'),
      ];
      for (const ask of asks) {
        const message = received(Command.encode({ id: 1, call: { $case: 'submit', value: ask } }).finish());
        const call = (new FastDecoder().read(message, 0, message.length) ?? Command.decode(message)).call;
        assert.ok(call?.$case === 'submit');
        isOwnPayload(submitRequest(call.value, check(), CALLER).items[0]?.payload, size);
      }
      const value = { ...ackOf(bytes), followUps: [] };
      const message = received(Command.encode({ id: 1, call: { $case: 'ack', value } }).finish());
      const call = new FastDecoder().read(message, 0, message.length)?.call;
      assert.ok(call?.$case === 'ack');
      isOwn(ackRequest(call.value, check(), CALLER).result, size);
    });
  }

  it('a unary call that waits holds no second copy: its message is let go of', () => {
    const submit = submitOf(BYTES);
    assert.equal(readSubmit(submit, check(), CALLER).items.length, 1);
    assert.deepEqual(submit.items, []);
    const ack = ackOf(BYTES);
    const read = readAck(ack, check(), CALLER);
    assert.deepEqual([read.result?.length, read.followUps.length], [80, 1]);
    assert.deepEqual([ack.result.length, ack.followUps.length], [0, 0]);
  });
});
