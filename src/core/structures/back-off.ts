import type { RetryPolicy } from '../contract/policy.js';

/**
 * How long an item waits after its `attempts`-th failed try, ms: `initial` × `factor`^(attempts-1), at most `max`; with
 * full jitter a random share of that.
 *
 * Source of full jitter: M. Brooker, "Exponential Backoff and Jitter", AWS Architecture Blog, 2015.
 *
 * @param chance a number in [0, 1)
 */
export function backOff(retry: RetryPolicy, attempts: number, chance: number): number {
  // Many attempts grow beyond all numbers; zero times infinity would be none.
  const growth = Math.min(retry.factor ** (attempts - 1), Number.MAX_VALUE);
  const delay = Math.min(retry.initial * growth, retry.max);
  return retry.jitter === 'full' ? delay * chance : delay;
}
