/**
 * How a turn ends: what is remembered of it, what becomes of what it was given for, and what the key does next.
 *
 * Two things describe an end. `Outcome` says what becomes of the items, or of the caller's idempotency key. `Ending`
 * says what is remembered: the answer for a repeated call, or the cause for a late one (S18). Settling calls, leases,
 * sessions, eviction, take-over and undeliverable answers all come by `settle`.
 */

import type { Bytes } from '../contract/model.js';
import { type Failure, failAll } from '../items/failure.js';
import { bytesOfFinished, finish, finishAll, handedOutAs } from '../items/finish.js';
import { amendKey, markKeyDone } from '../items/idempotency.js';
import { putBack } from '../items/item-phase.js';
import { neverHandedOut, openItems } from '../items/never-handed-out.js';
import { tell } from '../state/events.js';
import type { Assignment, Item, Lane, Stream, Turn } from '../state/records.js';
import type { Ending } from '../state/settlement.js';
import type { CoreState } from '../state/state.js';
import { park } from './phase.js';
import { resolve } from './resolve.js';
import { disown } from './turn-lifetime.js';
import { endTurn } from './turns.js';

/** What becomes of what the turn was given for. */
export type Outcome =
  /** Its idempotency keys are done from now on. */
  | { readonly kind: 'finished'; readonly result: Bytes | undefined }
  /** The first `done` items are finished, the attempt of the others failed. */
  | { readonly kind: 'failed'; readonly done: number; readonly failure: Failure }
  /** The first `done` items are finished, the others go back to the line: that was no attempt. */
  | { readonly kind: 'returned'; readonly done: number }
  /** Nobody learnt of the turn: all of its items go back, those of at_most_once too, and nobody is told that it is over. */
  | { readonly kind: 'never_handed_out' }
  /** As `never_handed_out` or `returned`, but what would go back is discarded. */
  | { readonly kind: 'discarded'; readonly handed: boolean }
  /** A caller's turn ends, and nothing is done by that. */
  | { readonly kind: 'given_up' };

const FINISHED: Outcome = Object.freeze({ kind: 'finished', result: undefined });
export const RETURNED: Outcome = Object.freeze({ kind: 'returned', done: 0 });
export const NEVER_HANDED_OUT: Outcome = Object.freeze({ kind: 'never_handed_out' });
export const GIVEN_UP: Outcome = Object.freeze({ kind: 'given_up' });

/** The usual end has no result: nothing is allocated for it. */
export function finishedWith(result: Bytes | undefined): Outcome {
  return result === undefined ? FINISHED : { kind: 'finished', result };
}

/** What came of it. */
interface Settled {
  /** Items that went back to the line without an attempt. */
  readonly returned: number;
  readonly discarded: number;
  readonly deadLettered: number;
  /** When the items that failed are tried again. */
  readonly retryAt: number | undefined;
}

const NOTHING_BACK: Settled = Object.freeze({ returned: 0, discarded: 0, deadLettered: 0, retryAt: undefined });

/**
 * Ends the live turn of a lane. The order is the contract's: the turn is over and its end remembered before anything is
 * told of its items; what comes back stands at the head of the line, and the key is parked, before the next turn starts.
 *
 * @param by the stream that settled it: it is not told that the turn is over
 */
export function settle(
  state: CoreState,
  turn: Turn,
  outcome: Outcome,
  ending: Ending,
  now: number,
  by?: Stream,
): Settled {
  // Read first: the turn is emptied when it has ended, and filled anew when the next one starts.
  const { lane, assignment } = turn;
  if (outcome.kind === 'never_handed_out' || (outcome.kind === 'discarded' && !outcome.handed)) disown(state, turn);
  endTurn(state, turn, ending, now, by);
  const settled = carryOut(state, lane, assignment, outcome, now);
  // The place that is freed at the gate is that of who takes the turn over: it does not line up there.
  // Whoever takes over needs not line up at the gate for the place that it freed (S16).
  resolve(state, lane, now, ending.ended === 'taken_over');
  return settled;
}

/** Precondition: the turn has ended, and the lane has no holder. */
function carryOut(state: CoreState, lane: Lane, assignment: Assignment, outcome: Outcome, now: number): Settled {
  switch (outcome.kind) {
    case 'finished':
      finishAssignment(state, lane, assignment, outcome.result, now);
      return NOTHING_BACK;
    case 'given_up':
      return NOTHING_BACK;
    case 'discarded':
      return discardAll(
        state,
        lane,
        outcome.handed ? openItems(assignment) : neverHandedOut(state, lane, assignment, now),
        now,
      );
    default:
      return bringBack(state, lane, assignment, outcome, now);
  }
}

