import { LRUCache } from 'lru-cache';

/** How often the keys of a workload come back, seen from the number of workers that process it. */
export type RepetitionClass = 'none' | 'sparse' | 'high';

interface Seen {
  /** Position of the last arrival. */
  last: number;
  /** Smallest repeat distance so far; Infinity: no repeat. */
  nearest: number;
  arrivals: number;
}

/**
 * Repeat distances of a stream of arrivals, and the class of the workload.
 *
 * The repeat distance is the difference of the positions of two arrivals of one key: two consecutive arrivals of a key
 * are at distance 1. A workload is `none` when no key repeats, `high` when at least half of its arrivals have a key
 * whose smallest repeat distance is below the number of workers (so that two workers would meet on that key), else
 * `sparse`.
 *
 * Memory is bounded by `limit` keys, the least recently seen is forgotten first: what was learnt of it still counts,
 * but if it comes back it is a new key. So the class is exact for up to `limit` keys between two arrivals of one.
 */
export class Repetition {
  readonly #limit: number;
  readonly #keys: LRUCache<string, Seen>;
  /**
   * Arrivals of forgotten keys by their smallest distance. Distances from `limit` on share one row, which bounds the
   * map; nobody runs so many workers.
   */
  readonly #forgotten = new Map<number, number>();
  #position = 0;
  #repeated = false;

  constructor(limit = 100_000) {
    if (!Number.isSafeInteger(limit) || limit < 1)
      throw new RangeError(`limit must be an integer from 1, not ${limit}`);
    this.#limit = limit;
    this.#keys = new LRUCache({ max: limit, dispose: (seen) => this.#forget(seen) });
  }

  /** Takes note of the next arrival. Returns its repeat distance; undefined: the key is new or was forgotten. */
  arrive(key: string): number | undefined {
    this.#position += 1;
    const seen = this.#keys.get(key);
    if (seen === undefined) {
      this.#keys.set(key, { last: this.#position, nearest: Infinity, arrivals: 1 });
      return undefined;
    }
    const distance = this.#position - seen.last;
    seen.last = this.#position;
    seen.nearest = Math.min(seen.nearest, distance);
    seen.arrivals += 1;
    this.#repeated = true;
    return distance;
  }

  /** The class of what has arrived so far. Costs a walk over the remembered keys. */
  classify(workers: number): RepetitionClass {
    if (!this.#repeated) return 'none';
    return this.#arrivalsNearerThan(workers) * 2 >= this.#position ? 'high' : 'sparse';
  }

  #arrivalsNearerThan(workers: number): number {
    let near = 0;
    for (const seen of this.#keys.values()) if (seen.nearest < workers) near += seen.arrivals;
    for (const [nearest, arrivals] of this.#forgotten) if (nearest < workers) near += arrivals;
    return near;
  }

  #forget(seen: Seen): void {
    const row = Math.min(seen.nearest, this.#limit);
    this.#forgotten.set(row, (this.#forgotten.get(row) ?? 0) + seen.arrivals);
  }
}
