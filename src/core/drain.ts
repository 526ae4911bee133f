/** The end: nobody new is let in, those who wait are told, those who hold a turn may finish. */

import { AcquireWaiter } from './acquire-waiter.js';
import { refuse } from './answers.js';
import { cancelCaller, giveUp, isWaiting } from './arrivals.js';
import { AwaitWaiter, dropAwait } from './await.js';
import { dropWaiter } from './dispatch.js';
import { expire } from './expiry.js';
import { turnOf } from './lane.js';
import { Caller } from './line.js';
import type { Queue } from './queue.js';
import { DRAINING } from './refusals.js';
import { dropRoomWaiter, type RoomWaiter, refuseWaiter } from './room.js';
import type { CoreState } from './state.js';

/** A call that waits, in the form in which the core gives it to the loop. */
export type WaitingCall = Caller | AcquireWaiter | AwaitWaiter | RoomWaiter;

export function startDraining(state: CoreState, now: number): void {
  state.draining = true;
  for (const queue of state.queues.values()) {
    for (const waiter of queue.waiters) {
      if (dropWaiter(state, waiter)) refuse(state, waiter.asker, DRAINING);
    }
    for (const waiter of queue.roomWaiters) refuseWaiter(state, waiter, DRAINING);
    for (const caller of queue.callers) {
      if (caller.asker !== undefined) refuse(state, caller.asker, DRAINING);
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

/** The process ends: calls that wait for an item are told so. */
export function refuseAwaits(state: CoreState): void {
  for (const queue of state.queues.values()) {
    for (const waiters of queue.awaits.values()) {
      for (const waiter of waiters) {
        if (dropAwait(state, waiter)) state.effects.push({ kind: 'refuse', to: waiter.reply, refusal: DRAINING });
      }
    }
  }
}

/** The one who asked is gone: no answer follows. */
export function cancel(state: CoreState, call: WaitingCall, leave: boolean, now: number): void {
  if (call instanceof Caller) cancelCaller(state, call, leave, now);
  else if (call instanceof AcquireWaiter) dropWaiter(state, call);
  else if (call instanceof AwaitWaiter) dropAwait(state, call);
  else dropRoomWaiter(state, call);
}

/** The same, unless it is decided what the call comes to. @returns whether it was not */
export function callOff(state: CoreState, call: WaitingCall, leave: boolean, now: number): boolean {
  if (!waits(call)) return false;
  cancel(state, call, leave, now);
  return true;
}

function waits(call: WaitingCall): boolean {
  if (call instanceof Caller) return isWaiting(call);
  if (call instanceof AcquireWaiter) return call.queues.some(({ waiters }) => waiters.has(call));
  if (call instanceof AwaitWaiter) return call.queue.awaits.get(call.itemId)?.has(call) === true;
  return call.queue.roomWaiters.has(call);
}
