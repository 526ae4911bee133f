import type { NackAnswer, NackRequest, Refusal, Reply } from '../contract/model.js';
import { badRequest } from '../contract/refusals.js';
import { type Outcome, settle } from '../lane/settle.js';
import { isToldLate } from '../state/queues.js';
import { type Stream, Turn } from '../state/records.js';
import type { SettledBy } from '../state/settlement.js';
import type { CoreState } from '../state/state.js';
import { findSettling, isSettled, stale } from './find-settling.js';

export function nack(state: CoreState, request: NackRequest, reply: Reply<NackAnswer>, now: number, by?: Stream): void {
  const outcome = checkAndApply(state, request, now, by);
  const late = isToldLate(state, request.queue, by);
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

function check(turn: Turn, request: NackRequest): Refusal | undefined {
  const { lane, assignment } = turn;
  const { rejected } = lane.queue.counters;
  if (assignment.kind !== 'items') return undefined;
  if (assignment.done && request.kind === 'retry') {
    rejected.at_most_once += 1;
    return { kind: 'at_most_once', queue: lane.queue.name, key: lane.key };
  }
  const { length } = assignment.given ?? assignment.items;
  if (request.done <= length) return undefined;
  rejected.bad_request += 1;
  return badRequest('done', `${request.done} of the turn's ${length} items: at most that many`);
}

/** What the answer will be is filled in after the turn ended; the settlement keeps the same object. */
interface Filling {
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

function outcomeOf({ kind, done, error, delay }: NackRequest): Outcome {
  if (kind === 'release') return { kind: 'returned', done };
  return { kind: 'failed', done, failure: { cause: kind === 'retry' ? 'nack' : 'refused', error, delay } };
}
