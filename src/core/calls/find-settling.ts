/** What the settling calls have in common: finding the turn, the remembered answer, or the reason for neither. */

import type { LossCause, Refusal } from '../contract/model.js';
import { turnLost } from '../contract/refusals.js';
import { currentLaneOfToken } from '../lane/current-lanes.js';
import type { StaleCall } from '../state/counters.js';
import { turnOf } from '../state/lane.js';
import { findQueue, isRefusal } from '../state/queues.js';
import type { Lane, Turn } from '../state/records.js';
import type { SettledBy } from '../state/settlement.js';
import { endingOf } from '../state/settlements.js';
import type { CoreState } from '../state/state.js';
import { adoptable, adoptForSettling } from './adopt.js';

/**
 * What a token stands for: the live turn; how a settling call ended that turn, so that the same call gets the same
 * answer again (S18); or a refusal. The three are told apart by what they are. An object around them is not made: every
 * turn that ends comes by here.
 */
type Settling = Turn | SettledBy | Refusal;

/**
 * Looks a token up for DeQueue, Ack and Nack. First what is over by the clock ends on its lane (S1). Then, in this
 * order: the live turn; the remembered end of a turn that was settled; adoption of a turn from before the start (S29).
 *
 * Adoption comes after the memory: a token of which it is remembered how its turn ended is never adopted.
 *
 * Refusals: `no_such_queue`; `turn_lost` with the remembered cause, or `unknown`; `limit` where adoption finds no room.
 * Every `turn_lost` is counted under the call.
 */
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
  return notLive(state, call, queueName, key, token, lane, now);
}

/** Apart from the usual case: it is the token of the live turn. */
function notLive(
  state: CoreState,
  call: StaleCall,
  queueName: string,
  key: string,
  token: number,
  lane: Lane | undefined,
  now: number,
): Settling {
  const ending = lane === undefined ? undefined : endingOf(lane, token);
  if (ending?.ended === 'settled') return ending;
  if (ending === undefined && adoptable(state, queueName, key, token, lane, now))
    return adoptForSettling(state, queueName, key, token, now);
  return stale(state, call, queueName, key, ending?.ended ?? 'unknown');
}

/** Tells a remembered settlement from a refusal: only endings have `ended`. */
export function isSettled(found: SettledBy | Refusal): found is SettledBy {
  return 'ended' in found;
}

/**
 * Refuses a token that is not live, `turn_lost`, and counts it as stale in its queue, if there is one. Changes no lane
 * (I5).
 */
export function stale(state: CoreState, call: StaleCall, queueName: string, key: string, cause: LossCause): Refusal {
  const queue = state.queues.get(queueName);
  if (queue !== undefined) queue.counters.staleTokens[call] += 1;
  return turnLost(queueName, key, cause);
}
