/**
 * Reads the wire format of protobuf from a window on a message, field by field. What does not fit throws: a message of a
 * peer is read in one piece or the link ends.
 */
import { asciiText } from '../../session/codec/ascii-text.js';

const DELIMITED = 2;
const WIRE_TYPE = 7;
const SIZES = { fixed64: 8, fixed32: 4 } as const;
const MORE = 0x80;
const SEPTET = 0x7f;
const FOUR_SEPTETS = 2 ** 28;
const NANOS_PER_MS = 1_000_000;
const NOTHING = Buffer.alloc(0);
const STRICT = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

export class WireReader {
  bytes: Buffer = NOTHING;
  at = 0;
  #end = 0;
  /** The kind of the field that {@link field} returned. */
  #type = 0;

  /** What is read next. */
  over(bytes: Buffer, start = 0, end = bytes.length): this {
    this.bytes = bytes;
    this.at = start;
    this.#end = end;
    return this;
  }

  /** The number of the next field; 0: there is none. */
  field(): number {
    if (this.at >= this.#end) return 0;
    const tag = this.#varint();
    this.#type = tag & WIRE_TYPE;
    const field = tag >>> 3;
    if (field === 0) throw new RangeError('no field has the number 0');
    return field;
  }

  /** A whole number below 2^53. */
  number(): number {
    if (this.#type !== 0) throw new RangeError(`a number was expected, not wire type ${this.#type}`);
    return this.#varint();
  }

  flag(): boolean {
    return this.number() !== 0;
  }

  /** Where the delimited field ends; it begins at `at`. To be left with {@link skipTo}, or read by another reader. */
  end(): number {
    if (this.#type !== DELIMITED) throw new RangeError(`bytes were expected, not wire type ${this.#type}`);
    const length = this.#varint();
    if (length > this.#end - this.at)
      throw new RangeError(`a field of ${length} bytes, with ${this.#end - this.at} left`);
    return this.at + length;
  }

  skipTo(end: number): void {
    this.at = end;
  }

  /** The message in this field becomes what is read. @returns what {@link leave} wants */
  enter(): number {
    const end = this.end();
    const outer = this.#end;
    this.#end = end;
    return outer;
  }

  leave(outer: number): void {
    this.at = this.#end;
    this.#end = outer;
  }

  text(): string {
    const end = this.end();
    const start = this.at;
    this.at = end;
    if (start === end) return '';
    return asciiText(this.bytes, start, end - start) ?? STRICT.decode(this.bytes.subarray(start, end));
  }

  /** A window on the message. */
  window(): Buffer {
    const end = this.end();
    const window = this.bytes.subarray(this.at, end);
    this.at = end;
    return window;
  }

  /** Of a Duration or a Timestamp, ms. */
  ms(): number {
    const outer = this.enter();
    let ms = 0;
    for (let field = this.field(); field !== 0; field = this.field()) {
      if (field === 1) ms += this.number() * 1_000;
      else if (field === 2) ms += this.number() / NANOS_PER_MS;
      else this.skip();
    }
    this.leave(outer);
    return ms;
  }

  /** A field of another version. */
  skip(): void {
    switch (this.#type) {
      case 0:
        this.#skipVarint();
        return;
      case 1:
        this.#over(SIZES.fixed64);
        return;
      case DELIMITED:
        this.at = this.end();
        return;
      case 5:
        this.#over(SIZES.fixed32);
        return;
      default:
        throw new RangeError(`wire type ${this.#type} is not allowed; allowed: 0, 1, 2 and 5`);
    }
  }

  #over(bytes: number): void {
    if (bytes > this.#end - this.at) throw new RangeError('a field beyond the end of its message');
    this.at += bytes;
  }

  #skipVarint(): void {
    while ((this.bytes[this.at++] ?? 0) >= MORE) if (this.at >= this.#end) throw new RangeError('a number without end');
  }

  #varint(): number {
    const { bytes } = this;
    let at = this.at;
    let byte = bytes[at++] ?? 0;
    let number = byte & SEPTET;
    for (let shift = 7; byte >= MORE && shift < 28; shift += 7) {
      byte = bytes[at++] ?? 0;
      number |= (byte & SEPTET) << shift;
    }
    // Bits can be taken of 32 only.
    for (let factor = FOUR_SEPTETS; byte >= MORE; factor *= 128) {
      byte = bytes[at++] ?? 0;
      number += (byte & SEPTET) * factor;
      if (number > Number.MAX_SAFE_INTEGER) throw new RangeError('a number above 2^53');
      if (factor > Number.MAX_SAFE_INTEGER && byte >= MORE) throw new RangeError('a number without end');
    }
    if (at > this.#end) throw new RangeError('a number beyond the end of its message');
    this.at = at;
    return number;
  }
}
