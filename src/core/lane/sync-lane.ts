import { rowOf } from '../state/lane.js';
import { markAllRoom } from '../state/marks.js';
import { INIT, type Lane, PLAIN_CALLER, type Turn } from '../state/records.js';
import { type CoreState, dropLane } from '../state/state.js';
import { ROWS } from '../state/table.js';

/**
 * Brings the counts by state and the idle LRU in line with what the lane is now. Every step that changed a lane's
 * phase or line ends with this.
 */
export function syncLane(state: CoreState, lane: Lane): void {
  const now = rowOf(lane);
  const was = lane.row;
  if (now === was) return;
  const { states } = lane.queue;
  states.move(was, now);
  lane.row = now;
  if (lane.spare !== undefined && lane.phase !== lane.spare) unload(lane.spare);
  if (was === ROWS.INIT) {
    state.busyLanes += 1;
    // Those that link it elsewhere have done so before; a lane that parks is in no other list.
    state.idle.delete(lane);
  } else if (now === ROWS.INIT) {
    state.busyLanes -= 1;
    markAllRoom(state, 'lanes');
    rest(state, lane);
  }
}

/** A turn that ended must not keep the items it carried. */
function unload(turn: Turn): void {
  if (turn.assignment.kind === 'items') turn.assignment = PLAIN_CALLER;
}

/** A keyless lane that never had a turn can be found by nobody: there is nothing to remember. */
function rest(state: CoreState, lane: Lane): void {
  if (lane.key === '' && lane.settlements === undefined) dropLane(lane);
  else state.idle.add(lane);
}

/** A lane that is new counts as INIT; it joins the LRU only when it comes to rest. */
export function countNew(lane: Lane): void {
  lane.queue.states.add(ROWS.INIT, 1);
}

/** Rejected or answered at once: a lane that was made for an arrival that left no trace goes to rest. */
export function restIfNew(state: CoreState, lane: Lane): void {
  if (lane.phase === INIT && lane.line === undefined && lane.rests === undefined) rest(state, lane);
}
