/** What happens when a lane's moment has come. */

import { putBack } from '../items/item-phase.js';
import { failAll } from '../items/items.js';
import { neverHandedOut } from '../items/never-handed-out.js';
import { Caller, type Lane, type Turn, type TurnWatch } from '../state/records.js';
import { LOST } from '../state/settlement.js';
import type { CoreState } from '../state/state.js';
import { isLinked, unlink } from '../structures/link.js';
import { giveUp } from './arrivals.js';
import { isOver } from './lease.js';
import { notifyEnding, watchOn } from './notices.js';
import { park } from './phase.js';
import { resolve } from './resolve.js';
import { endTurn } from './turns.js';

/** The end of a lease, of `max_hold`, of the ticket a turn is held for, or of a delay. Precondition: it has come. */
export function expire(state: CoreState, lane: Lane, now: number): void {
  const { phase } = lane;
  if (phase.at === 'HELD') {
    const event = phase.handed === 'kept' ? 'ticket_ends' : 'lease_ends';
    if (lane.row.moves[event] !== 'nothing') expireTurn(state, lane, phase, now);
  } else if (lane.row.moves.delay_ends === 'look') {
    if (isLinked(lane)) unlink(lane);
    resolve(state, lane, now);
  }
}

/** A tied turn ends here at its `max_hold`; of any other the end of its lease is told before it comes. */
export function watchDue(state: CoreState, watch: TurnWatch, now: number): void {
  const { turn } = watch;
  if (isOver(turn, now)) return expire(state, turn.lane, now);
  notifyEnding(state, turn, now);
  watchOn(state, watch, now);
}

/** Places looked at while the wheel is late: whoever asks must not be stalled by a long line. */
const MOST_TICKETS = 1_000;

/** Places of absent callers whose ticket is over, though the wheel has not come to it. The oldest ones first. */
export function endTickets(state: CoreState, lane: Lane, now: number): void {
  let left = MOST_TICKETS;
  for (const place of lane.tickets?.values() ?? []) {
    if (place instanceof Caller && place.asker === undefined && now >= place.due)
      giveUp(state, place, 'ticket_ended', now);
    left -= 1;
    if (left === 0) return;
  }
}

function expireTurn(state: CoreState, lane: Lane, turn: Turn, now: number): void {
  const { assignment, handed } = turn;
  endTurn(state, turn, 'expired', LOST.lease_expired, now);
  // A turn that was never handed over was no attempt.
  if (handed === 'kept') putBack(state, lane, neverHandedOut(state, lane, assignment, now));
  else if (assignment.kind === 'items' && !assignment.done) {
    const error = `lease expired (held by ${turn.consumerId})`;
    const failure = { cause: 'lease_expired', error, delay: undefined } as const;
    const after = failAll(state, lane, assignment.items, failure, now);
    if (after.park !== undefined) park(state, lane, after.park, now);
  }
  resolve(state, lane, now);
}
