import type { ByteReader } from './byte-reader.js';
import type { ByteWriter } from './byte-writer.js';

/** A byte that says whether there is a value, and the value. */
export function writeOptional<T>(to: ByteWriter, value: T | undefined, write: (this: ByteWriter, value: T) => void) {
  to.byte(value === undefined ? 0 : 1);
  if (value !== undefined) write.call(to, value);
}

export function readOptional<T>(from: ByteReader, read: (this: ByteReader) => T): T | undefined {
  return from.byte() === 0 ? undefined : read.call(from);
}
