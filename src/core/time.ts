import { endRoomWait } from './admission/room-waiters.js';
import { endNextTurn } from './calls/sessions.js';
import { endWaiter } from './dispatch/dispatch.js';
import { finishStep } from './dispatch/step-end.js';
import { endAwait } from './items/await.js';
import { endWait, giveUp } from './lane/arrivals.js';
import { endPhase } from './lane/current-lanes.js';
import { expire, watchDue } from './lane/expiry.js';
import { closedGate } from './lane/gates.js';
import { forgetGroups } from './leaders/groups.js';
import { goOn } from './leaders/terms.js';
import { keptRoomDue } from './state/kept-room.js';
import { markDirty } from './state/marks.js';
import { keepHouse } from './state/queues.js';
import type { Caller } from './state/records.js';
import type { CoreState, CoreTimer } from './state/state.js';
import { isWaiting } from './state/wait-list.js';
import { after } from './structures/due.js';

/** How often what is over its time is forgotten, ms (S26): results, idempotency keys, queues that nobody uses. */
export const HOUSEKEEPING = 10_000;

/**
 * The moment of a timer has come. The wheel has taken the timer out; whoever needs it again schedules it. The kinds are
 * a closed set: a new one without a case here does not compile.
 *
 * A timer makes sure that things happen although nobody asks. A call on a key lets the same happen at once (S1).
 */
export function fire(state: CoreState, timer: CoreTimer, now: number): void {
  switch (timer.kind) {
    case 'lane':
      return expire(state, timer, now);
    case 'caller':
      return callerDue(state, timer, now);
    case 'acquire':
      return endWaiter(state, timer);
    case 'room':
      return endRoomWait(state, timer, now);
    case 'await_item':
      return endAwait(state, timer, now);
    case 'turn_watch':
      return watchDue(state, timer, now);
    case 'session':
      return endNextTurn(state, timer, now);
    case 'gate':
      return markDirty(state, timer.queue);
    case 'kept_room':
      return keptRoomDue(state, timer, now);
    case 'news':
      // The end of the step, which follows, is what it wakes.
      return;
    case 'leader_group':
      return goOn(state, timer, now);
    case 'housekeeping':
      keepHouse(state, now);
      forgetGroups(state, now);
      return state.wheel.schedule(timer, after(now, HOUSEKEEPING));
    default:
      timer satisfies never;
  }
}

/**
 * The end of a wait, or of the ticket of an absent caller. An absent caller loses its place. A caller with an open call
 * gets its turn if it can start at this very moment, else it is answered (S6, S8, S16).
 */
function callerDue(state: CoreState, caller: Caller, now: number): void {
  if (caller.asker === undefined) {
    giveUp(state, caller, 'ticket_ended', now);
    return;
  }
  startIfFree(state, caller, now);
  if (isWaiting(caller)) endWait(state, caller, now);
}

/**
 * What holds the key may end at this very moment, too (S1), and a gate may open: nobody is told BLOCK whose turn it is.
 * For a gate the step is finished here, ahead of its end, because the callers before this one come first.
 */
function startIfFree(state: CoreState, { lane }: Caller, now: number): void {
  endPhase(state, lane, now);
  const { phase, queue } = lane;
  if (phase.at !== 'READY' || phase.waitsFor !== 'gate' || closedGate(state, queue, now) !== undefined) return;
  markDirty(state, queue);
  finishStep(state, now);
}
