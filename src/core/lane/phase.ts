/**
 * The one writer of a lane's phase. Each verb also moves what belongs to the phase: the list in which the lane stands,
 * its timer, and the counts.
 *
 *      rest        INIT      nothing to do: among the idle lanes
 *      delay       DELAY     on the timing wheel, or nowhere if nobody knows until when
 *      makeReady   READY     in a ready list of its queue, counted by the order in which lanes became ready
 *      hold        HELD      counted as PROCESS or BLOCK by its line; how long is the turn's (`turn-lifetime.ts`)
 *      park        PARK      in no list
 *
 * After `release` and `unpark` the lane is between two phases: its phase is INIT, and it is counted as what it was. So a
 * turn that passes from one to the next moves no count, and no idle lane is forgotten for it. Whoever calls one of the
 * two makes the lane go on in the same step, by `resolve` or `hold`.
 */

import { tell } from '../state/events.js';
import { COSTS, ownCostOfTurn } from '../state/held.js';
import { isKeyless, parkOf } from '../state/lane.js';
import { type CountedState, STATES } from '../state/lane-states.js';
import { markAllRoom, markDirty } from '../state/marks.js';
import { type Delay, INIT, type Park, type Ready } from '../state/phases.js';
import { type Lane, PLAIN_CALLER, type Turn } from '../state/records.js';
import { type CoreState, dropLane } from '../state/state.js';
import { append, isLinked, unlink } from '../structures/link.js';

/**
 * Makes the turn the live one. Precondition: the lane has none. The caller sets the timer of the lane afterwards: a
 * lane that holds a turn is on the wheel, or in the list of the session to which the turn is tied.
 *
 * The turn keeps the reason for which the key is parked (S90). Only an adopted or restored turn meets a parked key:
 * `resolve` starts none there.
 */
export function hold(state: CoreState, lane: Lane, turn: Turn): void {
  if (isLinked(lane)) unlink(lane);
  turn.parked = parkOf(lane);
  lane.phase = turn;
  turn.account?.change(ownCostOfTurn(turn), 1);
  lane.queue.inFlight += 1;
  count(state, lane, lane.line === undefined ? STATES.PROCESS : STATES.BLOCK);
}

/**
 * The turn is no longer the live one. A key that was parked when the turn began is parked again, unless somebody
 * resumed it meanwhile (S90). Precondition: the turn is not tied any more, so the only list that the lane can stand in
 * is the wheel.
 */
export function release(state: CoreState, turn: Turn): void {
  const { lane, parked, epoch } = turn;
  const { queue } = lane;
  if (turn.account !== undefined) {
    turn.account.change(-ownCostOfTurn(turn), -1);
    turn.account = undefined;
  }
  // A turn that ended must not keep the items it carried.
  if (turn.assignment.kind === 'items') turn.assignment = PLAIN_CALLER;
  state.wheel.cancel(lane);
  queue.holds.end(epoch);
  queue.inFlight -= 1;
  // One turn less may open the gate `max_in_flight`: the end of the step looks at the queue.
  if (queue.maxInFlight !== undefined) markDirty(state, queue);
  if (parked === undefined) lane.phase = INIT;
  else parkAgain(state, lane, parked);
}

/**
 * Nobody may start before `until`. A lane that is in DELAY already keeps its `since`: it tells since when the key is in
 * this state, whatever the cause became meanwhile (S122).
 *
 * @param until whole ms; unset: nobody knows, as for a head that waits for other items
 */
export function delay(
  state: CoreState,
  lane: Lane,
  until: number | undefined,
  because: Delay['because'],
  now: number,
): void {
  const { phase } = lane;
  const due = until ?? Number.POSITIVE_INFINITY;
  // What is already on the wheel for that moment keeps its place among those of the same moment.
  if (phase.at === 'DELAY' && phase.because === because && lane.due === due) return;
  if (phase.at !== 'DELAY') lane.phase = { at: 'DELAY', since: now, because };
  else if (phase.because !== because) lane.phase = { ...phase, because };
  // A lane stands in one list at a time. Both calls also take it out of the ready list that it may stand in.
  if (until === undefined) {
    state.wheel.cancel(lane);
    lane.due = due;
  } else state.wheel.schedule(lane, until);
  count(state, lane, STATES.DELAY);
}

/**
 * The head could start: a caller waits for a gate, an item for a worker. A lane that waits for the same already keeps
 * its place among the ready ones. One that waits for something else from now on is the last to become so, but keeps
 * `since`.
 */
