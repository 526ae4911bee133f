/**
 * Places of a full queue that are kept for a parcel of another partition (S524): who sends it comes again after a pause, and whoever
 * asks here all the time would take each place that comes free before it does.
 *
 * Every second place that comes free is kept, for the first in the line of those that were refused, until that one has as many as it
 * needs. So neither side can starve the other, however many partitions send, and a queue that is not full, or stands still, is
 * closed to nobody. Nothing is kept for a parcel for several queues: one of them may stand still, and the others would with it.
 *
 * What must leave the queue first may need a place in it. So when no more places come free all are given up, and nothing is kept in
 * this queue for as long; each time that follows, for twice as long.
 */
import { after } from '../structures/due.js';
import { KeptRoom } from './kept-room-timer.js';
import { markRoom } from './marks.js';
import type { Queue } from './records.js';
import type { CoreState } from './state.js';

/** A parcel is sent again after 6 s at the latest, if its answer was lost, ms. */
const COMES_AGAIN = 7_000;
/** No place came free for so long, ms. A worker that takes longer for each of its items is alone. */
const STANDS_STILL = 15_000;
/** The first rest, ms. It is doubled so many times at most. */
const REST = 15_000;
const MOST_DOUBLED = 4;

/**
 * The first parcel of that partition was refused: it stands in the line of the queue from the first time on.
 *
 * @param places what it needs; at most `max_waiting`
 */
export function keepRoom(state: CoreState, source: number, queue: Queue, places: number, now: number): void {
  leaveOthers(state, source, queue);
  const kept = state.keptRoom.get(queue) ?? begin(state, queue, now);
  kept.line.set(source, { places, at: now });
  if (kept.rests || kept.first !== source) return;
  state.wheel.schedule(kept, after(now, COMES_AGAIN));
  if (kept.hasMoved || kept.places === 0) {
    kept.movedAt = now;
    kept.hasMoved = false;
  } else if (now - kept.movedAt >= STANDS_STILL) rest(state, kept, now);
}

/** How many places of a queue are kept for others. @param source a partition, for whose parcel it is asked */
export function roomKept(state: CoreState, queue: Queue, source?: number): number {
  // One look for nearly all: parcels are rare, and full queues that get some rarer.
  if (state.keptRoom.size === 0) return 0;
  const kept = state.keptRoom.get(queue);
  return kept === undefined || kept.places === 0 || kept.first === source ? 0 : kept.places;
}

/** A place of this queue has come free. */
export function placeFree(state: CoreState, queue: Queue): void {
  const kept = state.keptRoom.get(queue);
  const [claim] = kept?.line.values() ?? [];
  if (kept === undefined || kept.rests || claim === undefined || kept.places >= claim.places) return;
  // What took the place of another, or came by an Ack, is in it already.
  if (queue.waiting + kept.places >= queue.policy.maxWaiting) return;
  if (!kept.isTurnOfOthers) kept.places += 1;
  kept.hasMoved = true;
  kept.isTurnOfOthers = !kept.isTurnOfOthers;
}

/** A parcel of that partition has come. */
export function roomTaken(state: CoreState, source: number): void {
  for (const kept of state.keptRoom.values()) if (leave(state, kept, source)) kept.rested = 0;
}

/** It has rested; or the first in the line was silent for too long, and so perhaps were those behind it. */
export function keptRoomDue(state: CoreState, kept: KeptRoom, now: number): void {
  kept.rests = false;
  for (const [source, { at }] of kept.line) {
    const until = after(at, COMES_AGAIN);
    if (until > now) return state.wheel.schedule(kept, until);
    leave(state, kept, source);
  }
  state.keptRoom.delete(kept.queue);
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

/** Whose turn it is stays known for a while: a partition that has more to send is in the line again at once. */
function leave(state: CoreState, kept: KeptRoom, source: number): boolean {
  const wasFirst = kept.first === source;
  if (!kept.line.delete(source)) return false;
  if (wasFirst) letGo(state, kept);
  return true;
}

/** Who comes next is behind all others, and those who ask all the time have the queue to themselves. */
function rest(state: CoreState, kept: KeptRoom, now: number): void {
  const { line, first } = kept;
  const claim = first === undefined ? undefined : line.get(first);
  if (first !== undefined && claim !== undefined) {
    line.delete(first);
    line.set(first, claim);
  }
  letGo(state, kept);
  kept.rests = true;
  state.wheel.schedule(kept, after(now, REST * 2 ** Math.min(kept.rested, MOST_DOUBLED)));
  kept.rested += 1;
}

/** Nothing is kept: who waits for room is looked at. */
function letGo(state: CoreState, kept: KeptRoom): void {
  if (kept.places > 0) markRoom(state, kept.queue);
  kept.places = 0;
}
