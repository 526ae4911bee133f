/**
 * Places of full queues that are kept for parcels of other partitions (S524): who sends one comes again after a pause, and whoever
 * asks here all the time would take each place that comes free before it does.
 *
 * All partitions that were refused stand in one line, whatever their queues: with a line for each queue two parcels for two queues
 * could wait for each other.
 */
import { after } from '../structures/due.js';
import { KeptRoom } from './kept-room-timer.js';
import { markRoom } from './marks.js';
import type { Queue } from './records.js';
import type { CoreState } from './state.js';

/** ms; a parcel is sent again after 1 s at the latest. */
const ROOM_IS_KEPT = 3_000;

/** @param entries what the first parcel of that partition needs. Where it stands in the line it stays. */
export function keepRoom(state: CoreState, source: number, entries: ReadonlyMap<Queue, number>, now: number): void {
  const kept = state.keptRoom.get(source) ?? new KeptRoom(source);
  letGo(state, kept);
  kept.entries = entries;
  state.keptRoom.set(source, kept);
  state.wheel.schedule(kept, after(now, ROOM_IS_KEPT));
}

/** How many places of a queue are kept for others. @param source a partition: only those before it in the line count */
export function roomKept(state: CoreState, queue: Queue, source?: number): number {
  // One look for nearly all: parcels are rare, and full queues that get some rarer.
  if (state.keptRoom.size === 0) return 0;
  let places = 0;
  for (const kept of state.keptRoom.values()) {
    if (kept.source === source) break;
    places += kept.entries.get(queue) ?? 0;
  }
  return places;
}

/** The parcel has come, or nobody came: its partition has no place in the line any more. */
export function forgetRoom(state: CoreState, source: number): void {
  const kept = state.keptRoom.get(source);
  if (kept === undefined) return;
  state.keptRoom.delete(source);
  state.wheel.cancel(kept);
  letGo(state, kept);
}

/** The queue goes. */
export function forgetRoomIn(state: CoreState, queue: Queue): void {
  for (const kept of state.keptRoom.values())
    if (kept.entries.has(queue)) kept.entries = new Map([...kept.entries].filter(([one]) => one !== queue));
}

/** Who waits for room is looked at. */
function letGo(state: CoreState, { entries }: KeptRoom): void {
  for (const queue of entries.keys()) markRoom(state, queue);
}
