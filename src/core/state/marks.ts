/** What the end of the step has to look at once more. */
import type { Lack, Queue } from './records.js';
import type { CoreState } from './state.js';

/** The queue is looked at once more at the end of this step: something may start. */
export function markDirty(state: CoreState, queue: Queue): void {
  if (queue.dirty) return;
  queue.dirty = true;
  state.dirty.push(queue);
}

/**
 * There is more of something that all queues have together. Only those whose first Submit lacked it are looked at: each
 * look counts a whole batch. What makes a batch need less marks its queue with {@link markRoom} instead.
 */
export function markAllRoom(state: CoreState, what: Lack, orElse: Lack = what): void {
  state.share?.roomMade();
  if (state.roomQueues.size > 0) markThoseThatLack(state, what, orElse);
}

/** Apart from who calls it: an end of a turn that wakes nobody pays one look. */
function markThoseThatLack(state: CoreState, what: Lack, orElse: Lack): void {
  for (const queue of state.roomQueues) {
    const { roomLack } = queue;
    // A lane that rests may be forgotten for it, and so may a result.
    const isWanted = roomLack === undefined || roomLack === what || roomLack === orElse || roomLack === 'all_memory';
    if (isWanted) state.roomDirty.add(queue);
  }
}

/** Other cores of this process use less: those that lack what all have together are looked at. */
export function markRoomElsewhere(state: CoreState): void {
  for (const queue of state.roomQueues) if (queue.roomLack !== 'queue') state.roomDirty.add(queue);
}

/** Its Submits that wait for room are looked at when everything that may start has started. */
export function markRoom(state: CoreState, queue: Queue): void {
  if (queue.roomWaiters.size > 0) state.roomDirty.add(queue);
}
