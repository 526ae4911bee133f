/** DeQueue: a caller ends its turn, or gives up its place in the line. */

import type { DeQueueAnswer, DeQueueRequest, Refusal, Reply } from '../contract/model.js';
import { giveUp, refuseCancelled } from '../lane/arrivals.js';
import { currentLane } from '../lane/current-lanes.js';
import { finishedWith, GIVEN_UP, type Outcome, settle } from '../lane/settle.js';
import { turnOf } from '../state/lane.js';
import { findQueue, isRefusal, isSettledLate } from '../state/queues.js';
import { type Lane, type Stream, Turn } from '../state/records.js';
import { ABANDONED, NOBODY_WAITS, type SettledBy } from '../state/settlement.js';
import { endingByTicket } from '../state/settlements.js';
import type { CoreState } from '../state/state.js';
import { findSettling, isSettled, stale } from './find-settling.js';

/**
 * Ends what the token or the ticket stands for. By token: a live turn. By ticket: a live turn, or a place in the line.
 * `abandoned` says that the work was not done; otherwise the idempotency key of the turn is done from now on.
 *
 * The answer tells whether the next in the line got its turn in this very step (`promoted`), and how many entries are
 * left in the line (`waiting`). Repeated in the same manner the call gets the same answer (S18).
 *
 * Refusals: `no_such_queue`; `turn_lost`; `use_ack` for a turn with items; `limit` where a turn would be adopted (S29).
 */
export function deQueue(
  state: CoreState,
  request: DeQueueRequest,
  reply: Reply<DeQueueAnswer>,
  now: number,
  by?: Stream,
): void {
  const { holder } = request;
  const outcome =
    'token' in holder
      ? byToken(state, request, holder.token, now, by)
      : byTicket(state, request, holder.ticket, now, by);
  // Asked after the settlement: the end of a tied turn may change the row of its session, and then the answer waits
  // too.
  const late = isSettledLate(state, request.queue, by);
  if ('kind' in outcome) state.effects.push({ kind: 'refuse', to: reply, refusal: outcome }, late);
  else state.effects.push({ kind: 'dequeue', to: reply, answer: outcome }, late);
}

function byToken(
  state: CoreState,
  request: DeQueueRequest,
  token: number,
  now: number,
  by: Stream | undefined,
): DeQueueAnswer | Refusal {
  const { queue, key } = request;
  const found = findSettling(state, 'dequeue', queue, key, token, now);
  if (found instanceof Turn) return endCallersTurn(state, found, request, now, by);
  if (!isSettled(found)) return found;
  const again = repeated(found, request.abandoned);
  return again ?? stale(state, 'dequeue', queue, key, 'settled');
}

/** The remembered answer, if the turn ended by the same call in the same manner (S18). */
function repeated(settled: SettledBy, abandoned: boolean): DeQueueAnswer | undefined {
  return settled.call === 'dequeue' && settled.abandoned === abandoned ? settled.answer : undefined;
}

/**
 * A ticket needs no token: its caller may not know whether it has a turn by now. A place is given up, and an open call
 * that waits in it is refused CANCELLED (S9). Where nothing is known of the key the answer is OK (S10).
 */
function byTicket(
  state: CoreState,
  request: DeQueueRequest,
  ticket: string,
  now: number,
  by: Stream | undefined,
): DeQueueAnswer | Refusal {
  const queue = findQueue(state, request.queue);
  if (isRefusal(queue)) return queue;
  const lane = queue === undefined ? undefined : currentLane(state, queue, request.key, now);
  const known = lane?.tickets?.get(ticket);
  if (known instanceof Turn) return endCallersTurn(state, known, request, now, by);
  if (known !== undefined) {
    // First: `giveUp` takes the caller out of the line without an answer.
    refuseCancelled(state, known);
    giveUp(state, known, 'given_up', now);
    return { promoted: false, waiting: known.lane.line?.length ?? 0 };
  }
  return lane === undefined ? NOBODY_WAITS : afterTicket(state, lane, request, ticket);
}

/**
 * The ticket stands for nothing any more (S10). If its last turn was lost (lease, eviction, take-over) the call is
 * refused with that cause. If the same call ended it, its answer is repeated. Else what the call asks for is so
 * already: OK.
 */
function afterTicket(state: CoreState, lane: Lane, request: DeQueueRequest, ticket: string): DeQueueAnswer | Refusal {
  const ending = endingByTicket(lane, ticket);
  if (ending !== undefined && ending.ended !== 'settled')
    return stale(state, 'dequeue', request.queue, request.key, ending.ended);
  const again = ending === undefined ? undefined : repeated(ending, request.abandoned);
  return again ?? { promoted: false, waiting: lane.line?.length ?? 0 };
}

/** The usual end: not abandoned, and nobody waits. Frozen, for all turns that end so share it. */
const DONE: SettledBy = Object.freeze({ ended: 'settled', call: 'dequeue', abandoned: false, answer: NOBODY_WAITS });

/**
 * Ends a turn that was given for a caller, or an adopted one, of which nothing says what it was given for (S29). A turn
 * with items is refused and lives on: only Ack and Nack say what becomes of items.
 */
function endCallersTurn(
  state: CoreState,
  turn: Turn,
  request: DeQueueRequest,
  now: number,
  by: Stream | undefined,
): DeQueueAnswer | Refusal {
  const { lane, assignment } = turn;
  if (assignment.kind === 'items') return useAck(lane);
  const { abandoned } = request;
  const outcome = abandoned ? GIVEN_UP : finishedWith(request.result);
  if (lane.line === undefined) {
    // The usual end has one answer, known beforehand: nothing is allocated for it.
    settle(state, turn, outcome, abandoned ? ABANDONED : DONE, now, by);
    return NOBODY_WAITS;
  }
  return settleBeforeLine(state, turn, outcome, abandoned, now, by);
}

function useAck({ queue, key }: Lane): Refusal {
  queue.counters.rejected.use_ack += 1;
  return { kind: 'use_ack', queue: queue.name, key };
}

/** Somebody waits for the key, and may have its turn before the answer is complete. */
function settleBeforeLine(
  state: CoreState,
  turn: Turn,
  outcome: Outcome,
  abandoned: boolean,
  now: number,
  by: Stream | undefined,
): DeQueueAnswer {
  const { lane } = turn;
  // Filled in after the turn ended, when it is known who came next. The settlement keeps the same object, so a repeated
  // call gets the same numbers.
  const answer = { promoted: false, waiting: 0 };
  settle(state, turn, outcome, { ended: 'settled', call: 'dequeue', abandoned, answer }, now, by);
  answer.promoted = turnOf(lane) !== undefined;
  answer.waiting = lane.line?.length ?? 0;
  return answer;
}
