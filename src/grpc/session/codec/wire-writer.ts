/**
 * The wire format of protobuf, as far as the answers of a session need it. The generated encoder wants every answer
 * copied into a message object first, with BigInt for every token and second; that was four tenths of the time of a
 * session. Written straight from the answer a reply costs a sixth.
 *
 * Fields have numbers below 16, so a tag is one byte. What proto3 calls the default value is left out.
 */

import { isByteText, latin1Of, type Payload } from '../../../coordinator.js';
import { LONGEST_DURATION_MS } from '../../convert/time.js';

const VARINT = 0;
const DELIMITED = 2;
const FIRST_BYTES = 1_024;
const MOST_AT_ONCE = 65_536;
const NONE: Buffer = Buffer.alloc(0);
/** A number below 2^53 as a varint. */
const LONGEST_NUMBER = 8;
/** UTF-8 needs at most this many bytes for one UTF-16 unit. */
const BYTES_PER_UNIT = 3;
/** Longer texts are quicker by the engine's own encoder. */
const SHORT_TEXT = 48;
/** The highest bit of a byte says that another one follows; the seven others are the number's. */
const MORE = 0x80;
const FOUR_SEPTETS = 2 ** 28;
const LAST_ASCII = 0x7f;
const NANOS_PER_MS = 1_000_000;
const LAST_NANO = 999_999_999;

export class WireWriter {
  #bytes = NONE;
  #at: number;
  /** How much the last one became: the next begins with as much room. Only the number is kept. */
  #last = 0;

  /** @param front bytes that are left free before what is written: {@link take} gives them along */
  constructor(private readonly front = 0) {
    this.#at = front;
  }

  /** Bytes written and not yet taken. */
  get length(): number {
    return this.#at - this.front;
  }

  /** A whole number from 0 to 2^53-1, or an enum. */
  number(field: number, value: number): void {
    if (value === 0) return;
    this.#reserve(1 + LONGEST_NUMBER);
    this.#bytes[this.#at++] = (field << 3) | VARINT;
    this.#varint(value);
  }

  /** The same, also of zero: which field of a choice it is says something. */
  varint(field: number, value: number): void {
    this.#reserve(1 + LONGEST_NUMBER);
    this.#bytes[this.#at++] = (field << 3) | VARINT;
    this.#varint(value);
  }

  flag(field: number, value: boolean): void {
    this.number(field, value ? 1 : 0);
  }

