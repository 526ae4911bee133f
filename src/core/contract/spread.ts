/**
 * What counts per queue, shared out over the parts of a queue that is spread (cluster): the parts sum to what the queue may
 * have.
 */
import type { Policy, RatePolicy } from './policy.js';
import type { LimitsChange } from './views.js';

/** Those of a policy that count per queue, whole numbers. 0 letters is a policy of its own: no part keeps one. */
const COUNTS = ['maxInFlight', 'maxWaiting', 'maxDeadLetters', 'maxRemembered'] as const;

/** What of a policy is too small for as many parts: each has to have something of it. */
export function tooSmallToSpread(policy: Policy, spread: number): readonly { what: string; value: number }[] {
  if (spread === 1) return [];
  const { rate } = policy;
  const found: { what: string; value: number }[] = [];
  for (const field of COUNTS) {
    const value = policy[field];
    const isNone = value === undefined || (field === 'maxDeadLetters' && value === 0);
    if (!isNone && value < spread) found.push({ what: field, value });
  }
  if (rate !== undefined && rate.perSecond < spread) found.push({ what: 'rate.perSecond', value: rate.perSecond });
  if (rate !== undefined && rate.burst < spread) found.push({ what: 'rate.burst', value: rate.burst });
  return found;
}

/**
 * The policy of these parts together.
 *
 * @param parts their numbers, from 0 to `spread` - 1: several, if one partition has several parts
 */
export function policyOfParts(policy: Policy, spread: number, parts: readonly number[]): Policy {
  if (spread === 1) return policy;
  return {
    ...policy,
    spread,
    rate: policy.rate && rateOfParts(policy.rate, spread, parts),
    maxInFlight: policy.maxInFlight === undefined ? undefined : share(policy.maxInFlight, spread, parts),
    maxWaiting: share(policy.maxWaiting, spread, parts),
    maxDeadLetters: share(policy.maxDeadLetters, spread, parts),
    maxRemembered: share(policy.maxRemembered, spread, parts),
  };
}

/** The same of what a person sets while the queue runs. */
export function limitsOfParts(change: LimitsChange, spread: number, parts: readonly number[]): LimitsChange {
  const { rate, maxInFlight } = change;
  const isCount = typeof maxInFlight === 'number';
  return {
    rate: typeof rate === 'object' ? rateOfParts(rate, spread, parts) : rate,
    maxInFlight: isCount ? share(maxInFlight, spread, parts) : maxInFlight,
  };
}

/** Turns per second need not be a whole number, a burst has to. */
function rateOfParts({ perSecond, burst }: RatePolicy, spread: number, parts: readonly number[]): RatePolicy {
  return { perSecond: (perSecond * parts.length) / spread, burst: share(burst, spread, parts) };
}

/** The first parts have one more, where it does not come out even. */
function share(whole: number, spread: number, parts: readonly number[]): number {
  const more = whole % spread;
  return parts.reduce((sum, part) => sum + Math.floor(whole / spread) + (part < more ? 1 : 0), 0);
}
