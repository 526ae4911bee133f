/**
 * How the coordinator ends, and how a call that waits is taken back.
 *
 * Draining: new work is refused, calls that wait are refused, and whoever has a turn may renew and settle it. Await
 * calls go on until `refuseAwaits`, because an item may still finish.
 */

import { refuseWaiter } from '../admission/capacity.js';
import type { Reply } from '../contract/model.js';
import { DRAINING } from '../contract/refusals.js';
import { answerDeliveries, refuse } from '../lane/answers.js';
import { cancelCaller, giveUp } from '../lane/arrivals.js';
import { expire } from '../lane/expiry.js';
import { drainLeaders, refuseLeaderCalls } from '../leaders/calls.js';
import { turnOf } from '../state/lane.js';
import { tellLate } from '../state/queues.js';
import type { Queue, WaitingCall } from '../state/records.js';
import type { CoreState } from '../state/state.js';
import { isWaiting, stopWaiting } from '../state/wait-list.js';

/**
 * Begins the drain. Every Acquire and every Submit that waits is refused (`draining`). Every caller leaves its line,
 * the absent ones too; an open call is refused. Items stay where they are. An Ack whose `next` waits is answered
 * with an empty `next` (S19).
 *
 * May be called again: the close does so. O(calls that wait + lanes).
 */
export function startDraining(state: CoreState, now: number): void {
  state.draining = true;
  for (const queue of state.queues.values()) {
    for (const waiter of queue.waiters) {
      if (stopWaiting(state, waiter)) refuse(state, waiter.asker, DRAINING, tellLate(waiter.queues));
    }
    for (const waiter of queue.roomWaiters) refuseWaiter(state, waiter, DRAINING);
    for (const caller of queue.callers) {
      if (caller.asker !== undefined) refuse(state, caller.asker, DRAINING, queue.tellsLate);
      giveUp(state, caller, 'draining', now);
    }
    // Last: by now no caller and no Acquire of this queue is left that could get a key that comes free here.
    endHeldTurns(state, queue, now);
  }
  drainLeaders(state, now);
}

/**
 * Ends turns that are held for an absent ticket: whoever comes with it is refused from now on. Items of such a turn go
 * back to the line without an attempt, those of at_most_once too (S22).
 */
function endHeldTurns(state: CoreState, queue: Queue, now: number): void {
  // A copy: a lane that comes to rest may leave these maps during the walk.
  const lanes = [...queue.lanes.values(), ...queue.keyless.values()];
  for (const lane of lanes) if (turnOf(lane)?.handed === 'kept') expire(state, lane, now);
}

/**
 * The process ends: Await calls are refused (`draining`). These calls changed nothing, so no answer waits for the disk.
 */
export function refuseAwaits(state: CoreState): void {
  refuseLeaderCalls(state);
  for (const queue of state.queues.values()) {
    for (const waiters of queue.awaits.values()) {
      for (const waiter of waiters) {
        if (stopWaiting(state, waiter))
          state.effects.push({ kind: 'refuse', to: waiter.reply, refusal: DRAINING }, false);
      }
    }
  }
}

/**
 * The client that asked is gone: its call stops to wait, and no answer follows. A call that waits no more is left
 * alone. A caller with a ticket keeps its place for `ticket_ttl`, unless `leave` is set (S41).
 *
 * @param reply of the call that is taken back: a newer call may wait in the same place
 */
export function cancel(state: CoreState, call: WaitingCall, reply: Reply<never>, leave: boolean, now: number): void {
  if (!waits(call, reply)) return;
  if (call.kind === 'caller') cancelCaller(state, call, leave, now);
  else stopWaiting(state, call);
}

/**
 * What became of a call that its client called off. `no`: it waited no more, and its answer is on its way. `gone`: it
 * stopped to wait, and no answer follows. `follows`: it stopped to wait, and its answer is among the effects now.
 */
export type CalledOff = 'no' | 'gone' | 'follows';

/**
 * Cancel of a command on its session (S131): as `cancel`, but an Ack is answered. It was carried out before its `next`
 * began to wait, so only that wait ends: the answer tells of the Ack, with an empty `next`.
 */
export function callOff(
  state: CoreState,
  call: WaitingCall,
  reply: Reply<never>,
  leave: boolean,
  now: number,
): CalledOff {
  if (!waits(call, reply)) return 'no';
  // Read before `cancel`, which clears it where a ticket keeps the place.
  const asker = 'asker' in call ? call.asker : undefined;
  cancel(state, call, reply, leave, now);
  if (asker?.kind !== 'ack') return 'gone';
  answerDeliveries(state, asker, [], false);
  return 'follows';
}

/**
 * Whether this very call still waits. Of a caller the reply is compared: in a place that a ticket keeps, a newer call
 * may wait by now, or nobody.
 */
function waits(call: WaitingCall, reply: Reply<never>): boolean {
  return (call.kind !== 'caller' || call.asker?.reply === reply) && isWaiting(call);
}
