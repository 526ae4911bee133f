/** Fields of a message in bytes, read one after another. */
import { TextDecoder } from 'node:util';
import type { Duration } from '../gen/google/protobuf/duration.js';

/** Thrown by a reader and caught by its owner; an error with a stack would be dear, and is never read. */
export const SURPRISE = Symbol('to be read by the generated decoder');

/** Tags of fields, by their number and how they are written. */
export const VARINT_1 = 0x08;
export const VARINT_2 = 0x10;
export const VARINT_3 = 0x18;
export const VARINT_4 = 0x20;
export const VARINT_5 = 0x28;
export const VARINT_6 = 0x30;
export const VARINT_7 = 0x38;
export const BYTES_1 = 0x0a;
export const BYTES_2 = 0x12;
export const BYTES_3 = 0x1a;
export const BYTES_4 = 0x22;
export const BYTES_5 = 0x2a;
export const BYTES_6 = 0x32;
export const BYTES_7 = 0x3a;
export const BYTES_8 = 0x42;

/** The highest bit of a byte says that another one follows; the seven others are the number's. */
const MORE = 0x80;
const SEPTET = 0x7f;
const LONGEST_NUMBER = 8;
const MOST_INT32 = 0x7fffffff;

/** As the generated decoder's own: it keeps a byte order mark. */
const utf8 = new TextDecoder('utf-8', { ignoreBOM: true });

/** Throws {@link SURPRISE} for whatever is rare or wrong. */
export class FieldReader {
  /** Where the next byte is read. */
  protected at = 0;
  /** Items of one batch were submitted at one moment, and their turns have one lease. */
  #last: Duration = { seconds: 0n, nanos: 0 };
  #lastSeconds = 0;

  constructor(protected readonly bytes: Buffer) {}

  protected tag(): number | undefined {
    return this.bytes[this.at++];
  }

  /** Of a duration or an instant, which look alike. */
  protected time(end: number): Duration {
    let seconds = 0;
    let nanos = 0;
    while (this.at < end) {
      const tag = this.tag();
      if (tag === VARINT_1) seconds = this.number();
      else if (tag === VARINT_2) nanos = this.uint();
      else throw SURPRISE;
    }
    this.done(end, undefined);
    if (seconds !== this.#lastSeconds || nanos !== this.#last.nanos) {
      this.#last = { seconds: BigInt(seconds), nanos };
      this.#lastSeconds = seconds;
    }
    return this.#last;
  }

  /** A field that began in a message may not go on beyond it. */
  protected done<T>(end: number, message: T): T {
    if (this.at !== end) throw SURPRISE;
    return message;
  }

  /** Reads the length of a field. @returns where it ends */
  protected end(within: number): number {
    const length = this.uint();
    const end = this.at + length;
    if (end > within) throw SURPRISE;
    return end;
  }

  protected rest(end: number): Buffer {
    const rest = this.bytes.subarray(this.at, end);
    this.at = end;
    return rest;
  }

  protected text(within: number): string {
    const end = this.end(within);
    const { bytes } = this;
    const start = this.at;
    this.at = end;
    for (let at = start; at < end; at++) {
      if ((bytes[at] ?? MORE) >= MORE) return utf8.decode(bytes.subarray(start, end));
    }
    return bytes.toString('latin1', start, end);
  }

  /** From 0 to 2^31-1. */
  protected uint(): number {
    const first = this.bytes[this.at];
    if (first !== undefined && first < MORE) {
      this.at += 1;
      return first;
    }
    const value = this.number();
    if (value > MOST_INT32) throw SURPRISE;
    return value;
  }

  /** From 0 to 2^53-1. */
  protected number(): number {
    let value = 0;
    let scale = 1;
    for (let read = 0; read < LONGEST_NUMBER; read++) {
      const byte = this.bytes[this.at++];
      if (byte === undefined) throw SURPRISE;
      value += (byte & SEPTET) * scale;
      if (byte < MORE) {
        if (value > Number.MAX_SAFE_INTEGER) throw SURPRISE;
        return value;
      }
      scale *= MORE;
    }
    throw SURPRISE;
  }
}
