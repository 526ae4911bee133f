/**
 * Messages of a session, byte for byte as the generated encoder writes them, in a third of its time. The calls that come by
 * the hundred thousand are written here, straight into the message that travels; all others, and calls that hold what their
 * types do not allow, are left to the generated one.
 */
import type { Duration } from '../gen/google/protobuf/duration.js';
import * as wire from '../gen/keyturn/v1/coordinator.js';

const VARINT = 0;
const DELIMITED = 2;
/** The highest bit of a byte says that another one follows; the seven others are the number's. */
const MORE = 0x80;
const FOUR_SEPTETS = 2 ** 28;
const LAST_ASCII = 0x7f;
/** A tag and a number below 2^53. */
const LONGEST_NUMBER = 9;
/** UTF-8 needs at most this many bytes for one UTF-16 unit. */
const BYTES_PER_UNIT = 3;
/** Longer texts are quicker by the engine's own encoder. */
const SHORT_TEXT = 48;
const FIRST_BYTES = 1_024;
const MOST_UINT32 = 0xffffffff;
const MOST_NUMBER = BigInt(Number.MAX_SAFE_INTEGER);

/** Thrown here and caught here: the generated encoder is to write it, or to say what is wrong. */
const SURPRISE = Symbol('to be written by the generated encoder');

let lastLength = 0;

export function encodeSessionRequest({ commands }: wire.SessionRequest): Buffer {
  const encoder = new SessionEncoder(Math.max(FIRST_BYTES, lastLength));
  for (const command of commands) encoder.command(command);
  const bytes = encoder.finish();
  // The next one is begun with as much room; a very large one is an exception.
  lastLength = Math.min(bytes.length, 65_536);
  return bytes;
}

class SessionEncoder {
  #bytes: Buffer;
  #at = 0;

  constructor(room: number) {
    this.#bytes = Buffer.allocUnsafe(room);
  }

  finish(): Buffer {
    return this.#bytes.subarray(0, this.#at);
  }

  command(command: wire.Command): void {
    const before = this.#at;
    const start = this.#open(1, 64);
    try {
      this.#uint(1, command.id);
      this.#call(command.call);
      this.#close(start, 64);
    } catch (error) {
      if (error !== SURPRISE) throw error;
      this.#at = before;
      this.#message(1, wire.Command.encode(command).finish());
    }
  }

