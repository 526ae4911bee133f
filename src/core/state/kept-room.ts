/**
 * Places of a full queue that are kept for a parcel of another partition (S524): who sends it comes again after a pause, and whoever
 * asks here all the time would take each place that comes free before it does.
 */
import { after } from '../structures/due.js';
import { Timer } from '../structures/timing-wheel.js';
import { markRoom } from './marks.js';
import type { Queue } from './records.js';
import type { CoreState } from './state.js';

/** ms; a parcel is sent again after 1 s at the latest. */
export const ROOM_IS_KEPT = 3_000;

/** Fires when nobody came for it: the partition has another home, or sends its parcel elsewhere. */
export class KeptRoom extends Timer {
  /** @param entries how many places the parcel needs @param source the partition from which it comes */
  constructor(
    readonly queue: Queue,
    readonly source: number,
    readonly entries: number,
  ) {
    super();
  }

  get kind(): 'kept_room' {
    return 'kept_room';
  }
}

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
