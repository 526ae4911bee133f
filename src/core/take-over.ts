import { closedGate } from './gates.js';
import { turnOf } from './lane.js';
import type { Caller } from './line.js';
import type { Queue } from './queue.js';
import { delayOf, resolve } from './resolve.js';
import { LOST } from './settlements.js';
import type { CoreState } from './state.js';
import { endTurn } from './turns.js';

/** The wait of this caller ends: if it may, it takes the turn of the holder, which is then lost (S16). */
export function takeOverIfMay(state: CoreState, caller: Caller, now: number): void {
  const { lane } = caller;
  const turn = turnOf(lane);
  if (turn === undefined || lane.row.moves.take_over !== 'end_turn' || !may(state, caller, now)) return;
  endTurn(state, turn, 'taken_over', LOST.taken_over, now);
  // The freed place is its own: it does not line up at the gate for it.
  resolve(state, lane, now, true);
}

/** Nobody is driven out for one who could not start anyway. */
function may(state: CoreState, caller: Caller, now: number): boolean {
  const { lane } = caller;
  const { queue } = lane;
  const { onWaitTimeout, wait } = queue.policy;
  const turn = turnOf(lane);
  if (onWaitTimeout !== 'take_over' || turn?.cargo.kind !== 'caller' || lane.line?.head !== caller) return false;
  if (now - caller.arrivedAt < wait || now - turn.since < wait) return false;
  return delayOf(lane, caller, now) === undefined && isOpenWithoutThisTurn(state, queue, now);
}

/** Behind `max_in_flight` there may be `rate`; and one place is not enough where `max_in_flight` was lowered. */
function isOpenWithoutThisTurn(state: CoreState, queue: Queue, now: number): boolean {
  queue.inFlight -= 1;
  const gate = closedGate(state, queue, now);
  queue.inFlight += 1;
  return gate === undefined;
}
