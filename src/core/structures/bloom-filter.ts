/** Bits for each id that is added: one in eight ids that were not is let through. */
const BITS_PER_ID = 8;
const WORD = 32;
/** Words of the smallest one: many queues remember next to nothing. */
const SMALLEST = 8;
/** Ids are looked at from their end: counters and random ids differ there. */
const TELLING = 10;
const FACTOR = 0x9e37_79b1;

/**
 * Says of an id that it was surely not added, or that it may have been: a Bloom filter (B. H. Bloom, 1970) with one hash.
 * It is small enough to stay in the processor's cache, which a Map of as many ids is not; and nearly every id that is
 * looked for is a new one.
 */
export class BloomFilter {
  readonly #bits: Int32Array;
  #left: number;

  /** @param ids how many it is made for; more make it let more through */
  constructor(ids: number) {
    const words = 2 ** Math.ceil(Math.log2(Math.max(SMALLEST, (ids * BITS_PER_ID) / WORD)));
    this.#bits = new Int32Array(words);
    this.#left = (words * WORD) / BITS_PER_ID;
  }

  /** More were added than it is made for. */
  get isFull(): boolean {
    return this.#left < 0;
  }

  add(hash: number): void {
    const at = (hash >>> 5) & (this.#bits.length - 1);
    this.#bits[at] = (this.#bits[at] ?? 0) | (1 << hash);
    this.#left -= 1;
  }

  mayHave(hash: number): boolean {
    return ((this.#bits[(hash >>> 5) & (this.#bits.length - 1)] ?? 0) & (1 << hash)) !== 0;
  }
}

/** Of an id, for Bloom filters. */
export function bloomHash(id: string): number {
  const { length } = id;
  let hash = length;
  for (let i = Math.max(0, length - TELLING); i < length; i++) hash = Math.imul(hash ^ id.charCodeAt(i), FACTOR);
  // The lower bits of a product know only of the lower bits of its factors.
  hash ^= hash >>> 15;
  hash = Math.imul(hash, FACTOR);
  return (hash ^ (hash >>> 13)) >>> 0;
}
