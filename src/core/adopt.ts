/** Turns from before the start, during `startup_hold` (S29). */

import { lost } from './expiry.js';
import { ADOPTED, type Lane, Turn, turnOf } from './lane.js';
import { isRefusal, openLane, openQueue } from './lookup.js';
import type { Refusal } from './model.js';
import { after, type CoreState } from './state.js';
import { LANE_TABLE } from './table.js';
import { endTurn, install } from './turns.js';

/** Whether this token may be the live turn of a run before this one, and nothing speaks against it. */
export function adoptable(state: CoreState, key: string, token: number, lane: Lane | undefined, now: number): boolean {
  if (key === '' || now >= state.holdUntil || token < 1 || token >= state.tokens.first) return false;
  if (lane === undefined) return true;
  if (LANE_TABLE[lane.shown].adopt !== 'adopt') return false;
  const turn = turnOf(lane);
  if (turn !== undefined) return turn.cargo.kind === 'adopted' && turn.token < token;
  // A token that was settled in this run already was the larger one.
  return lane.settlements === undefined || lane.settlements.token < token;
}

/** Makes it the live turn of its key; one with a smaller token is evicted. */
export function adopt(
  state: CoreState,
  queueName: string,
  key: string,
  token: number,
  lease: number | undefined,
  now: number,
): Turn | Refusal {
  const queue = openQueue(state, queueName, now);
  if (isRefusal(queue)) return queue;
  const lane = openLane(state, queue, key, now);
  const older = turnOf(lane);
  if (older !== undefined) endTurn(state, older, 'evicted', lost(older, 'evicted'), now);
  const { policy } = queue;
  const life = lease ?? policy.lease;
  const latestEnd = policy.maxHold === undefined ? Number.POSITIVE_INFINITY : after(now, policy.maxHold);
  const turn = new Turn(lane, token, ADOPTED, 'adopted', undefined, life, true, now, latestEnd);
  install(state, lane, turn, Math.min(after(now, life), latestEnd));
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
  return adopt(state, queueName, key, token, undefined, now);
}
