/**
 * Places of a full queue that are kept for a parcel of another partition (S524): who sends it comes again after a pause, and whoever
 * asks here all the time would take each place that comes free before it does.
 */
import { after } from '../structures/due.js';
import { KeptRoom } from './kept-room-timer.js';
import { markRoom } from './marks.js';
import type { Queue } from './records.js';
import type { CoreState } from './state.js';

/** ms; a parcel is sent again after 1 s at the latest. */
const ROOM_IS_KEPT = 3_000;

/** First come, first served: what is kept for one partition is not taken over by another. */
export function keepRoom(state: CoreState, queue: Queue, source: number, entries: number, now: number): void {
  if (roomKept(state, queue, source) > 0) return;
  forgetRoom(state, queue);
  const kept = new KeptRoom(queue, source, entries);
  state.keptRoom.set(queue, kept);
  state.wheel.schedule(kept, after(now, ROOM_IS_KEPT));
}

/** How many places are kept for others. @param source the partition that asks; unset: nobody keeps places for who asks */
export function roomKept(state: CoreState, queue: Queue, source?: number): number {
  // One look for nearly all: parcels are rare, and full queues that get some rarer.
  if (state.keptRoom.size === 0) return 0;
  const kept = state.keptRoom.get(queue);
  return kept === undefined || kept.source === source ? 0 : kept.entries;
}

/** The parcel has come. What is kept for another one stays. */
export function roomTaken(state: CoreState, queue: Queue, source: number): void {
  if (state.keptRoom.get(queue)?.source === source) forgetRoom(state, queue);
}

/** The queue goes, or nobody came. */
export function forgetRoom(state: CoreState, queue: Queue): void {
  const kept = state.keptRoom.get(queue);
  if (kept === undefined) return;
  state.wheel.cancel(kept);
  state.keptRoom.delete(queue);
  markRoom(state, queue);
}
