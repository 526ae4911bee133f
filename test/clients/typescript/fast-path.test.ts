import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { wireAck, wireDeQueue, wireEnQueue, wireSubmit } from '#client/wire/requests';
import { encodeSessionRequest } from '#client/wire/session-encoder';
import type { Command } from '../../../src/grpc/gen/keyturn/v1/coordinator.js';
import { FastDecoder } from '../../../src/grpc/session/codec/fast-decoder.js';
import { Commands } from '../../../src/grpc/session/codec/reader.js';

const ITEM = { key: 'k', payload: Buffer.from('x'), itemId: 'i', idempotencyKey: 'b', delay: 50 };

const USUAL: Readonly<Record<string, NonNullable<Command['call']>>> = {
  enQueue: { $case: 'enqueue', value: wireEnQueue({ queue: 'q', key: 'k', ticket: 't', wait: 1_000 }) },
  deQueue: { $case: 'dequeue', value: wireDeQueue({ queue: 'q', key: 'k', token: 7 }) },
  submit: { $case: 'submit', value: wireSubmit({ queue: 'q', items: [ITEM, { payload: Buffer.from('y') }] }) },
  ack: { $case: 'ack', value: wireAck({ queue: 'q', key: 'k', token: 7, result: Buffer.from('r') }) },
};

describe('what the client usually writes is what the sidecar reads quickly', () => {
  for (const [name, call] of Object.entries(USUAL)) {
    it(name, () => {
      const decoder = new FastDecoder();
      const read: unknown[] = [];
      const ask = decoder.read.bind(decoder);
      decoder.read = (bytes, start, end) => {
        const command = ask(bytes, start, end);
        read.push(command?.call?.$case);
        return command;
      };
      const message = Buffer.from(encodeSessionRequest({ commands: [{ id: 5, call }] }));
      assert.equal(new Commands(message, decoder).next()?.id, 5);
      assert.deepEqual(read, [call.$case]);
    });
  }
});
