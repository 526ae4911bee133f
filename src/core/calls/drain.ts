/** The end: new calls are refused, so are those that wait, and whoever has a turn may finish. */

import { refuseWaiter } from '../admission/capacity.js';
import type { Reply } from '../contract/model.js';
import { DRAINING } from '../contract/refusals.js';
import { answerDeliveries, refuse } from '../lane/answers.js';
import { cancelCaller, giveUp } from '../lane/arrivals.js';
import { expire } from '../lane/expiry.js';
import { turnOf } from '../state/lane.js';
import { tellLate } from '../state/queues.js';
import type { Queue, WaitingCall } from '../state/records.js';
import type { CoreState } from '../state/state.js';
import { isWaiting, stopWaiting } from '../state/wait-list.js';

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
    endHeldTurns(state, queue, now);
  }
}

/** Their absent callers cannot come back any more. */
function endHeldTurns(state: CoreState, queue: Queue, now: number): void {
  const lanes = [...queue.lanes.values(), ...queue.keyless.values()];
  for (const lane of lanes) if (turnOf(lane)?.handed === 'kept') expire(state, lane, now);
}

/** The process ends: calls that wait for an item are refused. */
export function refuseAwaits(state: CoreState): void {
  for (const queue of state.queues.values()) {
    for (const waiters of queue.awaits.values()) {
      for (const waiter of waiters) {
        if (stopWaiting(state, waiter))
          state.effects.push({ kind: 'refuse', to: waiter.reply, refusal: DRAINING }, false);
      }
    }
  }
}

/** The one who asked is gone: no answer follows. Nothing is done for a call that waits no more. */
export function cancel(state: CoreState, call: WaitingCall, reply: Reply<never>, leave: boolean, now: number): void {
  if (!waits(call, reply)) return;
  if (call.kind === 'caller') cancelCaller(state, call, leave, now);
  else stopWaiting(state, call);
}

/** `no`: it waited no more, and its answer is on its way. `gone`: no answer follows. `follows`: the answer does now. */
export type CalledOff = 'no' | 'gone' | 'follows';

/**
 * The same, unless it is decided what the call comes to. An Ack is by then: only its `next` is called off, and it is
 * answered that it was carried out.
 */
export function callOff(
  state: CoreState,
  call: WaitingCall,
  reply: Reply<never>,
  leave: boolean,
  now: number,
): CalledOff {
  if (!waits(call, reply)) return 'no';
  const asker = 'asker' in call ? call.asker : undefined;
  cancel(state, call, reply, leave, now);
  if (asker?.kind !== 'ack') return 'gone';
  answerDeliveries(state, asker, [], false);
  return 'follows';
}

/** In a place that is kept by a ticket a newer call may wait by now. */
function waits(call: WaitingCall, reply: Reply<never>): boolean {
  return (call.kind !== 'caller' || call.asker?.reply === reply) && isWaiting(call);
}
