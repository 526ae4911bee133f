import { endRoomWait } from './admission/room-waiters.js';
import { endNextTurn } from './calls/sessions.js';
import { endWaiter } from './dispatch/dispatch.js';
import { finishStep } from './dispatch/step-end.js';
import { endAwait } from './items/await.js';
import { endWait, giveUp, isWaiting } from './lane/arrivals.js';
import { endPhase } from './lane/current-lanes.js';
import { expire, watchDue } from './lane/expiry.js';
import { closedGate } from './lane/gates.js';
import { markDirty } from './state/marks.js';
import { keepHouse } from './state/queues.js';
import {
  AcquireWaiter,
  AwaitWaiter,
  Caller,
  GateTimer,
  Lane,
  RoomWaiter,
  Session,
  TurnWatch,
} from './state/records.js';
import { type CoreState, Housekeeping, NewsTimer } from './state/state.js';
import type { Timer } from './structures/timing-wheel.js';

/** How often the house is kept, ms. */
export const HOUSEKEEPING = 10_000;

/** A moment has come. */
export function fire(state: CoreState, timer: Timer, now: number): void {
  if (timer instanceof Lane) expire(state, timer, now);
  else if (timer instanceof Caller) callerDue(state, timer, now);
  else if (timer instanceof AcquireWaiter) endWaiter(state, timer);
  else if (timer instanceof RoomWaiter) endRoomWait(state, timer, now);
  else if (timer instanceof AwaitWaiter) endAwait(state, timer, now);
  else if (timer instanceof TurnWatch) watchDue(state, timer, now);
  else if (timer instanceof Session) endNextTurn(state, timer, now);
  else if (timer instanceof GateTimer) markDirty(state, timer.queue);
  else if (timer instanceof NewsTimer) return;
  else if (timer instanceof Housekeeping) {
    keepHouse(state, now);
    state.wheel.schedule(timer, Math.ceil(now + HOUSEKEEPING));
  }
}

/** The end of a wait, or of the ticket of one who is absent. */
function callerDue(state: CoreState, caller: Caller, now: number): void {
  const { moves } = caller.lane.row;
  if (caller.asker === undefined) {
    if (moves.ticket_ends !== 'nothing') giveUp(state, caller, 'ticket_ended', now);
    return;
  }
  if (moves.wait_ends !== 'leave') return;
  startIfFree(state, caller, now);
  if (isWaiting(caller)) endWait(state, caller, now);
}

/** What holds the key may end at this very moment, too (S1), and a gate open: nobody is told BLOCK whose turn it is. */
function startIfFree(state: CoreState, { lane }: Caller, now: number): void {
  endPhase(state, lane, now);
  const { phase, queue } = lane;
  if (phase.at !== 'READY' || phase.waitsFor !== 'gate' || closedGate(state, queue, now) !== undefined) return;
  markDirty(state, queue);
  finishStep(state, now);
}
