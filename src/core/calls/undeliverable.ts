/** An answer that reached nobody: what it gave is taken back. */

import type { TurnRef } from '../contract/model.js';
import { currentLaneOfToken } from '../lane/current-lanes.js';
import { NEVER_HANDED_OUT, settle } from '../lane/settle.js';
import { holdForTicket } from '../lane/turns.js';
import { turnOf } from '../state/lane.js';
import type { Turn } from '../state/records.js';
import { ABANDONED, type SettledBy } from '../state/settlement.js';
import type { CoreState } from '../state/state.js';

/**
 * These turns were given, but it is known that nobody learnt of them (S13). A turn with a ticket goes back to waiting
 * for its absent holder, for `ticket_ttl`. A turn without one ends: its items go back to the line without an attempt,
 * also those of at_most_once (S22); a caller's turn is abandoned. Nobody gets a notice of that.
 *
 * Keys are brought up to date first (S91). A turn that ended meanwhile, or whose token is another one by now, is passed
 * over.
 *
 * @param unwanted they end, ticket or not: nobody will come for them
 */
export function undeliverable(state: CoreState, refs: readonly TurnRef[], unwanted: boolean, now: number): void {
  for (const { queue: name, key, token } of refs) {
    const queue = state.queues.get(name);
    const lane = queue && currentLaneOfToken(state, queue, key, token, now);
    const turn = lane === undefined ? undefined : turnOf(lane);
    if (turn?.token !== token || mayBeKnown(turn)) continue;
    if (turn.ticket !== undefined && !unwanted) holdForTicket(state, turn, now);
    // As if its worker had given it back: if the worker does after all, that is a repeated call, and harmless.
    else settle(state, turn, NEVER_HANDED_OUT, turn.assignment.kind === 'items' ? RELEASED : ABANDONED, now);
  }
}

/** One answer is lost. Another one that gave the turn may have arrived, or may arrive: the worker knows the turn by it. */
function mayBeKnown(turn: Turn): boolean {
  if (turn.handed === 'kept') return false;
  turn.answers -= 1;
  turn.lane.queue.changes?.turn(turn.lane, turn.token);
  return turn.answers > 0;
}

/** How the end of such a turn with items is remembered: as a Nack that released all of them. */
const RELEASED: SettledBy = Object.freeze({
  ended: 'settled',
  call: 'nack',
  kind: 'release',
  answer: { retryAt: undefined, deadLettered: 0 },
});
