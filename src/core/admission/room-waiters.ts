/**
 * Submits that wait for room: served when room comes free, answered when their wait ends (S30, S100). The end of a step
 * calls {@link serveRoom} for the queues that are marked (`marks.ts`), after what may start has started.
 */
import type { Refusal } from '../contract/model.js';
import { othersCame } from '../state/kept-room.js';
import { giveWay, noteLack } from '../state/memory-budget.js';
import type { Lack, Queue, RoomWaiter } from '../state/records.js';
import type { CoreState } from '../state/state.js';
import { stopWaiting } from '../state/wait-list.js';
import {
  behindOthers,
  lackRefusal,
  lacks,
  memoryOf,
  type Need,
  needOf,
  needOfWaiter,
  refuseWaiter,
} from './capacity.js';
import { applySubmit } from './submit.js';

/**
 * First come, first served: the first that does not fit stops the others, even those that would fit. A smaller batch
 * that passes a larger one would let the larger one starve. `roomLack` says what the first one lacks, so that
 * `markAllRoom` wakes the queue only for that.
 */
export function serveRoom(state: CoreState, queue: Queue, now: number): void {
  for (const waiter of queue.roomWaiters) {
    const lack = serveWaiter(state, waiter, now);
    noteLack(state, queue, lack);
    if (lack !== undefined) return;
  }
}

/**
 * Plans the batch anew and serves or refuses it. An error in its dependencies is told only once the batch fits.
 *
 * @returns what it lacks; unset: it was answered
 */
function serveWaiter(state: CoreState, waiter: RoomWaiter, now: number): Lack | undefined {
  const { queue, request, reply } = waiter;
  const need = needOfWaiter(state, waiter, now);
  if (!('entries' in need)) {
    refuseWaiter(state, waiter, need);
    return undefined;
  }
  const lack = lacks(state, queue, need);
  if (lack === 'all_memory' && giveWay(state, memoryOf(need))) return serveWaiter(state, waiter, now);
  if (lack !== undefined) return lack;
  if (need.wrong !== undefined) refuseWaiter(state, waiter, need.wrong);
  else if (stopWaiting(state, waiter)) {
    othersCame(state, queue, need.entries);
    applySubmit(state, queue, request, reply, need, now);
  }
  return undefined;
}

/**
 * The wait ended: if it fits now it is served, else it is refused with what it lacks, or because others wait before it.
 */
export function endRoomWait(state: CoreState, waiter: RoomWaiter, now: number): void {
  const { queue, request } = waiter;
  const [first] = queue.roomWaiters;
  if (waiter !== first && needsPlaces(needOf(state, queue, request, now)))
    return refuseWaiter(state, waiter, behindOthers(queue, waiter));
  const lack = serveWaiter(state, waiter, now);
  if (lack !== undefined) refuseWaiter(state, waiter, lackRefusal(state, queue, lack));
}

/** A batch that needs no place in the queue (all of it known, declined or replacing another) overtakes nobody. */
function needsPlaces(need: Need | Refusal): boolean {
  return 'entries' in need && need.entries > 0;
}
