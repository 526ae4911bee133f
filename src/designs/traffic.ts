/** Messages in the order in which they arrive. Everything of a message is found under its number, from 0. */
export interface Traffic {
  /** The names of the keys. */
  readonly keys: readonly string[];
  /** Which key each message has: an index of `keys`. */
  readonly keyOf: Uint32Array;
  /** When each arrives, ms, never smaller than before. */
  readonly at: Float64Array;
  /** How long the work on each takes, ms, at most {@link LONGEST_WORK}. */
  readonly work: Float64Array;
  /** By key, 1: its work is slow. What others wait is told of the rest. */
  readonly slow: Uint8Array;
}

/** ms: a day. */
export const LONGEST_WORK = 86_400_000;

/** A key is slow if its messages take this many times the median message, on average. */
const SLOW = 10;

/**
 * The keys whose work is slow: by their mean, so that one message of a key that is usually quick makes no slow key of it.
 *
 * @param stuck a key that is slow whatever its mean; unset: none
 */
export function slowKeys(keys: number, keyOf: Uint32Array, work: Float64Array, stuck?: number): Uint8Array {
  const sums = new Float64Array(keys);
  const counts = new Uint32Array(keys);
  keyOf.forEach((key, message) => {
    sums[key] = (sums[key] ?? 0) + (work[message] ?? 0);
    counts[key] = (counts[key] ?? 0) + 1;
  });
  const median = work.toSorted()[Math.floor((work.length - 1) / 2)] ?? 0;
  return Uint8Array.from(sums, (sum, key) => (key === stuck || sum > SLOW * median * (counts[key] ?? 0) ? 1 : 0));
}
