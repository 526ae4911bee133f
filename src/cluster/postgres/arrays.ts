/** Arrays as PostgreSQL reads them in binary: half the bytes, and none of the escapes, of the same as text. */
import { Buffer } from 'node:buffer';

const HEAD = 20;
const EMPTY = 12;
const SMALLINT = 21;
const BYTEA = 17;

/** @param values each in memory of its own or not: they are copied */
export function byteaArray(values: readonly Buffer[]): Buffer {
  const bytes = values.reduce((sum, value) => sum + 4 + value.length, 0);
  const array = begin(BYTEA, values.length, bytes);
  let at = HEAD;
  for (const value of values) {
    at = array.writeInt32BE(value.length, at);
    at += value.copy(array, at);
  }
  return array;
}

export function smallintArray(values: readonly number[]): Buffer {
  const array = begin(SMALLINT, values.length, values.length * 6);
  let at = HEAD;
  for (const value of values) {
    at = array.writeInt32BE(2, at);
    at = array.writeInt16BE(value, at);
  }
  return array;
}

/** The values of an array that was made here. Parts of its memory. */
export function* elementsOf(array: Buffer): Generator<Buffer> {
  if (array.length === EMPTY) return;
  for (let at = HEAD; at < array.length; ) {
    const length = array.readInt32BE(at);
    yield array.subarray(at + 4, at + 4 + length);
    at += 4 + length;
  }
}

/** An array of no elements has no dimension. */
function begin(type: number, count: number, bytes: number): Buffer {
  // Not of the pool: it is kept for a minute, with nothing beside it.
  const array = Buffer.allocUnsafeSlow(count === 0 ? EMPTY : HEAD + bytes);
  array.writeInt32BE(count === 0 ? 0 : 1, 0);
  array.writeInt32BE(0, 4);
  array.writeInt32BE(type, 8);
  if (count === 0) return array;
  array.writeInt32BE(count, 12);
  array.writeInt32BE(1, 16);
  return array;
}
