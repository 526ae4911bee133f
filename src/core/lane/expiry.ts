/** What happens when a lane's moment has come. */

import { Caller, type Lane, type Turn, type TurnWatch } from '../state/records.js';
import { LOST } from '../state/settlement.js';
import type { CoreState } from '../state/state.js';
import { isOver } from '../structures/due.js';
import { giveUp } from './arrivals.js';
import { isTurnOver } from './lease.js';
import { notifyEnding, watchOn } from './notices.js';
import { resolve } from './resolve.js';
import { GIVEN_UP, NEVER_HANDED_OUT, type Outcome, settle } from './settle.js';

/**
 * The end of a lease, of `max_hold`, of a session, of the ticket a turn is held for, or of a delay. Precondition: it
 * has come, or draining ends it early.
 */
export function expire(state: CoreState, lane: Lane, now: number): void {
  const { phase } = lane;
  if (phase.at === 'HELD') expireTurn(state, phase, now);
  else if (phase.at === 'DELAY') resolve(state, lane, now);
}

/**
 * The timer of a turn's watch fires. A turn that is over ends: a tied one at its `max_hold`, because its lane is not on
 * the wheel, and any other one that the wheel has not come to yet. Else its coming end is told (S40).
 */
export function watchDue(state: CoreState, watch: TurnWatch, now: number): void {
  const { turn } = watch;
  if (isTurnOver(turn, now)) return expire(state, turn.lane, now);
  notifyEnding(state, turn, now);
  watchOn(state, watch, now);
}

/** Places looked at while the wheel is late: whoever asks must not be stalled by a long line. */
const MOST_TICKETS = 1_000;

/**
 * Places of absent callers whose ticket is over, though the wheel has not come to it, leave the line. Those whose
 * ticket was noted first are looked at first; what is beyond {@link MOST_TICKETS} is left to the wheel. `resolve` looks
 * at the head itself before it gives it a turn.
 */
export function endTickets(state: CoreState, lane: Lane, now: number): void {
  let left = MOST_TICKETS;
  for (const place of lane.tickets?.values() ?? []) {
    if (place instanceof Caller && place.asker === undefined && isOver(place.due, now))
      giveUp(state, place, 'ticket_ended', now);
    left -= 1;
    if (left === 0) return;
  }
}

function expireTurn(state: CoreState, turn: Turn, now: number): void {
  settle(state, turn, outcomeOf(turn), LOST.lease_expired, now);
}

/**
 * A turn that was never handed over was no attempt (S12, S22). Of any other the items that are not done have
 * failed, and one attempt is counted for each. A caller's turn just ends: its idempotency key is not done.
 */
function outcomeOf({ handed, assignment, consumerId }: Turn): Outcome {
  if (handed === 'kept') return NEVER_HANDED_OUT;
  if (assignment.kind !== 'items') return GIVEN_UP;
  const error = `lease expired (held by ${consumerId})`;
  return { kind: 'failed', done: 0, failure: { cause: 'lease_expired', error, delay: undefined } };
}
