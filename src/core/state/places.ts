/** Places in lines, and what is counted with them. */

import { Line } from '../structures/line.js';
import { placeFree } from './kept-room.js';
import { type CountedState, STATES } from './lane-states.js';
import { markRoom } from './marks.js';
import { Caller, type Entry, type Lane } from './records.js';
import type { CoreState } from './state.js';
import { startWaiting, stopWaiting } from './wait-list.js';

/** The line, made if there is none. A lane whose line is empty has none: the caller has to put an entry in. */
export function lineOf(lane: Lane): Line<Entry> {
  lane.line ??= new Line<Entry>();
  return lane.line;
}

/** To be called for every entry that was put in a line. Of a lane that is held the first one makes BLOCK of PROCESS. */
export function countIn(state: CoreState, entry: Entry): void {
  const { lane } = entry;
  const { queue } = lane;
  if (lane.counted === STATES.PROCESS) countAs(lane, STATES.BLOCK);
  if (entry instanceof Caller) {
    startWaiting(state, entry);
    // A line that it fills declines what waits for room, which then needs none.
    markRoom(state, queue);
  } else {
    queue.waitingItems += 1;
  }
}

/**
 * Takes an entry out of its line, and its place with it: the last one makes PROCESS of BLOCK. Its call, if it has one,
 * is still to be answered.
 */
export function takeOut(state: CoreState, entry: Entry): void {
  const lane = entry.lane;
  lane.line?.remove(entry);
  if (lane.line?.length === 0) {
    lane.line = undefined;
    if (lane.counted === STATES.BLOCK) countAs(lane, STATES.PROCESS);
  }
  countOut(state, entry);
}

/** What waits for room may fit now, so the queue is looked at once more. */
function countOut(state: CoreState, entry: Entry): void {
  const queue = entry.lane.queue;
  if (entry instanceof Caller) stopWaiting(state, entry);
  else queue.waitingItems -= 1;
  if (state.keptRoom.size > 0) placeFree(state, queue);
  markRoom(state, queue);
}

/** Moves the lane between PROCESS and BLOCK in the counts; its phase stays HELD. */
function countAs(lane: Lane, state: CountedState): void {
  lane.queue.states.move(lane.counted, state);
  lane.counted = state;
}
