import type { RetryPolicy } from './policy.js';

/**
 * How long an item waits after its `attempts`-th failed try, ms: `initial` × `factor`^(attempts-1), at most `max`; with
 * full jitter a random share of that.
 *
 * Source of full jitter: M. Brooker, "Exponential Backoff and Jitter", AWS Architecture Blog, 2015.
 *
 * @param chance a number in [0, 1)
 */
export function backOff(retry: RetryPolicy, attempts: number, chance: number): number {
  const delay = Math.min(retry.initial * retry.factor ** (attempts - 1), retry.max);
  return retry.jitter === 'full' ? delay * chance : delay;
}
