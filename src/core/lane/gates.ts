/**
 * Gates hold back turns of a whole queue, whatever its keys do. They are asked when a turn could start; a closed gate
 * changes no live turn. A lane that waits for a gate is READY.
 */

import type { Queue } from '../state/records.js';
import type { CoreState } from '../state/state.js';
import { isOver } from '../structures/due.js';
import { isLinked } from '../structures/link.js';

/**
 * A gate that holds turns back. `until`: when it opens, ms, perhaps not whole; unset: something has to happen first.
 */
export interface ClosedGate {
  readonly why: 'paused' | 'startup_hold' | 'max_in_flight' | 'rate' | 'tokens';
  readonly until: number | undefined;
}

const PAUSED: ClosedGate = Object.freeze({ why: 'paused', until: undefined });
const MAX_IN_FLIGHT: ClosedGate = Object.freeze({ why: 'max_in_flight', until: undefined });
const NO_TOKENS: ClosedGate = Object.freeze({ why: 'tokens', until: undefined });

/**
 * What keeps a turn of this queue from starting now; `undefined`: nothing. The first gate in the order of S6 that is
 * closed is the one that answers name; `tokens`, which stops every queue while the disk takes nothing (S114), comes
 * before `rate`.
 */
export function closedGate(
  state: CoreState,
  queue: Queue,
  now: number,
  /** Turns that live then. A take-over asks with one less: the turn that would end for it. */
  live = queue.inFlight,
): ClosedGate | undefined {
  if (queue.paused) return PAUSED;
  if (!isOver(state.holdUntil, now)) return { why: 'startup_hold', until: state.holdUntil };
  if (queue.maxInFlight !== undefined && live >= queue.maxInFlight) return MAX_IN_FLIGHT;
  if (state.tokens.areUsedUp) return NO_TOKENS;
  if (queue.rate === undefined) return undefined;
  const opensAt = queue.rate.opensAt(now);
  return isOver(opensAt, now) ? undefined : { why: 'rate', until: opensAt };
}

/**
 * Whether somebody stands at the gate already: callers, or items for which a worker waits. A newcomer lines up behind
 * them (S7): else the callers of one key could pass a freed place on among themselves for ever.
 */
export function hasGateLine(queue: Queue): boolean {
  return isLinked(queue.gatedLanes) || (queue.waiters.size > 0 && isLinked(queue.readyLanes));
}
