/**
 * Buffers that messages are written into, used again once their bytes have left. A new one of this size costs more than
 * to fill it with some thirty turns, and hurries the collector. Shared by all streams: one that has nothing to say has
 * none.
 */

/** A message of some thirty turns with small items, and then some. */
const BYTES = 16_384;
/** Smaller ones come from Node's own pool. */
const WORTH_KEEPING = 4_096;
/** Kept at most. */
const MOST = 16;

export class WriteBuffers {
  readonly #free: Buffer[] = [];
  /** Those that were made here: of others a part may be somebody else's. */
  readonly #ours = new WeakSet<ArrayBufferLike>();

  /** @returns at least so many bytes, with anything in them */
  take(bytes: number): Buffer {
    if (bytes <= WORTH_KEEPING || bytes > BYTES) return Buffer.allocUnsafe(bytes);
    const free = this.#free.pop();
    if (free !== undefined) return free;
    const made = Buffer.allocUnsafeSlow(BYTES);
    this.#ours.add(made.buffer);
    return made;
  }

  /** Nobody reads these bytes any more, nor others of their buffer. */
  giveBack({ buffer }: Buffer): void {
    if (this.#free.length < MOST && this.#ours.has(buffer)) this.#free.push(Buffer.from(buffer));
  }
}
