import { LRUCache } from 'lru-cache';

/** What is wrong with a start, seen from the starts before it. */
type Irregularity = 'two_at_once' | 'out_of_order' | 'again';

/**
 * What the workers of a replay saw: who started and ended what, in which order. It believes nobody but them, least of
 * all the sidecar: it only learns of a span when a worker has begun it.
 *
 * Lines of one key must start one after the other (`maxAtOnce` 1), in the order of their sequence numbers
 * (`orderViolations` 0). A line that starts again right after itself is a retry (`repeats`), not a violation.
 *
 * Memory: keys in work, plus the last start of up to `limit` keys; an order violation further apart than that many
 * other keys is not seen.
 */
export class Ledger {
  readonly #open = new Map<string, number>();
  readonly #lastStart: LRUCache<string, number>;
  #maxAtOnce = 0;
  #orderViolations = 0;
  #repeats = 0;
  #starts = 0;

  constructor(limit = 100_000) {
    this.#lastStart = new LRUCache({ max: limit });
  }

  /** A worker begins with line `sequence` of `key`. */
  start(key: string, sequence: number): readonly Irregularity[] {
    this.#starts += 1;
    return [...this.#enter(key), ...this.#follow(key, sequence)];
  }

  /** A worker has ended with a line of `key`. */
  end(key: string): void {
    const open = this.#open.get(key) ?? 0;
    if (open === 0) throw new Error(`the end of a line of key ${JSON.stringify(key)} that nobody began`);
    if (open === 1) this.#open.delete(key);
    else this.#open.set(key, open - 1);
  }

  /** The most workers seen at once on one key. */
  get maxAtOnce(): number {
    return this.#maxAtOnce;
  }

  get orderViolations(): number {
    return this.#orderViolations;
  }

  get repeats(): number {
    return this.#repeats;
  }

  /** Lines that were begun, each counted once. */
  get lines(): number {
    return this.#starts - this.#repeats;
  }

  /** Keys somebody works on now. */
  get open(): number {
    return this.#open.size;
  }

  #enter(key: string): Irregularity[] {
    const open = (this.#open.get(key) ?? 0) + 1;
    this.#open.set(key, open);
    this.#maxAtOnce = Math.max(this.#maxAtOnce, open);
    return open > 1 ? ['two_at_once'] : [];
  }

  #follow(key: string, sequence: number): Irregularity[] {
    const last = this.#lastStart.get(key) ?? -Infinity;
    if (sequence > last) {
      this.#lastStart.set(key, sequence);
      return [];
    }
    if (sequence === last) {
      this.#repeats += 1;
      return ['again'];
    }
    this.#orderViolations += 1;
    return ['out_of_order'];
  }
}
