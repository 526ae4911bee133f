/** What the settling calls have in common: finding the turn, the remembered answer, or the reason for neither. */

import type { LossCause, Refusal } from '../contract/model.js';
import { turnLost } from '../contract/refusals.js';
import { currentLaneOfToken } from '../lane/current-lanes.js';
import type { StaleCall } from '../state/counters.js';
import { turnOf } from '../state/lane.js';
import { findQueue, isRefusal } from '../state/queues.js';
import type { Turn } from '../state/records.js';
import type { SettledBy } from '../state/settlement.js';
import { endingOf } from '../state/settlements.js';
import type { CoreState } from '../state/state.js';
import { adoptable, adoptForSettling } from './adopt.js';

/**
 * The turn, if it is live; how a settling call ended it: the same call again gets the same answer; or a refusal. As they
 * are, in no object of their own: every turn that ends comes by here. What is over by the clock ends first, and a turn from
 * before the start may be adopted.
 */
type Settling = Turn | SettledBy | Refusal;

export function findSettling(
  state: CoreState,
  call: StaleCall,
  queueName: string,
  key: string,
  token: number,
  now: number,
): Settling {
  const queue = findQueue(state, queueName);
  if (isRefusal(queue)) return queue;
  const lane = queue === undefined ? undefined : currentLaneOfToken(state, queue, key, token, now);
  const turn = lane === undefined ? undefined : turnOf(lane);
  if (turn?.token === token) return turn;
  const ending = lane === undefined ? undefined : endingOf(lane, token);
  if (ending?.ended === 'settled') return ending;
  if (ending === undefined && adoptable(state, queueName, key, token, lane, now))
    return adoptForSettling(state, queueName, key, token, now);
  return stale(state, call, queueName, key, ending?.ended ?? 'unknown');
}

export function isSettled(found: SettledBy | Refusal): found is SettledBy {
  return 'ended' in found;
}

/** Counts a token that is not live and says so. */
export function stale(state: CoreState, call: StaleCall, queueName: string, key: string, cause: LossCause): Refusal {
  const queue = state.queues.get(queueName);
  if (queue !== undefined) queue.counters.staleTokens[call] += 1;
  return turnLost(queueName, key, cause);
}
