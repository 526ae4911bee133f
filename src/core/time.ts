import { AcquireWaiter } from './acquire-waiter.js';
import { endWait, giveUp } from './arrivals.js';
import { AwaitWaiter, endAwait } from './await.js';
import { endWaiter } from './dispatch.js';
import { expire } from './expiry.js';
import { closedGate, markDirty } from './gates.js';
import { Lane, LOST, turnOf } from './lane.js';
import { Caller } from './line.js';
import { keepHouse } from './lookup.js';
import { GateTimer } from './queue.js';
import { delayOf, resolve } from './resolve.js';
import { RoomWaiter, refuseWaiter } from './room.js';
import { type CoreState, Housekeeping } from './state.js';
import type { Timer } from './timing-wheel.js';
import { endTurn } from './turns.js';

/** How often the house is kept, ms. */
export const HOUSEKEEPING = 10_000;

/** A moment has come. */
export function fire(state: CoreState, timer: Timer, now: number): void {
  if (timer instanceof Lane) expire(state, timer, now);
  else if (timer instanceof Caller) callerDue(state, timer, now);
  else if (timer instanceof AcquireWaiter) endWaiter(state, timer);
  else if (timer instanceof RoomWaiter) refuseWaiter(state, timer);
  else if (timer instanceof AwaitWaiter) endAwait(state, timer, now);
  else if (timer instanceof GateTimer) markDirty(state, timer.queue);
  else if (timer instanceof Housekeeping) {
    keepHouse(state, now);
    state.wheel.schedule(timer, Math.ceil(now + HOUSEKEEPING));
  }
}

/** The end of a wait, or of the ticket of one who is absent. */
function callerDue(state: CoreState, caller: Caller, now: number): void {
  const { moves } = caller.lane.row;
  if (caller.asker === undefined) {
    if (moves.ticket_ends !== 'nothing') giveUp(state, caller, now);
    return;
  }
  if (moves.wait_ends !== 'leave') return;
  if (moves.take_over === 'end_turn' && mayTakeOver(state, caller, now)) takeOver(state, caller.lane, now);
  if (caller.lane.queue.callers.has(caller)) endWait(state, caller, now);
}

/** S16. Nobody is driven out for one who could not start anyway. */
function mayTakeOver(state: CoreState, caller: Caller, now: number): boolean {
  const { lane } = caller;
  const { policy } = lane.queue;
  const turn = turnOf(lane);
  if (policy.onWaitTimeout !== 'take_over' || turn?.cargo.kind !== 'caller' || lane.line?.head !== caller) return false;
  if (now - caller.arrivedAt < policy.wait || now - turn.since < policy.wait) return false;
  const gate = closedGate(state, lane.queue, now);
  return delayOf(lane, caller, now) === undefined && (gate === undefined || gate.why === 'max_in_flight');
}

function takeOver(state: CoreState, lane: Lane, now: number): void {
  const turn = turnOf(lane);
  if (turn === undefined) return;
  endTurn(state, turn, 'taken_over', LOST.taken_over, now);
  // The freed place is its own: it does not line up at the gate for it.
  resolve(state, lane, now, true);
}
