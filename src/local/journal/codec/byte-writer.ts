import { Buffer } from 'node:buffer';
import { crc32 } from 'node:zlib';
import { type Bytes, isByteText, latin1Of, type Payload } from '../../../core/contract/payload.js';

/** Room for a batch of a thousand small rows. */
const CHUNK = 512 * 1_024;

/**
 * Writes values one after another into a large buffer, which one batch after another uses: a buffer for each of the
 * thousand rows of a batch would cost more than their bytes, and new memory for each batch more than to fill it. Numbers are little-endian, texts are UTF-8 behind their length.
 */
export class ByteWriter {
  #chunk = Buffer.allocUnsafeSlow(CHUNK);
  /** Bytes of the values that were ended. */
  written = 0;
  /** Where the value begins that is being written, and where it goes on. */
  #start = 0;
  #at = 0;

  /** Begins a value: four bytes are left free for its checksum. */
  begin(): void {
    this.#start = this.#at;
    this.#need(4);
    this.#at += 4;
  }

  /** Begins a new batch: the values of the one before are not needed any more. */
  reset(): void {
    if (this.#chunk.length > CHUNK) this.#chunk = Buffer.allocUnsafeSlow(CHUNK);
    this.#start = 0;
    this.#at = 0;
    this.written = 0;
  }

  /** Ends the value. Its bytes stay as they are until the next batch. */
  end(): Buffer {
    const value = this.#chunk.subarray(this.#start, this.#at);
    this.#start = this.#at;
    this.written += value.length;
    return value;
  }

  /** Where the next byte of the value goes. */
  get length(): number {
    return this.#at - this.#start;
  }

  /** Puts the checksum of all that follows it at the beginning. */
  seal(seed: number): void {
    this.#chunk.writeUInt32LE(crc32(this.#chunk.subarray(this.#start + 4, this.#at), seed), this.#start);
  }

  /** Writes over four bytes that {@link skip} left free. */
  fixed(where: number, value: number): void {
    this.#chunk.writeUInt32LE(value, this.#start + where);
  }

  /** Leaves zeros: the chunk holds what an earlier batch, or an earlier use of the memory, wrote there. */
  skip(bytes: number): void {
    this.#need(bytes);
    for (const end = this.#at + bytes; this.#at < end; this.#at += 1) this.#chunk[this.#at] = 0;
  }

  byte(value: number): void {
    this.#need(1);
    this.#chunk[this.#at++] = value;
  }

  /** Any number, exactly. */
  number(value: number): void {
    this.#need(8);
    this.#at = this.#chunk.writeDoubleLE(value, this.#at);
  }

  /** A whole number from 0: seven bits a byte, so that small ones are short. */
  whole(value: number): void {
    if (!Number.isSafeInteger(value) || value < 0) throw new RangeError(`${value} is no whole number from 0`);
    this.#need(8);
    let rest = value;
    while (rest > 0x7f) {
      this.#chunk[this.#at++] = (rest % 0x80) | 0x80;
      rest = Math.floor(rest / 0x80);
    }
    this.#chunk[this.#at++] = rest;
  }

  text(value: string): void {
    const { length } = value;
    if (length <= 48 && this.#shortText(value, length)) return;
    const bytes = Buffer.byteLength(value);
    this.whole(bytes);
    this.#need(bytes);
    this.#at += this.#chunk.write(value, this.#at);
  }

  bytes(value: Bytes): void {
    this.whole(value.length);
    this.#need(value.length);
    this.#chunk.set(value, this.#at);
    this.#at += value.length;
  }

  /** The same, and read by `bytes()` too. */
  payload(value: Payload): void {
    if (!isByteText(value)) return this.bytes(value);
    const { length } = value;
    this.whole(length);
    this.#need(length);
    this.#at += this.#chunk.write(latin1Of(value), this.#at, 'latin1');
  }

  /** Ids and keys are ASCII as a rule, and for so few a call into the runtime costs more than to do it here. */
  #shortText(value: string, length: number): boolean {
    this.#need(length + 1);
    const chunk = this.#chunk;
    const start = this.#at + 1;
    for (let at = 0; at < length; at += 1) {
      const code = value.charCodeAt(at);
      if (code > 0x7f) return false;
      chunk[start + at] = code;
    }
    chunk[this.#at] = length;
    this.#at = start + length;
    return true;
  }

  /** A value that does not fit any more goes on in a new chunk, with what it has so far; the old one stays as it is. */
  #need(bytes: number): void {
    if (this.#at + bytes <= this.#chunk.length) return;
    const begun = this.#chunk.subarray(this.#start, this.#at);
    this.#chunk = Buffer.allocUnsafeSlow(Math.max(CHUNK, 2 * (begun.length + bytes)));
    this.#chunk.set(begun, 0);
    this.#start = 0;
    this.#at = begun.length;
  }
}
