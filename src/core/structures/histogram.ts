import type { HistogramView } from '../contract/views.js';

/** Counts in buckets, as plain numbers: the hot path can afford that. */
export class Histogram implements HistogramView {
  readonly #counts: Float64Array;
  /** The bounds in the one form that is fast for all: arrays of whole and of other numbers differ in theirs. */
  readonly #limits: Float64Array;
  #sum = 0;
  /** The bucket of the last value, and what belongs to it: the next one often does, too. */
  #bucket = 0;
  #above = Number.NEGATIVE_INFINITY;
  #upTo: number;

  /** @param bounds upper bounds of the buckets, growing; a value equal to a bound belongs to its bucket */
  constructor(readonly bounds: readonly number[]) {
    this.#counts = new Float64Array(bounds.length + 1);
    this.#limits = Float64Array.from(bounds);
    this.#upTo = this.#limits[0] ?? Number.POSITIVE_INFINITY;
  }

  add(value: number): void {
    if (!(value > this.#above && value <= this.#upTo)) this.#turnTo(value);
    this.#counts[this.#bucket] = (this.#counts[this.#bucket] ?? 0) + 1;
    this.#sum += value;
  }

  get counts(): ArrayLike<number> {
    return this.#counts;
  }

  get sum(): number {
    return this.#sum;
  }

  get count(): number {
    let count = 0;
    for (let bucket = 0; bucket < this.#counts.length; bucket += 1) count += this.#counts[bucket] ?? 0;
    return count;
  }

  #turnTo(value: number): void {
    const limits = this.#limits;
    let low = 0;
    let high = limits.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (value <= (limits[middle] ?? 0)) high = middle;
      else low = middle + 1;
    }
    this.#bucket = low;
    this.#above = limits[low - 1] ?? Number.NEGATIVE_INFINITY;
    this.#upTo = limits[low] ?? Number.POSITIVE_INFINITY;
  }
}

/** Seconds, from 50 µs on. */
export const SECONDS = Object.freeze([
  0.000_05, 0.000_1, 0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60,
  300, 1_800, 7_200,
]);

/** Arrivals. */
export const DISTANCES = Object.freeze(Array.from({ length: 18 }, (_, i) => 2 ** i));
