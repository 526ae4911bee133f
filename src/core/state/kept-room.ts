/**
 * Places of a full queue that are kept for a parcel of another partition (S524): who sends it comes again after a pause, and whoever
 * asks here all the time would take each place that comes free before it does.
 *
 * Nothing is kept for long: what must leave the queue first may need a place in it, too. And nothing is kept for a parcel for
 * several queues: one of them may stand still, and the others would with it.
 */
import { after } from '../structures/due.js';
import { KeptRoom } from './kept-room-timer.js';
import { markRoom } from './marks.js';
import type { Queue } from './records.js';
import type { CoreState } from './state.js';

/** A parcel is sent again after 6 s at the latest, if its answer was lost, ms. */
const COMES_AGAIN = 7_000;
/** Places are kept for so long from the first time on that a parcel was refused, ms. */
const KEPT_FOR = 10_000;
/** Then, and after a parcel that came, others have the same chance for so long, ms. */
const REST = 5_000;

/** @param places what the first parcel of that partition needs. Where it stands in the line it stays. */
export function keepRoom(state: CoreState, source: number, queue: Queue, places: number, now: number): void {
  const kept = state.keptRoom.get(source) ?? new KeptRoom(source);
  // It rests.
  if (kept.claim === undefined && state.keptRoom.has(source)) return;
  const since = kept.claim?.since ?? now;
  if (now - since >= KEPT_FOR) return rest(state, kept, now);
  letGo(state, kept);
  kept.claim = { queue, places, since };
  state.keptRoom.set(source, kept);
  state.wheel.schedule(kept, after(now, COMES_AGAIN));
}

/** How many places of a queue are kept for others. @param source a partition: only those before it in the line count */
export function roomKept(state: CoreState, queue: Queue, source?: number): number {
  // One look for nearly all: parcels are rare, and full queues that get some rarer.
  if (state.keptRoom.size === 0) return 0;
  let places = 0;
  for (const { claim, source: other } of state.keptRoom.values()) {
    if (claim === undefined) continue;
    if (other === source) break;
    if (claim.queue === queue) places += claim.places;
  }
  return places;
}

/** A parcel of that partition has come. */
export function roomTaken(state: CoreState, source: number, now: number): void {
  const kept = state.keptRoom.get(source);
  if (kept?.claim !== undefined) rest(state, kept, now);
}

/** Nobody came, or it has rested. */
export function forgetRoom(state: CoreState, kept: KeptRoom): void {
  state.keptRoom.delete(kept.source);
  letGo(state, kept);
}

/** The queue goes. */
export function forgetRoomIn(state: CoreState, queue: Queue): void {
  for (const kept of state.keptRoom.values()) {
    if (kept.claim?.queue !== queue) continue;
    state.wheel.cancel(kept);
    forgetRoom(state, kept);
  }
}

/** Behind all others, when it comes again. */
function rest(state: CoreState, kept: KeptRoom, now: number): void {
  letGo(state, kept);
  state.wheel.schedule(kept, after(now, REST));
}

/** Who waits for room is looked at. */
function letGo(state: CoreState, kept: KeptRoom): void {
  if (kept.claim !== undefined) markRoom(state, kept.claim.queue);
  kept.claim = undefined;
}
