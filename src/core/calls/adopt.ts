/** Turns from before the start, during `startup_hold` (S29). */

import type { Refusal } from '../contract/model.js';
import { isDurable } from '../contract/policy.js';
import { limitRefusal } from '../contract/refusals.js';
import { currentOrNewLane } from '../lane/current-lanes.js';
import { ownerOn } from '../lane/lease.js';
import { restIfNew } from '../lane/phase.js';
import { live } from '../lane/turn-lifetime.js';
import { endTurn, install, latestEndOf, newTurn } from '../lane/turns.js';
import { tell } from '../state/events.js';
import { turnOf } from '../state/lane.js';
import { STATES } from '../state/lane-states.js';
import { findOrMakeQueue, isRefusal } from '../state/queues.js';
import { ADOPTED, type Lane, type Stream, type Turn } from '../state/records.js';
import { LOST } from '../state/settlement.js';
import { newestSettledToken } from '../state/settlements.js';
import type { CoreState } from '../state/state.js';
import { isOver } from '../structures/due.js';

/** Whether this token may be the live turn of a run before this one, and nothing speaks against it. */
export function adoptable(
  state: CoreState,
  queueName: string,
  key: string,
  token: number,
  lane: Lane | undefined,
  now: number,
): boolean {
  if (key === '' || isOver(state.holdUntil, now) || token < 1 || token >= state.tokens.first) return false;
  if (state.remembersTurns && keepsTurns(state, queueName)) return false;
  if (lane === undefined) return true;
  const turn = turnOf(lane);
  if (turn !== undefined) return turn.assignment.kind === 'adopted' && turn.token < token;
  // A token that was settled in this run already was the larger one.
  const newest = newestSettledToken(lane);
  return newest === undefined || newest < token;
}

/** All of its turns that were live came back from the disk: whatever is not among them is not live (I5). */
function keepsTurns({ queues, settings }: CoreState, name: string): boolean {
  const policy = queues.get(name)?.policy ?? settings.queues.get(name) ?? settings.defaultPolicy;
  return isDurable(policy) && policy.durability === 'on_flush';
}

/** Who holds an adopted turn is not known. */
const ADOPTER = Object.freeze({ consumerId: 'adopted', ticket: undefined });

/**
 * Makes it the live turn of its key, and of the stream that asks; one with a smaller token is evicted. Refused where
 * there is no room for the key.
 */
export function adopt(
  state: CoreState,
  queueName: string,
  key: string,
  token: number,
  lease: number | undefined,
  on: Stream | undefined,
  now: number,
): Turn | Refusal {
  const queue = findOrMakeQueue(state, queueName, now);
  if (isRefusal(queue)) return queue;
  const lane = currentOrNewLane(state, queue, key, now);
  const { busyLanes } = state.settings.limits;
  // Anybody can make up a token from before the start.
  if (lane.counted === STATES.INIT && state.busyLanes >= busyLanes) {
    restIfNew(state, lane);
    queue.counters.rejected.limit += 1;
    return limitRefusal('busy_lanes', busyLanes);
  }
  const older = turnOf(lane);
  if (older !== undefined) endTurn(state, older, LOST.evicted, now);
  const { policy } = queue;
  const life = lease ?? policy.lease;
  const latestEnd = latestEndOf(policy, now);
  const turn = newTurn(lane, token, ADOPTED, ADOPTER, life, latestEnd, now);
  turn.fromBefore = true;
  install(state, lane, turn);
  turn.owner = ownerOn(on, lease);
  live(state, turn, now);
  if (state.watching) tell(state, 'turn', lane, now, { token, detail: 'adopted' });
  return turn;
}

/** It is settled without having been renewed: adopted for the moment, so that it ends like any other. */
export function adoptForSettling(
  state: CoreState,
  queueName: string,
  key: string,
  token: number,
  now: number,
): Turn | Refusal {
  return adopt(state, queueName, key, token, undefined, undefined, now);
}
