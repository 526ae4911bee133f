import { AcquireWaiter } from './acquire-waiter.js';
import { endWait, giveUp } from './arrivals.js';
import { AwaitWaiter, endAwait } from './await.js';
import { endWaiter } from './dispatch.js';
import { expire, watchDue } from './expiry.js';
import { markDirty } from './gates.js';
import { Lane } from './lane.js';
import { Caller } from './line.js';
import { keepHouse } from './lookup.js';
import { TurnWatch } from './notices.js';
import { GateTimer } from './queue.js';
import { endRoomWait, RoomWaiter } from './room.js';
import { Session } from './session.js';
import { endNextTurn } from './sessions.js';
import { type CoreState, Housekeeping, NewsTimer } from './state.js';
import type { Timer } from './timing-wheel.js';

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
  if (moves.wait_ends === 'leave') endWait(state, caller, now);
}
