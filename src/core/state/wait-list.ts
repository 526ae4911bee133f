/**
 * Calls that wait. Each stands in a set of its queue, in order of arrival; it is counted against the limit of its kind,
 * over all queues; and it has a timer that ends its wait. Whoever serves a call, cancels it or lets its wait time out
 * takes it out here first, and then answers it.
 *
 * One switch over the kinds instead of a list for each: they differ only in where they stand and in what that charges.
 */
import type { Limits } from '../contract/limits.js';
import type { Refusal } from '../contract/model.js';
import { limitRefusal, roomMemoryFull } from '../contract/refusals.js';
import { costOfCall, ownCostOfCall } from './held.js';
import { markRoom } from './marks.js';
import { lacksMemory } from './memory-budget.js';
import type { WaitingCall } from './records.js';
import type { CoreState } from './state.js';
import { forgetPlace, keepPlace } from './tickets.js';

type Kind = WaitingCall['kind'];

/** For each kind the name of its limit in refusals, and its field in the settings. */
const LIMITS = {
  caller: ['waiting_callers', 'waitingCallers'],
  acquire: ['waiting_acquires', 'waitingAcquires'],
  room: ['waiting_submits', 'waitingSubmits'],
  await_item: ['waiting_awaits', 'waitingAwaits'],
} as const satisfies Record<Kind, readonly [string, keyof Limits]>;

/** What Submits that wait for room may hold together, of what payloads may use. */
const WAITING_SHARE = 1 / 4;

/**
 * Why no further call of this kind may wait (LIMIT, or MEMORY_FULL); unset: one may. To be asked before {@link startWaiting}, which
 * does not check. What a caller holds depends on its lane: `cost` is unset, and its asker looks at the memory.
 *
 * @param cost of the call (`held.ts`)
 * @param bytes of payload memory that it would hold
 */
export function mayNotWait(state: CoreState, kind: Kind, cost?: number, bytes = 0): Refusal | undefined {
  const { limits } = state.settings;
  const [subject, limit] = LIMITS[kind];
  const { elsewhere } = state;
  const count = state.waiting[kind] + elsewhere.waiting[kind];
  if (count >= limits[limit]) return limitRefusal(subject, limits[limit]);
  const most = limits.payloadMemoryBytes * WAITING_SHARE;
  // S101: one may always wait, or a batch of which the payload is large could never.
  const fits = bytes === 0 || count === 0 || state.roomBytes + elsewhere.roomBytes + bytes <= most;
  if (!fits) return roomMemoryFull(most, count);
  return cost === undefined ? undefined : lacksMemory(state, bytes + cost);
}

/** @param due when its wait ends; unset: whoever lets it wait schedules that */
export function startWaiting(state: CoreState, call: WaitingCall, due?: number): void {
  come(state, call);
  setOf(call)?.add(call);
  state.waiting[call.kind] += 1;
  state.chargedBytes += costOfCall(call);
  if (call.kind !== 'await_item') call.account?.change(ownCostOfCall(call));
  if (due !== undefined) state.wheel.schedule(call, due);
}

/** The call, if it is open, is still to be answered. @returns whether it waited */
export function stopWaiting(state: CoreState, call: WaitingCall): boolean {
  if (setOf(call)?.delete(call) !== true) return false;
  state.waiting[call.kind] -= 1;
  state.chargedBytes -= costOfCall(call);
  if (call.kind !== 'await_item') call.account?.change(-ownCostOfCall(call));
  state.wheel.cancel(call);
  go(state, call);
  return true;
}

/** Whether it stands in its set. An absent caller does: its ticket keeps the place. */
export function isWaiting(call: WaitingCall): boolean {
  return setOf(call)?.has(call) === true;
}

/** Of an Acquire that of its first queue: it stands among the waiters of all of them, or of none. */
function setOf(call: WaitingCall): Set<WaitingCall> | undefined {
  switch (call.kind) {
    case 'caller':
      return call.lane.queue.callers;
    case 'acquire':
      return call.queues[0]?.waiters;
    case 'room':
      return call.queue.roomWaiters;
    case 'await_item':
      return call.queue.awaits.get(call.itemId);
  }
}

/** What else it takes up. The call is about to stand in its set. */
function come(state: CoreState, call: WaitingCall): void {
  switch (call.kind) {
    case 'caller':
      return keepPlace(state.dispatchTickets, call);
    case 'acquire':
      for (const { waiters } of call.queues) waiters.add(call);
      if (call.ticket !== undefined) state.dispatchTickets.addWaiter(call.ticket, call);
      return;
    case 'room':
      if (call.queue.roomWaiters.size === 0) call.queue.roomLack = undefined;
      state.roomQueues.add(call.queue);
      state.roomBytes += call.bytes;
      return;
    case 'await_item':
      if (!call.queue.awaits.has(call.itemId)) call.queue.awaits.set(call.itemId, new Set());
  }
}

/** The same is given back. The call has left its set. */
function go(state: CoreState, call: WaitingCall): void {
  switch (call.kind) {
    case 'caller':
      return forgetPlace(state.dispatchTickets, call);
    case 'acquire':
      for (const { waiters } of call.queues) waiters.delete(call);
      if (call.ticket !== undefined) state.dispatchTickets.endWaiter(call.ticket);
      return;
    case 'room':
      state.roomBytes -= call.bytes;
      if (call.queue.roomWaiters.size === 0) state.roomQueues.delete(call.queue);
      // Those behind it may need less than it did.
      else markRoom(state, call.queue);
      return;
    case 'await_item':
      if (call.queue.awaits.get(call.itemId)?.size === 0) call.queue.awaits.delete(call.itemId);
  }
}
