import type { HistogramView } from './views.js';

/** Counts in buckets, as plain numbers: the hot path can afford that. */
export class Histogram {
  readonly #counts: Float64Array;
  readonly #first: number;
  #sum = 0;
  #count = 0;

  /** @param bounds upper bounds of the buckets, growing; a value equal to a bound belongs to its bucket */
  constructor(readonly bounds: readonly number[]) {
    this.#counts = new Float64Array(bounds.length + 1);
    this.#first = bounds[0] ?? Number.NEGATIVE_INFINITY;
  }

  add(value: number): void {
    let low = 0;
    // Most of what is measured on the hot path is shorter than the first bound.
    let high = value <= this.#first ? 0 : this.bounds.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (value <= (this.bounds[middle] ?? 0)) high = middle;
      else low = middle + 1;
    }
    this.#counts[low] = (this.#counts[low] ?? 0) + 1;
    this.#sum += value;
    this.#count += 1;
  }

  view(): HistogramView {
    return { bounds: this.bounds, counts: Array.from(this.#counts), sum: this.#sum, count: this.#count };
  }
}

/** Seconds, from 50 µs on. */
export const SECONDS = Object.freeze([
  0.000_05, 0.000_1, 0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60,
  300, 1_800, 7_200,
]);

/** Arrivals. */
export const DISTANCES = Object.freeze(Array.from({ length: 18 }, (_, i) => 2 ** i));
