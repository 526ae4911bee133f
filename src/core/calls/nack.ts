import type { NackAnswer, NackKind, NackRequest, Refusal, Reply } from '../contract/model.js';
import { badRequest } from '../contract/refusals.js';
import type { SettlementWay } from '../contract/views.js';
import { putBack } from '../items/item-phase.js';
import { failAll, finishAll } from '../items/items.js';
import { openItems } from '../items/never-handed-out.js';
import { park } from '../lane/phase.js';
import { resolve } from '../lane/resolve.js';
import { endTurn } from '../lane/turns.js';
import { isToldLate } from '../state/queues.js';
import { type Assignment, type Item, type Stream, Turn } from '../state/records.js';
import type { SettledBy } from '../state/settlement.js';
import type { CoreState } from '../state/state.js';
import { isSettled, stale, turnToSettle } from './settle.js';

const WAY: Readonly<Record<NackKind, SettlementWay>> = { retry: 'nack', release: 'release', dead_letter: 'nack' };

export function nack(state: CoreState, request: NackRequest, reply: Reply<NackAnswer>, now: number, by?: Stream): void {
  const outcome = settle(state, request, now, by);
  const late = isToldLate(state, request.queue, by);
  if ('kind' in outcome) state.effects.push({ kind: 'refuse', to: reply, refusal: outcome }, late);
  else state.effects.push({ kind: 'nack', to: reply, answer: outcome }, late);
}

function settle(state: CoreState, request: NackRequest, now: number, by: Stream | undefined): NackAnswer | Refusal {
  const { queue, key, token, kind } = request;
  const found = turnToSettle(state, 'nack', queue, key, token, now);
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

/** How many of its items are among the first `done` of those that the worker has. */
function finishedOf(assignment: Assignment, done: number): number {
  if (assignment.kind !== 'items' || assignment.given === undefined) return done;
  const finished = new Set(assignment.given.slice(0, done));
  return assignment.items.filter(({ seq }) => finished.has(seq)).length;
}

/** What the answer will be is filled in after the turn ended; the settlement keeps the same object. */
interface Filling {
  retryAt: number | undefined;
  deadLettered: number;
}

function apply(state: CoreState, turn: Turn, request: NackRequest, now: number, by: Stream | undefined): NackAnswer {
  const { lane } = turn;
  const answer: Filling = { retryAt: undefined, deadLettered: 0 };
  const ending: SettledBy = { ended: 'settled', call: 'nack', kind: request.kind, answer };
  const { assignment } = turn;
  endTurn(state, turn, WAY[request.kind], ending, now, by);
  const items = openItems(assignment);
  const finished = finishedOf(assignment, request.done);
  finishAll(state, items.slice(0, finished), undefined, now);
  giveBack(state, turn, items.slice(finished), request, answer, now);
  resolve(state, lane, now);
  return answer;
}

function giveBack(
  state: CoreState,
  turn: Turn,
  items: readonly Item[],
  request: NackRequest,
  answer: Filling,
  now: number,
): void {
  const { lane } = turn;
  const { kind, error, delay } = request;
  if (kind === 'release') return putBack(state, lane, items);
  const cause = kind === 'retry' ? 'nack' : 'refused';
  const after = failAll(state, lane, items, { cause, error, delay }, now);
  if (after.retryAt !== undefined) answer.retryAt = after.retryAt + state.wallOffset;
  answer.deadLettered = after.deadLettered;
  if (after.park !== undefined) park(state, lane, after.park, now);
}