export function makeReady(state: CoreState, lane: Lane, waitsFor: Ready['waitsFor'], now: number): void {
  const { queue, phase } = lane;
  // Also for a lane that was ready before: its gate may be open by now. Items without a waiting Acquire need no look.
  if (waitsFor === 'gate' || queue.waiters.size > 0) markDirty(state, queue);
  if (phase.at === 'READY' && phase.waitsFor === waitsFor) return;
  if (isLinked(lane)) unlink(lane);
  state.readyOrder += 1;
  const since = phase.at === 'READY' ? phase.since : now;
  lane.phase = { at: 'READY', since, order: state.readyOrder, waitsFor };
  append(waitsFor === 'gate' ? queue.gatedLanes : queue.readyLanes, lane);
  count(state, lane, STATES.READY);
}

/** Nothing is to be done for the key. Precondition: it has no holder, its line is empty, and it is not parked. */
export function rest(state: CoreState, lane: Lane): void {
  // One that rests already keeps its place among the idle ones.
  if (lane.counted.isBusy && isLinked(lane)) unlink(lane);
  lane.phase = INIT;
  count(state, lane, STATES.INIT);
}

/** Parks the lane until somebody resumes it, and writes this down. Precondition: it has no holder. */
export function park(state: CoreState, lane: Lane, reason: Park, now: number): void {
  if (isLinked(lane)) unlink(lane);
  parkAgain(state, lane, reason);
  lane.queue.changes?.park(lane);
  if (state.watching) tell(state, 'park', lane, now, { itemId: reason.itemId, detail: reason.because });
}

/**
 * Parks a lane that was parked before: when its turn began, or when the process ended. The row of it is on disk
 * already, and no event is emitted. Precondition: the lane is in no list.
 */
export function parkAgain(state: CoreState, lane: Lane, reason: Park): void {
  lane.phase = reason;
  if (lane.key === '') lane.queue.keylessParked.add(lane);
  count(state, lane, STATES.PARK);
}

/**
 * Lets the lane go on, when its turn ends if it has one (S90). Without a turn the caller calls `resolve` in the same
 * step.
 *
 * @returns whether it was parked
 */
export function unpark(lane: Lane): boolean {
  if (parkOf(lane) === undefined) return false;
  if (lane.phase.at === 'HELD') lane.phase.parked = undefined;
  else lane.phase = INIT;
  lane.queue.keylessParked.delete(lane);
  lane.queue.changes?.park(lane);
  return true;
}

/** After a restart: what the lane does now began before, at this moment at the earliest. */
export function beganBefore(lane: Lane, since: number): void {
  const { phase } = lane;
  if (phase.at !== 'READY' && phase.at !== 'DELAY') return;
  const earliest = Math.min(phase.since, since);
  // Field by field: of a million lanes a copy by spreading costs a tenth of the start.
  if (phase.at === 'DELAY') {
    lane.phase = { at: 'DELAY', since: earliest, because: phase.because, fromBefore: true };
    return;
  }
  const { order, waitsFor } = phase;
  lane.phase = { at: 'READY', since: earliest, order, waitsFor, fromBefore: true };
}

/**
 * A lane that is new counts as INIT; it joins the idle lanes only when it comes to rest. So the LRU cannot drop it
 * between the arrival that made it and the decision about that arrival.
 */
export function countNew(state: CoreState, lane: Lane): void {
  state.chargedBytes += COSTS.lane + lane.key.length;
  lane.queue.states.add(STATES.INIT, 1);
}

/**
 * The arrival was rejected or answered at once, and left no trace: a lane that was made for it goes to rest. To be
 * called after every arrival; a lane that is busy or idle already stays as it is.
 */
export function restIfNew(state: CoreState, lane: Lane): void {
  if (lane.phase === INIT && lane.line === undefined && lane.rests === undefined) joinIdle(state, lane);
}

/**
 * The lane is counted as what it is now, and comes among the idle ones or out of them. `counted` is what it was counted as
 * last, so a move that ends where it began costs nothing.
 *
 * Invariants: `queue.states` counts each lane once, under `counted`; `busyLanes` counts the lanes that are not in INIT.
 */
function count(state: CoreState, lane: Lane, now: CountedState): void {
  const was = lane.counted;
  if (now === was) return;
  lane.queue.states.move(was, now);
  lane.counted = now;
  if (!was.isBusy) {
    state.busyLanes += 1;
    // It left the list of the idle ones as it leaves any other.
    state.idle.wake(lane);
  } else if (!now.isBusy) {
    // Submits that wait because too many keys are busy may fit now (S100).
    state.busyLanes -= 1;
    markAllRoom(state, 'lanes');
    joinIdle(state, lane);
  }
}

/** A keyless lane that never had a turn can be found by nobody: there is nothing to remember. */
function joinIdle(state: CoreState, lane: Lane): void {
  if (isKeyless(lane.key) && lane.settlements === undefined) dropLane(state, lane);
  else state.idle.add(lane);
}
