import { Buffer } from 'node:buffer';
import { crc32 } from 'node:zlib';
import type { Bytes } from '../../../core/contract/model.js';

/** A value as the library shows it: memory of its own, which the next value that is read writes over. */
export interface Shown {
  readonly bytes: Buffer;
  readonly size: number;
}

/** What was read was never written. */
export class NotAValue extends Error {
  override readonly name = 'NotAValue';
}

/** Reads what a ByteWriter wrote. Copies what it returns. */
export class ByteReader {
  #bytes: Buffer = Buffer.alloc(0);
  #at = 0;
  #end = 0;
  #lastQueue = '';

  /** Begins with another value, behind its checksum. */
  show({ bytes, size }: Shown): void {
    if (size < 4) throw new NotAValue(`a value of ${size} bytes`);
    this.#bytes = bytes;
    this.#at = 4;
    this.#end = size;
  }

  /** Where the next byte is to be read. */
  set at(at: number) {
    this.#at = at;
  }

  /** Something is left to be read. */
  get hasMore(): boolean {
    return this.#at < this.#end;
  }

  /** Four bytes at a place. */
  fixed(where: number): number {
    if (where + 4 > this.#end) throw new NotAValue('a value that is cut off');
    return this.#bytes.readUInt32LE(where);
  }

  /** Compares the checksum at the beginning with that of all that follows, and goes on behind it. */
  check(seed: number): void {
    const expected = this.fixed(0);
    // The library says the size of the value by writing over `length`: only a view has the right one for `crc32`.
    const rest = new Uint8Array(this.#bytes.buffer, this.#bytes.byteOffset + 4, this.#end - 4);
    if (crc32(rest, seed) !== expected) throw new NotAValue('a checksum that does not fit');
    this.#at = 4;
  }

  byte(): number {
    this.#need(1);
    // Within the size of the value, as was looked at.
    return this.#bytes[this.#at++] ?? 0;
  }

  number(): number {
    this.#need(8);
    const value = this.#bytes.readDoubleLE(this.#at);
    this.#at += 8;
    return value;
  }

  whole(): number {
    let value = 0;
    for (let weight = 1; weight <= 2 ** 49; weight *= 0x80) {
      const byte = this.byte();
      value += (byte & 0x7f) * weight;
      if (byte < 0x80) return value;
    }
    throw new NotAValue('a number that does not end');
  }

  text(): string {
    const length = this.whole();
    this.#need(length);
    const text = this.#bytes.toString('utf8', this.#at, this.#at + length);
    this.#at += length;
    return text;
  }

  /** A text that is mostly the same as in the value before: then that one, which is there already. */
  queue(): string {
    const start = this.#at;
    const last = this.#lastQueue;
    const length = this.whole();
    this.#need(length);
    let same = length === last.length;
    for (let at = 0; same && at < length; at += 1) same = this.#bytes[this.#at + at] === last.charCodeAt(at);
    if (same) {
      this.#at += length;
      return last;
    }
    this.#at = start;
    this.#lastQueue = this.text();
    return this.#lastQueue;
  }

  bytes(): Bytes {
    const length = this.whole();
    this.#need(length);
    const start = this.#bytes.byteOffset + this.#at;
    this.#at += length;
    return new Uint8Array(this.#bytes.buffer, start, length).slice();
  }

  #need(bytes: number): void {
    if (this.#at + bytes > this.#end) throw new NotAValue('a value that is cut off');
  }
}
