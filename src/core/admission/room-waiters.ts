/** Room came free, or a wait for it ended. */
import type { Refusal } from '../contract/model.js';
import type { Lack, Queue, RoomWaiter } from '../state/records.js';
import type { CoreState } from '../state/state.js';
import { stopWaiting } from '../state/wait-list.js';
import { behindOthers, lackRefusal, lacks, type Need, needOf, refuseWaiter } from './capacity.js';
import { applySubmit } from './submit.js';

/** First come, first served: the first that does not fit stops the others. */
export function serveRoom(state: CoreState, queue: Queue, now: number): void {
  for (const waiter of queue.roomWaiters) {
    queue.roomLack = serveWaiter(state, waiter, now);
    if (queue.roomLack !== undefined) return;
  }
}

/** @returns what it lacks; unset: it was answered */
function serveWaiter(state: CoreState, waiter: RoomWaiter, now: number): Lack | undefined {
  const { queue, request, reply } = waiter;
  const need = needOf(state, queue, request, now);
  if (!('entries' in need)) {
    refuseWaiter(state, waiter, need);
    return undefined;
  }
  const lack = lacks(state, queue, need);
  if (lack !== undefined) return lack;
  if (need.wrong !== undefined) refuseWaiter(state, waiter, need.wrong);
  else if (stopWaiting(state, waiter)) applySubmit(state, queue, request, reply, need, now);
  return undefined;
}

/** The wait ended: if it fits now it is served, else it is refused with what it lacks, or because others wait before it. */
export function endRoomWait(state: CoreState, waiter: RoomWaiter, now: number): void {
  const { queue, request } = waiter;
  const [first] = queue.roomWaiters;
  if (waiter !== first && needsPlaces(needOf(state, queue, request, now)))
    return refuseWaiter(state, waiter, behindOthers(queue, waiter));
  const lack = serveWaiter(state, waiter, now);
  if (lack !== undefined) refuseWaiter(state, waiter, lackRefusal(state, queue, lack));
}

/** Whoever needs none (all known, all declined) overtakes nobody. */
function needsPlaces(need: Need | Refusal): boolean {
  return 'entries' in need && need.entries > 0;
}
