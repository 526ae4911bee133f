/** What the settling calls have in common: finding the turn, the remembered answer, or the reason for neither. */

import { adoptable, adoptForSettling } from './adopt.js';
import type { StaleCall } from './counters.js';
import { type Turn, turnOf } from './lane.js';
import { findHeldLane, findQueue, isRefusal } from './lookup.js';
import type { LossCause, Refusal } from './model.js';
import { turnLost } from './refusals.js';
import { endingOf, type SettledBy } from './settlements.js';
import type { CoreState } from './state.js';

export type Settling =
  /** The turn is live. */
  | { readonly is: 'live'; readonly turn: Turn }
  /** A settling call ended it; the same call again gets the same answer. */
  | { readonly is: 'repeat'; readonly settled: SettledBy }
  | { readonly is: 'refused'; readonly refusal: Refusal };

export function findSettling(
  state: CoreState,
  call: StaleCall,
  queueName: string,
  key: string,
  token: number,
  now: number,
): Settling {
  const queue = findQueue(state, queueName);
  if (isRefusal(queue)) return { is: 'refused', refusal: queue };
  const lane = queue === undefined ? undefined : findHeldLane(state, queue, key, token, now);
  const turn = lane === undefined ? undefined : turnOf(lane);
  if (lane !== undefined && turn?.token === token && lane.row.moves.settle_done === 'end_turn')
    return { is: 'live', turn };
  const ending = lane === undefined ? undefined : endingOf(lane, token);
  if (lane !== undefined && ending?.ended === 'settled') return { is: 'repeat', settled: ending };
  if (ending === undefined && adoptable(state, queueName, key, token, lane, now)) {
    const adopted = adoptForSettling(state, queueName, key, token, now);
    return isTurn(adopted) ? { is: 'live', turn: adopted } : { is: 'refused', refusal: adopted };
  }
  return { is: 'refused', refusal: stale(state, call, queueName, key, ending?.ended ?? 'unknown') };
}

function isTurn(value: Turn | Refusal): value is Turn {
  return 'lane' in value;
}

/** Counts a token that is not live and says so. */
export function stale(state: CoreState, call: StaleCall, queueName: string, key: string, cause: LossCause): Refusal {
  const queue = state.queues.get(queueName);
  if (queue !== undefined) queue.counters.staleTokens[call] += 1;
  return turnLost(queueName, key, cause);
}
