/** Renew: turns go on living. */

import type { LossCause, RenewAnswer, RenewRequest, RenewResult, Reply, TurnRef } from '../contract/model.js';
import { currentLaneOfToken } from '../lane/current-lanes.js';
import { endOf } from '../lane/lease.js';
import { liveBy } from '../lane/turn-lifetime.js';
import { turnOf } from '../state/lane.js';
import { lacksReserve } from '../state/memory-budget.js';
import { findQueue, isRefusal, isToldLate } from '../state/queues.js';
import { Session, type Stream, Turn } from '../state/records.js';
import { endingOf } from '../state/settlements.js';
import type { CoreState } from '../state/state.js';
import { adopt, adoptable } from './adopt.js';

/**
 * Renews turns, of any queues, each for itself. The answer has one result for each turn, in the order of the request. A
 * turn that is not live is no refusal: its result is `alive: false` with the cause, and it counts as a stale token.
 *
 * The only refusal is `no_such_queue`, for a queue that may not exist. All names are looked at before the first turn is
 * renewed, so that a refused call changes nothing.
 *
 * @param on the stream of the call: a turn from before the start that is adopted becomes this stream's (S39)
 */
export function renew(
  state: CoreState,
  request: RenewRequest,
  reply: Reply<RenewAnswer>,
  now: number,
  on?: Stream,
): void {
  for (const { queue } of request.turns) {
    const found = findQueue(state, queue);
    if (isRefusal(found)) {
      state.effects.push({ kind: 'refuse', to: reply, refusal: found }, false);
      return;
    }
  }
  const results = request.turns.map((ref) => renewTurn(state, ref, request.lease, now, on));
  // One answer tells of all turns: one queue that tells late makes the whole answer wait (S47).
  const late = request.turns.some(({ queue }) => isToldLate(state, queue, on));
  state.effects.push({ kind: 'renew', to: reply, answer: { results } }, late);
}

/**
 * Renews one turn, or adopts it from before the start (S29). An adoption for which there is no room counts as a token
 * that is not known: `unknown`.
 *
 * @param lease ms from now; unset: the turn's own
 */
function renewTurn(
  state: CoreState,
  ref: TurnRef,
  lease: number | undefined,
  now: number,
  on: Stream | undefined,
): RenewResult {
  const queue = state.queues.get(ref.queue);
  const lane = queue === undefined ? undefined : currentLaneOfToken(state, queue, ref.key, ref.token, now);
  const turn = lane === undefined ? undefined : turnOf(lane);
  if (turn?.token === ref.token) return extend(state, turn, lease, now);
  const ending = lane === undefined ? undefined : endingOf(lane, ref.token);
  // Anybody can make up a token from before the start.
  if (
    ending === undefined &&
    lacksReserve(state) === undefined &&
    adoptable(state, ref.queue, ref.key, ref.token, lane, now)
  ) {
    const adopted = adopt(state, ref.queue, ref.key, ref.token, lease, on, now);
    if (adopted instanceof Turn) return alive(state, adopted);
  }
  if (queue !== undefined) queue.counters.staleTokens.renew += 1;
  const cause: LossCause = ending?.ended ?? 'unknown';
  return { alive: false, cause };
}

/**
 * Sets the end of the lease to `lease` from now, or to the end of `max_hold` if that is earlier. The turn's own lease
 * stays (S20).
 *
 * Two kinds of turns are alive and get no new end. A turn that is held for an absent ticket has no lease yet, and is
 * not counted as renewed (S12). A tied turn lives as long as its session, and is counted as renewed (S37).
 */
function extend(state: CoreState, turn: Turn, lease: number | undefined, now: number): RenewResult {
  const { lane } = turn;
  if (turn.handed !== 'kept') {
    turn.renewals += 1;
    lane.queue.counters.renewed += 1;
    if (!(turn.owner instanceof Session)) liveBy(state, turn, lease ?? turn.lease, now);
  }
  return alive(state, turn);
}

/** The end by the wall clock, ms since the Unix epoch. Infinity: the turn is tied, and nothing ends it by time. */
function alive(state: CoreState, turn: Turn): RenewResult {
  return { alive: true, leaseExpiresAt: endOf(turn) + state.wallOffset };
}
