/** Jute, the encoding of ZooKeeper: numbers with the most significant byte first, texts and bytes behind their length. */
import { Buffer } from 'node:buffer';

/** What was received is not what it should be. Its connection is of no use any more. */
export class JuteError extends Error {
  override readonly name = 'JuteError';
}

const INT = 4;
const LONG = 8;

export class JuteWriter {
  readonly #parts: Buffer[] = [];

  int(value: number): this {
    const bytes = Buffer.allocUnsafe(INT);
    bytes.writeInt32BE(value);
    return this.#add(bytes);
  }

  long(value: bigint): this {
    const bytes = Buffer.allocUnsafe(LONG);
    bytes.writeBigInt64BE(value);
    return this.#add(bytes);
  }

  bool(value: boolean): this {
    return this.#add(Buffer.of(value ? 1 : 0));
  }

  bytes(value: Buffer): this {
    return this.int(value.length).#add(value);
  }

  text(value: string): this {
    return this.bytes(Buffer.from(value));
  }

  list<T>(values: readonly T[], write: (value: T) => void): this {
    this.int(values.length);
    for (const value of values) write(value);
    return this;
  }

  /** All of it, behind its length: as it is sent. */
  frame(): Buffer {
    const length = this.#parts.reduce((sum, part) => sum + part.length, 0);
    const head = Buffer.allocUnsafe(INT);
    head.writeInt32BE(length);
    return Buffer.concat([head, ...this.#parts]);
  }

  #add(bytes: Buffer): this {
    this.#parts.push(bytes);
    return this;
  }
}

/** Reads what was received, and no byte beyond it: a length is believed only as far as there are bytes. @throws JuteError */
export class JuteReader {
  #at = 0;

  constructor(private readonly frame: Buffer) {}

  get left(): number {
    return this.frame.length - this.#at;
  }

  int(): number {
    return this.frame.readInt32BE(this.#take(INT));
  }

  long(): bigint {
    return this.frame.readBigInt64BE(this.#take(LONG));
  }

  bool(): boolean {
    return this.frame[this.#take(1)] === 1;
  }

  /** A copy: what it was read from is not kept for it. A length of -1 is none, as an empty one. */
  bytes(): Buffer {
    const length = this.#length();
    const from = this.#take(length);
    return Buffer.from(this.frame.subarray(from, from + length));
  }

  text(): string {
    const length = this.#length();
    const from = this.#take(length);
    return this.frame.toString('utf8', from, from + length);
  }

  /** @param least bytes that one of them has at least */
  list<T>(least: number, read: () => T): readonly T[] {
    const length = this.#length();
    if (length * least > this.left) throw new JuteError(`a list of ${length} in ${this.left} bytes`);
    return Array.from({ length }, read);
  }

  #length(): number {
    const length = this.int();
    if (length < -1) throw new JuteError(`a length of ${length}`);
    return Math.max(0, length);
  }

  #take(count: number): number {
    const from = this.#at;
    if (count > this.left) throw new JuteError(`${count} bytes are to be read, and ${this.left} are left`);
    this.#at += count;
    return from;
  }
}