/**
 * Discards the items of a turn that has ended. They go back to the line first: items of at_most_once that nobody got are charged
 * again there.
 */
function discardAll(state: CoreState, lane: Lane, items: readonly Item[], now: number): Settled {
  putBack(state, lane, items);
  for (const item of items) {
    if (state.watching) tell(state, 'discard', item.lane, now, { itemId: item.id, detail: 'held' });
    finish(state, item, 'discarded', undefined, now);
  }
  return { ...NOTHING_BACK, discarded: items.length };
}

/** Items that are not finished go back to the line. */
function bringBack(
  state: CoreState,
  lane: Lane,
  assignment: Assignment,
  outcome: Exclude<Outcome, { readonly kind: 'finished' | 'given_up' | 'discarded' }>,
  now: number,
): Settled {
  switch (outcome.kind) {
    case 'failed':
      return failRest(state, lane, finishFirst(state, assignment, outcome.done, now), outcome.failure, now);
    case 'returned':
      return giveBack(state, lane, finishFirst(state, assignment, outcome.done, now));
    case 'never_handed_out':
      return giveBack(state, lane, neverHandedOut(state, lane, assignment, now));
  }
}

/**
 * A caller's idempotency key is done by its turn, an item's by the item. What an adopted turn was given for is not
 * known.
 */
function finishAssignment(
  state: CoreState,
  lane: Lane,
  assignment: Assignment,
  result: Bytes | undefined,
  now: number,
): void {
  switch (assignment.kind) {
    case 'caller':
      if (assignment.idempotencyKey !== undefined) finishKey(lane, assignment.idempotencyKey, result, now);
      return;
    case 'items':
      if (!assignment.done) finishAll(state, assignment.items, result, now);
      else if (result !== undefined) amend(assignment.items, result, now);
      return;
    case 'adopted':
      return;
  }
}

function finishKey({ queue, key }: Lane, idempotencyKey: string, result: Bytes | undefined, now: number): void {
  markKeyDone(queue, key, idempotencyKey, { result }, now);
}

/**
 * at_most_once: the items were done when they were handed out; the result of the Ack is remembered now (S22), for a
 * whole `result_ttl` from now. Nothing is noted under an id of which nothing, or another item, is remembered by now; of its
 * idempotency key the result of another item that did it meanwhile stays.
 */
function amend(items: readonly Item[], result: Bytes, now: number): void {
  for (const item of items) {
    const { queue, key } = item.lane;
    const finished = handedOutAs(item, now);
    if (finished !== undefined)
      queue.finished.set(
        item.id,
        { ...finished, result },
        now + queue.policy.resultTtl,
        bytesOfFinished({ ...finished, result }),
      );
    if (item.idempotencyKey !== undefined) amendKey(queue, key, item.idempotencyKey, { result, by: item.seq }, now);
  }
}

/**
 * Finishes the first `done` items without a result, as a Nack says that they are done (S21).
 *
 * @returns the other items that are still kept: those of at_most_once are done, and nothing of them comes back
 */
function finishFirst(state: CoreState, assignment: Assignment, done: number, now: number): readonly Item[] {
  const items = openItems(assignment);
  if (done === 0 || items.length === 0) return items;
  const finished = ownOf(assignment, done);
  finishAll(state, items.slice(0, finished), undefined, now);
  return items.slice(finished);
}

/**
 * How many of its items are among the first `done` of those that the worker has. A crash may have taken some of these:
 * they keep their places in that count (S110). The items of the turn stand in the same order.
 */
function ownOf(assignment: Assignment, done: number): number {
  if (assignment.kind !== 'items' || assignment.given === undefined) return done;
  const { items, given } = assignment;
  const finished = new Set(given.slice(0, done));
  return items.filter(({ seq }) => finished.has(seq)).length;
}

/** The items go back to the line, or become dead letters, before the key is parked. */
function failRest(state: CoreState, lane: Lane, items: readonly Item[], failure: Failure, now: number): Settled {
  const after = failAll(state, lane, items, failure, now);
  if (after.park !== undefined) park(state, lane, after.park, now);
  return { returned: 0, discarded: 0, deadLettered: after.deadLettered, retryAt: after.retryAt };
}

/** No attempt is counted (S25). */
function giveBack(state: CoreState, lane: Lane, items: readonly Item[]): Settled {
  putBack(state, lane, items);
  return items.length === 0
    ? NOTHING_BACK
    : { returned: items.length, discarded: 0, deadLettered: 0, retryAt: undefined };
}
