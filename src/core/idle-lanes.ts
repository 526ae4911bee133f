import { LRUCache } from 'lru-cache';
import { Lane } from './lane.js';
import { append, Link, unlink } from './link.js';

/** At most this many of the lanes that came to rest last are kept out of the LRU. */
const NURSERY = 16_384;

/**
 * Lanes in INIT, least recently used first; beyond `limit` the oldest is forgotten. Nothing else ever is.
 *
 * A lane that comes to rest first joins a list of the youngest, which costs two pointers, and moves on to the LRU only
 * when enough others came to rest after it. A key that is busy again and again never touches the LRU.
 */
export class IdleLanes {
  readonly #young = new Link();
  #youngCount = 0;
  readonly #nursery: number;
  readonly #old: LRUCache<Lane, true>;

  constructor(limit: number, forget: (lane: Lane) => void) {
    this.#nursery = Math.min(NURSERY, Math.floor((limit - 1) / 2));
    this.#old = new LRUCache({
      max: Math.max(1, limit - this.#nursery),
      dispose: (_, lane, reason) => {
        if (reason === 'evict') forget(lane);
      },
    });
  }

  get size(): number {
    return this.#youngCount + this.#old.size;
  }

  /** Precondition: the lane came to rest and stands in no list. */
  add(lane: Lane): void {
    append(this.#young, lane);
    lane.rests = 'young';
    this.#youngCount += 1;
    if (this.#youngCount <= this.#nursery) return;
    const eldest = this.#young.next;
    unlink(eldest);
    this.#youngCount -= 1;
    if (!(eldest instanceof Lane)) throw new TypeError('only lanes rest');
    eldest.rests = 'old';
    this.#old.set(eldest, true);
  }

  /** To be called before a lane joins any other list: one Link serves them all. */
  delete(lane: Lane): void {
    if (lane.rests === undefined) return;
    if (lane.rests === 'old') this.#old.delete(lane);
    else {
      unlink(lane);
      this.#youngCount -= 1;
    }
    lane.rests = undefined;
  }
}
