/** What keeps every term of a group back. */
import type { LeaderGroup } from '../state/leader-group.js';
import type { CoreState } from '../state/state.js';

/**
 * Nobody knows who led before the start, if nothing was kept: until the longest `ttl` among the candidates has passed it may lead
 * still, and come back with its term (L2, L6).
 */
export function heldBackUntil(state: CoreState, group: LeaderGroup): number {
  const { holdUntil, startedAt } = state;
  if (!mayHaveLedBefore(state, group)) return holdUntil;
  let longest = 0;
  for (const { ttl } of group.candidates.values()) longest = Math.max(longest, ttl);
  return Math.max(holdUntil, startedAt + longest);
}

/** Somebody may have a term of an earlier run of which nothing is known here. */
export function mayHaveLedBefore({ remembersTurns, isPartition }: CoreState, { predecessor }: LeaderGroup): boolean {
  return !remembersTurns && !isPartition && predecessor.how === 'none';
}
