import type { Packed } from './engine.js';

/** What one script may have of batches that are sent again. */
export const MOST_ROWS = 1_000;
const MOST_BYTES = 1_048_576;

/** What may be kept of all partitions together, bytes. */
export class RingBudget {
  used = 0;
  /** Those that have something. */
  readonly #rings = new Set<{ forgetOld(now: number): void }>();

  constructor(readonly limit: number) {}

  count(ring: { forgetOld(now: number): void }, bytes: number): void {
    this.used += bytes;
    if (bytes > 0) this.#rings.add(ring);
  }

  left(ring: { forgetOld(now: number): void }): void {
    this.#rings.delete(ring);
  }

  /** Partitions that write nothing any more would keep what is too old, and the others would have no room. */
  isOver(now: number): boolean {
    if (this.used > this.limit) for (const ring of this.#rings) ring.forgetOld(now);
    return this.used > this.limit;
  }
}

interface Kept<P> {
  /** Number of the batch before it; numbers may be left out. */
  readonly before: number;
  readonly seq: number;
  readonly batch: P;
  readonly until: number;
}

/**
 * The last batches of a partition, in their order, to be sent again if the store falls back. The oldest are dropped when they
 * are too old or too large together.
 */
export class Ring<P extends Packed> {
  readonly #kept: (Kept<P> | undefined)[] = [];
  /** Index of the oldest. */
  #first = 0;
  #bytes = 0;

  constructor(
    private readonly limits: { readonly ms: number; readonly bytes: number },
    private readonly budget: RingBudget,
  ) {}

  add(before: number, seq: number, batch: P, now: number): void {
    this.#kept.push({ before, seq, batch, until: now + this.limits.ms });
    this.#count(batch.bytes);
    this.#trim(now);
  }

  /** The batches after this number up to the last one, with their numbers; undefined: not all of them are there. */
  after(seq: number, last: number): readonly { readonly seq: number; readonly batch: P }[] | undefined {
    const found: Kept<P>[] = [];
    let at = seq;
    for (const one of this.#kept) {
      if (one === undefined || one.before !== at) continue;
      found.push(one);
      at = one.seq;
    }
    return at === last ? found : undefined;
  }

  clear(): void {
    this.#count(-this.#bytes);
    this.#kept.length = 0;
    this.#first = 0;
    this.budget.left(this);
  }

  /** For {@link RingBudget}. */
  forgetOld(now: number): void {
    for (let oldest = this.#oldest; oldest !== undefined && oldest.until <= now; oldest = this.#oldest)
      this.#drop(oldest);
  }

  get #oldest(): Kept<P> | undefined {
    return this.#kept[this.#first];
  }

  #trim(now: number): void {
    this.forgetOld(now);
    const isOver = () => this.#bytes > this.limits.bytes || this.budget.isOver(now);
    for (let oldest = this.#oldest; oldest !== undefined && isOver(); oldest = this.#oldest) this.#drop(oldest);
    // Not each time, which would cost as much as there is.
    if (this.#first < 1_024 && this.#first * 2 < this.#kept.length) return;
    this.#kept.splice(0, this.#first);
    this.#first = 0;
  }

  #drop(oldest: Kept<P>): void {
    this.#count(-oldest.batch.bytes);
    this.#kept[this.#first] = undefined;
    this.#first += 1;
  }

  #count(bytes: number): void {
    this.#bytes += bytes;
    this.budget.count(this, bytes);
  }
}

/** As many batches as one script may have, at least one. */
export function groupFrom<T extends { readonly batch: Packed }>(batches: readonly T[], from: number): readonly T[] {
  let rows = 0;
  let bytes = 0;
  let to = from;
  for (let next = batches[to]; next !== undefined; next = batches[to]) {
    rows += next.batch.rows;
    bytes += next.batch.bytes;
    if (to > from && (rows > MOST_ROWS || bytes > MOST_BYTES)) break;
    to += 1;
  }
  return batches.slice(from, to);
}
