import { append, Link, unlink } from './link.js';

/** At most this many of those that came to rest last are kept out of the list. */
const NURSERY = 16_384;
/** The same where there are many caches. */
const SMALL_NURSERY = 256;

/** What comes to rest. */
interface Resting extends Link {
  /** Its place here; unset: it is not idle. Only the cache writes it. */
  rests: number | undefined;
}

/**
 * What is idle, least recently used first; beyond `bound` the oldest is forgotten. Nothing else ever is.
 *
 * One that comes to rest is first written into a ring of the youngest, and moves on to a list only when the ring
 * comes round to its place. If it is busy again by then, its place is void: what is busy again and again never
 * touches its neighbours in the list. In the list it is linked by itself, because what is idle is in no other one:
 * nothing is allocated for it, and no table grows and shrinks with the idle ones (ADR 055).
 *
 * Where there are many such caches in one process, each has a bound that changes with what the others have, and takes no
 * memory ahead of use.
 */
export class IdleCache<E extends Resting> {
  readonly #ring: (E | undefined)[];
  /** The place that is written next. */
  #next = 0;
  #young = 0;
  /** The oldest first. */
  readonly #old = new Link();
  #aged = 0;
  /**
   * The limit at most, and `limit / parts` at least: beyond it the oldest are forgotten, two for each that comes to
   * rest, or by {@link trim}.
   */
  bound: number;

  /** @param parts how many such caches there may be in this process, if there may be several */
  constructor(
    limit: number,
    private readonly forget: (one: E) => void,
    parts?: number,
  ) {
    const young = parts === undefined ? youngOf(limit, NURSERY) : youngOf(limit / parts, SMALL_NURSERY);
    this.#ring = new Array<E | undefined>(young).fill(undefined);
    this.bound = limit;
  }

  get size(): number {
    return this.#young + this.#aged;
  }

  /** Precondition: it came to rest, and is in no list. */
  add(one: E): void {
    if (this.#ring.length === 0) this.#grow(one);
    else this.#enter(one);
    // Not only when one moves on: the ring fills again behind those that woke, and the list may be longer than the rest.
    if (this.size > this.bound) this.trim(2);
  }

  #enter(one: E): void {
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

  /** It is idle no more, and has left its list by now, for another one perhaps. */
  wake(one: E): void {
    if (one.rests === undefined) return;
    if (one.rests === OLD) this.#aged -= 1;
    else {
      this.#ring[one.rests] = undefined;
      this.#young -= 1;
    }
    one.rests = undefined;
  }

  delete(one: E): void {
    if (one.rests === OLD) unlink(one);
    this.wake(one);
  }

  /** Forgets the oldest, whatever the bound is; the youngest too, where there are no others. @returns whether there was one */
  forgetOldest(): boolean {
    const oldest = this.#aged > 0 ? (this.#old.next as E) : this.#eldestYoung();
    if (oldest === undefined) return false;
    this.delete(oldest);
    this.forget(oldest);
    return true;
  }

  /** Places without anybody are passed over for good: the next that comes to rest is written behind them. */
  #eldestYoung(): E | undefined {
    if (this.#young === 0) return undefined;
    for (;;) {
      const eldest = this.#ring[this.#next];
      if (eldest !== undefined) return eldest;
      this.#next = this.#next + 1 === this.#ring.length ? 0 : this.#next + 1;
    }
  }

  #grow(one: E): void {
    one.rests = OLD;
    append(this.#old, one);
    this.#aged += 1;
  }

  /** Forgets the oldest that are too many, so many at most. The youngest stay: they are no more than half of the bound. */
  trim(budget: number): void {
    for (let left = budget; left > 0 && this.size > this.bound && this.#aged > 0; left--) {
      // Whatever stands in the list was put there by `#grow`.
      const oldest = this.#old.next as E;
      this.delete(oldest);
      this.forget(oldest);
    }
  }
}

function youngOf(limit: number, most: number): number {
  return Math.max(0, Math.min(most, Math.floor((limit - 1) / 2)));
}

/** Where one rests that is in the list. */
const OLD = -1;
