import { LRUCache } from 'lru-cache';

/** At most this many of those that came to rest last are kept out of the LRU. */
const NURSERY = 16_384;
/** The same where there are many caches. */
const SMALL_NURSERY = 256;

/** What comes to rest. */
interface Resting {
  /** Its place here; unset: it is not idle. Only the cache writes it. */
  rests: number | undefined;
}

/**
 * What is idle, least recently used first; beyond `limit` the oldest is forgotten. Nothing else ever is.
 *
 * One that comes to rest is first written into a ring of the youngest, and moves on to the LRU only when the ring
 * comes round to its place. If it is busy again by then, its place is void: what is busy again and again never
 * touches the LRU.
 *
 * Where there are many such caches in one process, each has a bound that changes with what the others have, and takes no
 * memory ahead of use.
 */
export class IdleCache<E extends Resting> {
  readonly #ring: (E | undefined)[];
  /** The place that is written next. */
  #next = 0;
  #young = 0;
  readonly #old: LRUCache<E, true>;
  /**
   * Fewer than `limit`, but `limit / parts` at least: beyond it the oldest are forgotten, two for each that comes to
   * rest, or by {@link trim}.
   */
  bound = Number.POSITIVE_INFINITY;

  /** @param parts how many such caches there may be in this process, if there may be several */
  constructor(limit: number, forget: (one: E) => void, parts?: number) {
    const young = parts === undefined ? youngOf(limit, NURSERY) : youngOf(limit / parts, SMALL_NURSERY);
    this.#ring = new Array<E | undefined>(young).fill(undefined);
    const old = Math.max(1, limit - young);
    this.#old = new LRUCache({
      // A maximal number is memory from the beginning on, a maximal size is not.
      ...(parts === undefined ? { max: old } : { maxSize: old, sizeCalculation: () => 1 }),
      dispose: (_, one, reason) => {
        if (reason === 'evict') forget(one);
      },
    });
  }

  get size(): number {
    return this.#young + this.#old.size;
  }

  /** Precondition: it came to rest. */
  add(one: E): void {
    if (this.#ring.length === 0) return this.#grow(one);
    const place = this.#next;
    const eldest = this.#ring[place];
    this.#ring[place] = one;
    this.#next = place + 1 === this.#ring.length ? 0 : place + 1;
    one.rests = place;
    this.#young += 1;
    if (eldest === undefined || eldest.rests !== place || eldest === one) return;
    this.#young -= 1;
    this.#grow(eldest);
  }

  delete(one: E): void {
    if (one.rests === undefined) return;
    if (one.rests === OLD) this.#old.delete(one);
    else {
      this.#ring[one.rests] = undefined;
      this.#young -= 1;
    }
    one.rests = undefined;
  }

  #grow(one: E): void {
    one.rests = OLD;
    this.#old.set(one, true);
    if (this.size > this.bound) this.trim(2);
  }

  /** Forgets the oldest that are too many, so many at most. The youngest stay: they are no more than half of the bound. */
  trim(budget: number): void {
    for (let left = budget; left > 0 && this.size > this.bound && this.#old.size > 0; left--) this.#old.pop();
  }
}

function youngOf(limit: number, most: number): number {
  return Math.max(0, Math.min(most, Math.floor((limit - 1) / 2)));
}

/** Where one rests that is in the LRU. */
const OLD = -1;