  #call(call: wire.Command['call']): void {
    switch (call?.$case) {
      case 'enqueue':
        return this.#enQueue(call.value);
      case 'dequeue':
        return this.#deQueue(call.value);
      case 'submit':
        return this.#submit(call.value);
      case 'acquire':
        return this.#acquire(5, call.value);
      case 'ack':
        return this.#ack(call.value);
      default:
        throw SURPRISE;
    }
  }

  #enQueue(call: wire.EnQueueRequest): void {
    const start = this.#open(2);
    this.#text(1, call.queue);
    this.#text(2, call.key);
    this.#text(3, call.consumerId);
    this.#text(4, call.ticket);
    this.#duration(5, call.wait);
    this.#duration(6, call.lease);
    this.#text(7, call.idempotencyKey);
    this.#close(start);
  }

  #deQueue(call: wire.DeQueueRequest): void {
    const { holder } = call;
    // Others are rare, and what a oneof holds is written even if it is zero.
    if (holder?.$case !== 'token' || holder.value === 0n) throw SURPRISE;
    const start = this.#open(3);
    this.#text(1, call.queue);
    this.#text(2, call.key);
    this.#token(3, holder.value);
    if (call.abandoned) this.#uint(5, 1);
    this.#data(6, call.result);
    this.#close(start);
  }

  #submit(call: wire.SubmitRequest): void {
    const expected = 256 * call.items.length;
    const start = this.#open(4, expected);
    this.#text(1, call.queue);
    for (const item of call.items) this.#item(2, item);
    this.#duration(3, call.waitForRoom);
    this.#uint(4, call.durability);
    this.#close(start, expected);
  }

  #item(field: number, item: wire.NewItem): void {
    if (item.after.length > 0) throw SURPRISE;
    const expected = item.payload.length + item.key.length + item.itemId.length + 8;
    const start = this.#open(field, expected);
    this.#text(1, item.key);
    this.#data(2, item.payload);
    if (item.headers.size > 0) item.headers.forEach(this.#header, this);
    this.#text(4, item.itemId);
    this.#text(5, item.idempotencyKey);
    this.#duration(6, item.delay);
    this.#uint(8, item.afterUnknown);
    this.#close(start, expected);
  }

  #header(value: string, name: string): void {
    const start = this.#open(3);
    this.#text(1, name);
    this.#text(2, value);
    this.#close(start);
  }

  #acquire(field: number, call: wire.AcquireRequest): void {
    const start = this.#open(field);
    for (const queue of call.queues) {
      if (queue === '') throw SURPRISE;
      this.#text(1, queue);
    }
    this.#text(2, call.key);
    this.#text(3, call.consumerId);
    this.#text(4, call.ticket);
    this.#uint(5, call.maxTurns);
    this.#uint(6, call.maxItemsPerTurn);
    this.#duration(7, call.wait);
    this.#duration(8, call.lease);
    this.#close(start);
  }

  #ack(call: wire.AckRequest): void {
    const start = this.#open(6);
    this.#text(1, call.queue);
    this.#text(2, call.key);
    this.#token(3, call.token);
    this.#data(4, call.result);
    for (const followUp of call.followUps) {
      if (followUp.item === undefined) throw SURPRISE;
      const opened = this.#open(5);
      this.#text(1, followUp.queue);
      this.#item(2, followUp.item);
      this.#close(opened);
    }
    if (call.next !== undefined) this.#acquire(6, call.next);
    this.#close(start);
  }

  #duration(field: number, duration: Duration | undefined): void {
    if (duration === undefined) return;
    const start = this.#open(field);
    this.#token(1, duration.seconds);
    this.#uint(2, duration.nanos);
    this.#close(start);
  }

  #token(field: number, value: bigint): void {
    if (typeof value !== 'bigint' || value < 0n || value > MOST_NUMBER) throw SURPRISE;
    this.#number(field, Number(value));
  }

  #uint(field: number, value: number): void {
    if (!Number.isInteger(value) || value < 0 || value > MOST_UINT32) throw SURPRISE;
    this.#number(field, value);
  }

  #number(field: number, value: number): void {
    if (value === 0) return;
    this.#reserve(LONGEST_NUMBER);
    this.#bytes[this.#at++] = (field << 3) | VARINT;
    this.#varint(value);
  }

  #text(field: number, value: string): void {
    if (value === '') return;
    if (typeof value !== 'string') throw SURPRISE;
    const units = value.length;
    this.#reserve(LONGEST_NUMBER + units * BYTES_PER_UNIT);
    this.#bytes[this.#at++] = (field << 3) | DELIMITED;
    if (units <= SHORT_TEXT && this.#ascii(value)) return;
    this.#varint(Buffer.byteLength(value));
    this.#at += this.#bytes.write(value, this.#at, 'utf8');
  }

  #ascii(value: string): boolean {
    const bytes = this.#bytes;
    let at = this.#at;
    bytes[at++] = value.length;
    for (let unit = 0; unit < value.length; unit++) {
      const code = value.charCodeAt(unit);
      if (code > LAST_ASCII) return false;
      bytes[at++] = code;
    }
    this.#at = at;
    return true;
  }

  #data(field: number, value: Uint8Array): void {
    if (!(value instanceof Uint8Array)) throw SURPRISE;
    if (value.length > 0) this.#message(field, value);
  }

  #message(field: number, encoded: Uint8Array): void {
    this.#reserve(LONGEST_NUMBER + encoded.length);
    this.#bytes[this.#at++] = (field << 3) | DELIMITED;
    this.#varint(encoded.length);
    this.#bytes.set(encoded, this.#at);
    this.#at += encoded.length;
  }

  /**
   * Begins a message in a field; its fields follow, then {@link #close}.
   * @param expected about how long it gets: a wrong guess only costs a move of its bytes
   */
  #open(field: number, expected = 0): number {
    this.#reserve(LONGEST_NUMBER);
    this.#bytes[this.#at++] = (field << 3) | DELIMITED;
    this.#at += sizeOf(expected);
    return this.#at;
  }

  /** @param start what {@link #open} returned, and `expected` as it was given there */
  #close(start: number, expected = 0): void {
    const length = this.#at - start;
    const reserved = sizeOf(expected);
    const needed = sizeOf(length);
    if (needed !== reserved) {
      this.#reserve(LONGEST_NUMBER);
      this.#bytes.copyWithin(start + needed - reserved, start, this.#at);
    }
    this.#at = start - reserved;
    this.#varint(length);
    this.#at += length;
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

  #reserve(more: number): void {
    const needed = this.#at + more;
    if (needed <= this.#bytes.length) return;
    const larger = Buffer.allocUnsafe(Math.max(this.#bytes.length * 2, needed));
    this.#bytes.copy(larger, 0, 0, this.#at);
    this.#bytes = larger;
  }
}

/** Bytes of a length on the wire. */
function sizeOf(length: number): number {
  let size = 1;
  for (let rest = length; rest >= MORE; rest >>>= 7) size += 1;
  return size;
}
