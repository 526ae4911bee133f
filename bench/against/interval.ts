/** What some rounds say about the median of all rounds that could have been. */

export interface Interval {
  readonly median: number;
  /** Bounds of the 95 % interval of the median. Unset: too few rounds to give one. */
  readonly bounds: { readonly low: number; readonly high: number } | undefined;
}

/** Fewer values than this have no 95 % interval: even from the smallest to the largest is less. */
export const FEWEST = 6;
const OUTSIDE = 0.05;
/** A ratio is known when its 95 % interval is no wider than this to either side. */
export const NARROW = 0.05;

/**
 * The interval between two order statistics: it supposes nothing about how the values are distributed, so that an
 * outlier moves it no further than any other value. The rank comes from the binomial distribution with p = 1/2 (W. J.
 * Conover, Practical Nonparametric Statistics, "Confidence interval for a quantile").
 *
 * Precondition: at least one value.
 */
export function medianInterval(values: readonly number[]): Interval {
  const sorted = [...values].sort((a, b) => a - b);
  const count = sorted.length;
  const rank = lowerRank(count);
  const [low, high] = [sorted[rank - 1], sorted[count - rank]];
  const median =
    ((sorted[Math.floor((count - 1) / 2)] ?? Number.NaN) + (sorted[Math.floor(count / 2)] ?? Number.NaN)) / 2;
  return { median, bounds: rank === 0 || low === undefined || high === undefined ? undefined : { low, high } };
}

/** The largest rank, from 1, below which the true median lies with at most half of {@link OUTSIDE}; 0: there is none. */
function lowerRank(count: number): number {
  let rank = 0;
  let probability = 0.5 ** count;
  // The sum of binomial(count, k) / 2^count for k below the rank.
  for (let below = probability; 2 * below <= OUTSIDE; below += probability) {
    rank += 1;
    probability *= (count - rank + 1) / rank;
  }
  return rank;
}

/** @param share 0.05: no bound is further than 5 % of the median from it */
export function isWithin({ median, bounds }: Interval, share: number): boolean {
  if (bounds === undefined) return false;
  return median - bounds.low <= share * median && bounds.high - median <= share * median;
}
