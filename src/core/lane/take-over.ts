/**
 * Take-over (`on_wait_timeout: take_over`): the head of a line gets the turn of a holder who has had it for long (S16).
 */

import { lacksTurn } from '../state/client-bounds.js';
import { turnOf } from '../state/lane.js';
import { Caller, type Lane, type Queue } from '../state/records.js';
import { LOST } from '../state/settlement.js';
import type { CoreState } from '../state/state.js';
import { isLinked } from '../structures/link.js';
import { closedGate } from './gates.js';
import { delayOf } from './resolve.js';
import { GIVEN_UP, settle } from './settle.js';

/**
 * The wait of this caller ends: if it may, it takes the turn of the holder, which is then lost. The holder's
 * idempotency key is not done by its turn. `settle` looks at the head of the line, which is this
 * caller.
 */
export function takeOverIfMay(state: CoreState, caller: Caller, now: number): void {
  const turn = turnOf(caller.lane);
  if (turn !== undefined && may(state, caller, now, now)) settle(state, turn, GIVEN_UP, LOST.taken_over, now);
}

/**
 * When the wait of the head ends and it takes the turn, if nothing changes until then; unset: it will not. Whether a
 * gate lets it start then is as it is now.
 */
export function takesOverAt(state: CoreState, lane: Lane, now: number): number | undefined {
  const head = lane.line?.head;
  if (!(head instanceof Caller) || head.asker === undefined || !isLinked(head)) return undefined;
  return may(state, head, head.due, now) ? head.due : undefined;
}

/**
 * Whether the caller may take the turn at the moment `at`. It is the head; the holder is a caller, so its turn carries
 * no items; at least the queue's `wait` has passed since the caller arrived and since that turn began. Nobody is driven
 * out for one who could not start anyway.
 */
function may(state: CoreState, caller: Caller, at: number, now: number): boolean {
  const { lane } = caller;
  const { queue } = lane;
  const { onWaitTimeout, wait } = queue.policy;
  const turn = turnOf(lane);
  if (onWaitTimeout !== 'take_over' || turn?.assignment.kind !== 'caller' || lane.line?.head !== caller) return false;
  if (lacksTurn(state, caller.account, turn.account) !== undefined) return false;
  if (at - caller.arrivedAt < wait || at - turn.since < wait) return false;
  return delayOf(lane, caller, at) === undefined && isOpenWithoutThisTurn(state, queue, at, now);
}

/**
 * Whether the gates let a turn start once this one has ended. Behind `max_in_flight` there may be `rate`; and one place
 * is not enough where `max_in_flight` was lowered.
 */
function isOpenWithoutThisTurn(state: CoreState, queue: Queue, at: number, now: number): boolean {
  const gate = closedGate(state, queue, now, queue.inFlight - 1);
  return gate === undefined || (gate.until !== undefined && gate.until <= at);
}
