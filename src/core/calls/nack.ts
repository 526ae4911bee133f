/** Nack: a turn ends, and its work is not done, or only the first part of it. */

import type { NackAnswer, NackRequest, Refusal, Reply } from '../contract/model.js';
import { badRequest } from '../contract/refusals.js';
import { type Outcome, settle } from '../lane/settle.js';
import { isSettledLate } from '../state/queues.js';
import { type Stream, Turn } from '../state/records.js';
import type { SettledBy } from '../state/settlement.js';
import type { CoreState } from '../state/state.js';
import { findSettling, isSettled, stale } from './find-settling.js';

/**
 * Ends a turn in one of three ways. `retry`: the attempt failed, the items come again after the back-off or `delay`
 * (ms). `release`: the items go back to the line, and no attempt is counted (S25). `dead_letter`: the items become dead
 * letters, as far as there is room for them (S23). In each the first `done` items of the turn are finished all the
 * same.
 *
 * The answer tells when the items are tried again, and how many became dead letters. Repeated with the same `kind` the
 * call gets the same answer (S18).
 *
 * Refusals: `no_such_queue`; `turn_lost`; `at_most_once`; `bad_request` for `done`; `limit` where a turn would be
 * adopted.
 */
export function nack(state: CoreState, request: NackRequest, reply: Reply<NackAnswer>, now: number, by?: Stream): void {
  const outcome = checkAndApply(state, request, now, by);
  // Asked after the settlement: the end of a tied turn may change the row of its session, and then the answer waits
  // too.
  const late = isSettledLate(state, request.queue, by);
  if ('kind' in outcome) state.effects.push({ kind: 'refuse', to: reply, refusal: outcome }, late);
  else state.effects.push({ kind: 'nack', to: reply, answer: outcome }, late);
}

function checkAndApply(
  state: CoreState,
  request: NackRequest,
  now: number,
  by: Stream | undefined,
): NackAnswer | Refusal {
  const { queue, key, token, kind } = request;
  const found = findSettling(state, 'nack', queue, key, token, now);
  if (found instanceof Turn) return check(found, request) ?? apply(state, found, request, now, by);
  if (!isSettled(found)) return found;
  if (found.call === 'nack' && found.kind === kind) return found.answer;
  return stale(state, 'nack', queue, key, 'settled');
}

/**
 * Why this Nack may not end this turn; the turn lives on then. A caller's turn, and an adopted one, has no items:
 * `delay`, `error` and `done` do not matter there (S21).
 *
 * Items of at_most_once were done when they were handed out, so they cannot be tried again. Release and dead letter are
 * let in: they only end the turn (S22).
 */
function check(turn: Turn, request: NackRequest): Refusal | undefined {
  const { lane, assignment } = turn;
  const { rejected } = lane.queue.counters;
  if (assignment.kind !== 'items') return undefined;
  if (assignment.done && request.kind === 'retry') {
    rejected.at_most_once += 1;
    return { kind: 'at_most_once', queue: lane.queue.name, key: lane.key };
  }
  // S110: the worker counts the items as it was told them, those included that a crash took since.
  const { length } = assignment.given ?? assignment.items;
  if (request.done <= length) return undefined;
  rejected.bad_request += 1;
  return badRequest('done', `${request.done} of the turn's ${length} items: at most that many`);
}

/** The settlement keeps this object as the answer to a repeated call; it is filled in after the turn has ended. */
interface Filling {
  /** ms since the Unix epoch, by the wall clock of the answer. Unset: nothing is tried again by time. */
  retryAt: number | undefined;
  deadLettered: number;
}

function apply(state: CoreState, turn: Turn, request: NackRequest, now: number, by: Stream | undefined): NackAnswer {
  const answer: Filling = { retryAt: undefined, deadLettered: 0 };
  const ending: SettledBy = { ended: 'settled', call: 'nack', kind: request.kind, answer };
  const { retryAt, deadLettered } = settle(state, turn, outcomeOf(request), ending, now, by);
  if (retryAt !== undefined) answer.retryAt = retryAt + state.wallOffset;
  answer.deadLettered = deadLettered;
  return answer;
}

/** What becomes of the items. A delay means something for `retry` only: what is refused for good has no next try. */
function outcomeOf({ kind, done, error, delay }: NackRequest): Outcome {
  if (kind === 'release') return { kind: 'returned', done };
  return { kind: 'failed', done, failure: { cause: kind === 'retry' ? 'nack' : 'refused', error, delay } };
}