  text(field: number, value: string): void {
    const units = value.length;
    if (units === 0) return;
    this.#reserve(1 + LONGEST_NUMBER + units * BYTES_PER_UNIT);
    this.#bytes[this.#at++] = (field << 3) | DELIMITED;
    if (units <= SHORT_TEXT && this.#ascii(value)) return;
    this.#varint(Buffer.byteLength(value));
    this.#at += this.#bytes.write(value, this.#at, 'utf8');
  }

  bytes(field: number, value: Uint8Array): void {
    if (value.length > 0) this.message(field, value);
  }

  payload(field: number, value: Payload): void {
    if (!isByteText(value)) return this.bytes(field, value);
    if (value.length === 0) return;
    this.#reserve(1 + LONGEST_NUMBER + value.length);
    this.#bytes[this.#at++] = (field << 3) | DELIMITED;
    this.#varint(value.length);
    this.#at += this.#bytes.write(latin1Of(value), this.#at, 'latin1');
  }

  /** An encoded message; unlike {@link bytes} an empty one is written, because it is there. */
  message(field: number, encoded: Uint8Array): void {
    this.#reserve(1 + LONGEST_NUMBER + encoded.length);
    this.#bytes[this.#at++] = (field << 3) | DELIMITED;
    this.#varint(encoded.length);
    this.#bytes.set(encoded, this.#at);
    this.#at += encoded.length;
  }

  /** A google.protobuf.Duration of so many ms; below zero is zero, and Infinity the longest there is. */
  duration(field: number, ms: number): void {
    this.instant(field, Math.min(Math.max(ms, 0), LONGEST_DURATION_MS));
  }

  /** A google.protobuf.Timestamp of so many ms since the epoch. */
  instant(field: number, ms: number): void {
    const seconds = Math.floor(ms / 1_000);
    const rest = ms - seconds * 1_000;
    const start = this.open(field);
    this.number(1, seconds);
    if (rest > 0) this.number(2, Math.min(Math.round(rest * NANOS_PER_MS), LAST_NANO));
    this.close(start);
  }

  /**
   * Begins a message in a field; its fields follow, then {@link close}.
   * @param expected about how long it gets: a wrong guess only costs a move of its bytes, and room that stays unused
   */
  open(field: number, expected = 0): number {
    this.#reserve(1 + LONGEST_NUMBER + expected);
    this.#bytes[this.#at++] = (field << 3) | DELIMITED;
    this.#at += sizeOf(expected);
    return this.#at;
  }

  /** @param start what {@link open} returned, and `expected` as it was given there */
  close(start: number, expected = 0): void {
    const length = this.#at - start;
    const reserved = sizeOf(expected);
    const needed = sizeOf(length);
    if (needed !== reserved) this.#move(start, needed - reserved);
    const end = this.#at;
    this.#at = start - reserved;
    this.#varint(length);
    this.#at = end;
  }

  /** Whole fields that were written elsewhere. */
  append(encoded: Uint8Array): void {
    this.#reserve(encoded.length);
    this.#bytes.set(encoded, this.#at);
    this.#at += encoded.length;
  }

  /** A copy of what was written beyond this length, which is forgotten here. */
  cut(length: number): Buffer {
    const rest = Buffer.from(this.#bytes.subarray(this.front + length, this.#at));
    this.rewind(length);
    return rest;
  }

  /** Forgets what was written beyond this length. */
  rewind(length: number): void {
    this.#at = this.front + length;
  }

  /** The first bytes, taken out. A stream that has nothing to say keeps no memory. */
  take(length = this.length): Buffer {
    const end = this.front + length;
    const taken = this.#bytes.subarray(0, end);
    const rest = this.#bytes.subarray(end, this.#at);
    this.#last = Math.min(taken.length, MOST_AT_ONCE);
    this.#bytes = NONE;
    this.#at = this.front;
    if (rest.length > 0) this.append(rest);
    return taken;
  }

  #varint(value: number): void {
    const bytes = this.#bytes;
    let at = this.#at;
    let rest = value;
    if (value >= FOUR_SEPTETS) {
      // Bits can be taken of 32 only; a token has 53.
      const high = Math.floor(value / FOUR_SEPTETS);
      const low = value - high * FOUR_SEPTETS;
      bytes[at++] = low | MORE;
      bytes[at++] = (low >>> 7) | MORE;
      bytes[at++] = (low >>> 14) | MORE;
      bytes[at++] = (low >>> 21) | MORE;
      rest = high;
    }
    while (rest >= MORE) {
      bytes[at++] = rest | MORE;
      rest >>>= 7;
    }
    bytes[at++] = rest;
    this.#at = at;
  }

  #ascii(value: string): boolean {
    const bytes = this.#bytes;
    let at = this.#at;
    bytes[at++] = value.length;
    for (let i = 0; i < value.length; i++) {
      const unit = value.charCodeAt(i);
      if (unit > LAST_ASCII) return false;
      bytes[at++] = unit;
    }
    this.#at = at;
    return true;
  }

  #move(start: number, by: number): void {
    this.#reserve(LONGEST_NUMBER);
    this.#bytes.copyWithin(start + by, start, this.#at);
    this.#at += by;
  }

  #reserve(more: number): void {
    const needed = this.#at + more;
    if (needed <= this.#bytes.length) return;
    const larger = Buffer.allocUnsafe(Math.max(FIRST_BYTES, this.#last, this.#bytes.length * 2, needed));
    this.#bytes.copy(larger, 0, 0, this.#at);
    this.#bytes = larger;
  }
}

function sizeOf(length: number): number {
  let size = 1;
  for (let rest = length; rest >= MORE; rest >>>= 7) size += 1;
  return size;
}
