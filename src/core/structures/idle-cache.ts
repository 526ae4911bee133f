import { LRUCache } from 'lru-cache';

/** At most this many of the lanes that came to rest last are kept out of the LRU. */
const NURSERY = 16_384;

/** What comes to rest. */
export interface Resting {
  /** Its place here; unset: it is not idle. Only the cache writes it. */
  rests: number | undefined;
}

/**
 * Lanes in INIT, least recently used first; beyond `limit` the oldest is forgotten. Nothing else ever is.
 *
 * A lane that comes to rest is first written into a ring of the youngest, and moves on to the LRU only when the ring
 * comes round to its place. If it is busy again by then, its place is void: a key that is busy again and again never
 * touches the LRU.
 */
export class IdleCache<E extends Resting> {
  readonly #ring: (E | undefined)[];
  /** The place that is written next. */
  #next = 0;
  #young = 0;
  readonly #old: LRUCache<E, true>;

  constructor(limit: number, forget: (lane: E) => void) {
    const young = Math.min(NURSERY, Math.floor((limit - 1) / 2));
    this.#ring = new Array<E | undefined>(young).fill(undefined);
    this.#old = new LRUCache({
      max: Math.max(1, limit - young),
      dispose: (_, lane, reason) => {
        if (reason === 'evict') forget(lane);
      },
    });
  }

  get size(): number {
    return this.#young + this.#old.size;
  }

  /** Precondition: the lane came to rest. */
  add(lane: E): void {
    if (this.#ring.length === 0) return this.#grow(lane);
    const place = this.#next;
    const eldest = this.#ring[place];
    this.#ring[place] = lane;
    this.#next = place + 1 === this.#ring.length ? 0 : place + 1;
    lane.rests = place;
    this.#young += 1;
    if (eldest === undefined || eldest.rests !== place || eldest === lane) return;
    this.#young -= 1;
    this.#grow(eldest);
  }

  delete(lane: E): void {
    if (lane.rests === undefined) return;
    if (lane.rests === OLD) this.#old.delete(lane);
    else {
      this.#ring[lane.rests] = undefined;
      this.#young -= 1;
    }
    lane.rests = undefined;
  }

  #grow(lane: E): void {
    lane.rests = OLD;
    this.#old.set(lane, true);
  }
}

/** Where a lane rests that is in the LRU. */
const OLD = -1;
