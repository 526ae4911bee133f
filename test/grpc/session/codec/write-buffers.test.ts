import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { KnownTexts } from '../../../../src/grpc/session/codec/known-texts.js';
import { WriteBuffers } from '../../../../src/grpc/session/codec/write-buffers.js';
import { Outgoing } from '../../../../src/grpc/session/outgoing.js';

const LARGE = 10_000;

describe('buffers to write into', () => {
  it('have at least the bytes that were asked for', () => {
    const buffers = new WriteBuffers();
    for (const bytes of [1, 4_096, 4_097, 16_384, 16_385, 3_000_000]) assert.ok(buffers.take(bytes).length >= bytes);
  });

  it('are used again once they were given back, whole, whatever part of them was', () => {
    const buffers = new WriteBuffers();
    const first = buffers.take(LARGE);
    assert.notEqual(buffers.take(LARGE).buffer, first.buffer);
    buffers.giveBack(first.subarray(0, 1));
    const again = buffers.take(LARGE);
    assert.equal(again.buffer, first.buffer);
    assert.equal(again.length, first.length);
  });

  it('are not those of others', () => {
    const buffers = new WriteBuffers();
    const foreign = Buffer.allocUnsafeSlow(16_384);
    buffers.giveBack(foreign);
    assert.notEqual(buffers.take(LARGE).buffer, foreign.buffer);
  });

  it('are kept up to a bound', () => {
    const buffers = new WriteBuffers();
    const taken = Array.from({ length: 40 }, () => buffers.take(LARGE));
    for (const one of taken) buffers.giveBack(one);
    const known = new Set(taken.map(({ buffer }) => buffer));
    const again = Array.from({ length: 40 }, () => buffers.take(LARGE));
    assert.equal(again.filter(({ buffer }) => known.has(buffer)).length, 16);
  });

  it('are written over only when their message has left', () => {
    const out = new Outgoing(new KnownTexts(), new WriteBuffers());
    const tell = (byte: number) => {
      out.error(1, Buffer.alloc(LARGE, byte));
      return out.next()?.bytes ?? Buffer.alloc(0);
    };
    const first = tell(1);
    const before = Buffer.from(first);
    const second = tell(2);
    assert.deepEqual(first, before);
    out.taken();
    const third = tell(3);
    assert.equal(third.buffer, first.buffer);
    assert.equal(second.at(-1), 2);
  });
});
