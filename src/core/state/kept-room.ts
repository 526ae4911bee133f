/**
 * Places of a full queue that are kept for a parcel of another partition (S524): who sends it comes again after a pause, and whoever
 * asks here all the time would take each place that comes free before it does.
 *
 * Every second place that comes free is kept, for the first in the line of those that were refused, until that one has as many as it
 * needs. The others are for the Submits that wait here for room, if there are any: no parcel takes them. A queue from which nothing
 * leaves is closed to nobody. Nothing is kept for a parcel for several queues: one of them may stand still, and the others would with it.
 *
 * What must leave the queue first may need a place in it. So when no more places come free all are given up, nothing is kept in this
 * queue for as long, and that partition stays away from the line for longer, each time for twice as long.
 */
import { after, isOver } from '../structures/due.js';
import { KeptRoom } from './kept-room-timer.js';
import { markRoom } from './marks.js';
import type { Queue } from './records.js';
import type { CoreState } from './state.js';

/** A parcel is sent again after 6 s at the latest, if its answer was lost, ms. */
const COMES_AGAIN = 7_000;
/** No place came free for so long, and so long nothing is kept then, ms. */
const STANDS_STILL = 30_000;
/** The time for which a partition stays away is doubled so many times at most. */
const MOST_DOUBLED = 5;

/**
 * The first parcel of that partition was refused: it stands in the line of the queue from the first time on.
 *
 * @param places what it needs; at most `max_waiting`
 */
export function keepRoom(state: CoreState, source: number, queue: Queue, places: number, now: number): void {
  leaveOthers(state, source, queue);
  const kept = state.keptRoom.get(queue) ?? begin(state, queue, now);
  if (!isOver(kept.failed.get(source)?.until ?? now, now)) return;
  kept.line.set(source, { places, at: now });
  dropSilent(state, kept, now);
  if (kept.rests || kept.first !== source) return;
  // It may need less than it did.
  letGo(state, kept, places);
  state.wheel.schedule(kept, after(now, COMES_AGAIN));
  if (kept.hasMoved || kept.places + kept.others === 0) {
    kept.movedAt = now;
    kept.hasMoved = false;
  } else if (now - kept.movedAt >= STANDS_STILL) rest(state, kept, source, now);
}

/** How many places of a queue are kept for parcels: nobody who asks here may have them. */
export function roomKept(state: CoreState, queue: Queue): number {
  // One look for nearly all: parcels are rare, and full queues that get some rarer.
  return state.keptRoom.size === 0 ? 0 : (state.keptRoom.get(queue)?.places ?? 0);
}

/** How many places a parcel of that partition may not have. */
export function roomKeptFrom(state: CoreState, queue: Queue, source: number): number {
  const kept = state.keptRoom.get(queue);
  if (kept === undefined) return 0;
  const free = queue.policy.maxWaiting - queue.waiting - kept.places;
  // A caller may have taken some of them.
  const others = queue.roomWaiters.size === 0 ? 0 : Math.max(0, Math.min(kept.others, free));
  return others + (kept.first === source ? 0 : kept.places);
}

/** A place of this queue has come free. */
export function placeFree(state: CoreState, queue: Queue): void {
  const kept = state.keptRoom.get(queue);
  if (kept === undefined) return;
  const { isReplaced } = kept;
  kept.isReplaced = false;
  if (queue.roomWaiters.size === 0) kept.others = 0;
  const [claim] = kept.line.values();
  if (isReplaced || kept.rests || claim === undefined) return;
  // What came by an Ack is in it already.
  if (queue.waiting + kept.places + kept.others >= queue.policy.maxWaiting) return;
  const isNeeded = kept.places < claim.places;
  if (isNeeded && !kept.isTurnOfOthers) kept.places += 1;
  else if (queue.roomWaiters.size > 0) kept.others += 1;
  if (!isNeeded) return;
  kept.hasMoved = true;
  kept.isTurnOfOthers = !kept.isTurnOfOthers;
}

/** An entry takes the place of another one, which leaves next. */
export function placeReplaced(state: CoreState, queue: Queue): void {
  const kept = state.keptRoom.get(queue);
  if (kept !== undefined) kept.isReplaced = true;
}

/** A Submit that waited for room has so many places now. */
export function othersCame(state: CoreState, queue: Queue, places: number): void {
  const kept = state.keptRoom.get(queue);
  if (kept !== undefined) kept.others = Math.max(0, kept.others - places);
}

/** A parcel of that partition has come. */
export function roomTaken(state: CoreState, source: number, now: number): void {
  for (const kept of state.keptRoom.values()) {
    kept.failed.delete(source);
    if (leave(state, kept, source)) dropSilent(state, kept, now);
  }
}

/** It has rested; or the first in the line was silent for too long; or nobody came for a while. */
export function keptRoomDue(state: CoreState, kept: KeptRoom, now: number): void {
  kept.rests = false;
  dropSilent(state, kept, now);
  const [claim] = kept.line.values();
  let until = claim === undefined ? now : after(claim.at, COMES_AGAIN);
  // Else they would begin anew.
  if (claim === undefined)
    for (const failure of kept.failed.values()) until = Math.max(until, failure.until + COMES_AGAIN);
  if (until > now) state.wheel.schedule(kept, until);
  else state.keptRoom.delete(kept.queue);
}

/** The queue goes. */
export function forgetRoomIn(state: CoreState, queue: Queue): void {
  const kept = state.keptRoom.get(queue);
  if (kept === undefined) return;
  state.wheel.cancel(kept);
  state.keptRoom.delete(queue);
}

function begin(state: CoreState, queue: Queue, now: number): KeptRoom {
  const kept = new KeptRoom(queue);
  state.keptRoom.set(queue, kept);
  state.wheel.schedule(kept, after(now, COMES_AGAIN));
  return kept;
}

/** Its parcels come in order, so what was refused elsewhere is on its way no more. */
function leaveOthers(state: CoreState, source: number, queue: Queue): void {
  for (const kept of state.keptRoom.values()) if (kept.queue !== queue) leave(state, kept, source);
}

/** Those before the first that is still there: places would be kept for nobody. */
function dropSilent(state: CoreState, kept: KeptRoom, now: number): void {
  for (const [source, { at }] of kept.line) {
    if (!isOver(after(at, COMES_AGAIN), now)) return;
    leave(state, kept, source);
  }
}

/** Whose turn it is and what is the others’ stay known for a while: a partition that has more to send is in the line again at once. */
function leave(state: CoreState, kept: KeptRoom, source: number): boolean {
  const wasFirst = kept.first === source;
  if (!kept.line.delete(source)) return false;
  if (wasFirst) letGo(state, kept, 0);
  return true;
}

function rest(state: CoreState, kept: KeptRoom, first: number, now: number): void {
  const times = Math.min((kept.failed.get(first)?.times ?? 0) + 1, MOST_DOUBLED);
  kept.failed.set(first, { times, until: after(now, STANDS_STILL * 2 ** times) });
  leave(state, kept, first);
  kept.others = 0;
  kept.rests = true;
  state.wheel.schedule(kept, after(now, STANDS_STILL));
}

/** No more than so many are kept: who waits for room is looked at. */
function letGo(state: CoreState, kept: KeptRoom, places: number): void {
  if (kept.places <= places) return;
  kept.places = places;
  markRoom(state, kept.queue);
}
