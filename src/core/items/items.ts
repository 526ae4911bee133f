/** What becomes of items when their turn ends. */

import type { Bytes, DeathCause, Durability } from '../contract/model.js';
import { emitLeaving, tell } from '../state/events.js';
import { markAllRoom } from '../state/marks.js';
import type { End, Item, Lane, Park, Queue } from '../state/records.js';
import type { CoreState } from '../state/state.js';
import { backOff } from '../structures/back-off.js';
import { after } from '../structures/due.js';
import { NO_NUMBER, OWN_ID } from '../structures/own-id.js';
import type { FinishedItem } from '../structures/retention-cache.js';
import { answerAwaits } from './await.js';
import { contentHashOfItem } from './content.js';
import { markKeyDone, recallKey } from './idempotency.js';
import { die, handOut, leave, putBack } from './item-phase.js';

/** The item leaves for good and is remembered as finished. */
export function finish(
  state: CoreState,
  item: Item,
  as: FinishedItem['state'],
  result: Bytes | undefined,
  now: number,
  /** A turn made it done: that was an attempt, and its idempotency key is done from now on. */
  byTurn = as === 'done',
  /** By the Submit that ends it; unset: it is left to the queue. */
  asked?: Durability,
): void {
  leave(state, item, asked);
  item.lane.queue.counters.finished[as] += 1;
  remember(state, item, as, result, now, byTurn);
}

/** at_most_once: it is handed out, and remembered as done; it counts when its turn ends, because it may come back. */
export function finishHandedOut(state: CoreState, item: Item, now: number): void {
  handOut(state, item);
  remember(state, item, 'done', undefined, now, true);
}

function remember(
  state: CoreState,
  item: Item,
  as: FinishedItem['state'],
  result: Bytes | undefined,
  now: number,
  byTurn: boolean,
): void {
  const queue = item.lane.queue;
  leaveDependencies(state, queue, item, as);
  const finished = finishedAs(item, as, result, item.attempts + (byTurn ? 1 : 0));
  // What finished under this id before would have kept the item from being accepted.
  queue.finished.add(item, finished, now + queue.policy.resultTtl, result?.length ?? 0);
  if (byTurn && item.idempotencyKey !== undefined)
    markKeyDone(queue, item.lane.key, item.idempotencyKey, { result, by: item.seq }, now);
  answerAwaits(state, queue, item.id, now);
}

/** Nobody can send it again. It has no number if it was made by an earlier run. */
export function isOwnId({ number, stored, id }: Item): boolean {
  return number !== NO_NUMBER || (stored !== undefined && id.startsWith(OWN_ID));
}

/** The usual end of an item whose id was made here: done at the first attempt, without a result. */
const DONE_AT_ONCE: FinishedItem = Object.freeze({
  state: 'done',
  result: undefined,
  error: undefined,
  attempt: 1,
  contentHash: undefined,
});

function finishedAs(
  item: Item,
  state: FinishedItem['state'],
  result: Bytes | undefined,
  attempt: number,
): FinishedItem {
  const { lastError: error, stored, seq } = item;
  const print = isOwnId(item) ? undefined : contentHashOfItem(item);
  if (stored !== undefined) return { state, result, error, attempt, contentHash: print, seq };
  // Only an id of a client can be another item's later.
  if (print !== undefined && item.lane.queue.policy.delivery === 'at_most_once')
    return { state, result, error, attempt, contentHash: print, of: seq };
  const usual = state === 'done' && attempt === 1 && print === undefined;
  return usual && result === undefined && error === undefined
    ? DONE_AT_ONCE
    : { state, result, error, attempt, contentHash: print };
}

/** at_most_once: what is remembered of an item that was handed out. Unset: nothing, though perhaps of another with its id. */
export function handedOutAs({ id, seq, lane }: Item, now: number): FinishedItem | undefined {
  const finished = lane.queue.finished.recall(id, now);
  return finished?.state === 'done' && (finished.of ?? finished.seq ?? seq) === seq ? finished : undefined;
}

/** Items done in a turn. */
export function finishAll(state: CoreState, items: readonly Item[], result: Bytes | undefined, now: number): void {
  for (const item of items) finish(state, item, 'done', result, now);
}

/** It waits for nothing any more, and those that wait for it will be told. */
function leaveDependencies(state: CoreState, queue: Queue, item: Item, end: End): void {
  if (item.waits !== undefined) state.dependencies.dropAll(item);
  // There are fewer, and whoever wants to wait for this one need not.
  markAllRoom(state, 'dependencies');
  state.dependencies.end(queue.name, item.id, end);
}

/** Another with its idempotency key is done: so is this one, with that result (S17). */
export function finishIfKeyDone(state: CoreState, item: Item, now: number): boolean {
  const done = recallKey(item.lane.queue, item.lane.key, item.idempotencyKey, now);
  if (done === undefined) return false;
  if (state.watching) emitLeaving(state, item, 'already_done', now);
  finish(state, item, 'done', done.result, now, false);
  return true;
}

export interface Failure {
  readonly cause: 'nack' | 'lease_expired' | 'refused';
  readonly error: string;
  /** Instead of the queue's back-off, ms. */
  readonly delay: number | undefined;
}

interface AfterFailure {
  readonly retryAt: number | undefined;
  readonly deadLettered: number;
  /** Set: the key has to stop. */
  readonly park: Park | undefined;
}

/**
 * The attempt of these items failed: those that have attempts left go back, the others become dead letters, each for
 * itself. The back-off is the head's.
 */
export function failAll(
  state: CoreState,
  lane: Lane,
  items: readonly Item[],
  failure: Failure,
  now: number,
): AfterFailure {
  const back: Item[] = [];
  let park: Park | undefined;
  let deadLettered = 0;
  for (const item of items) {
    item.attempts += 1;
    item.lastError = failure.error;
    if (failure.cause !== 'refused' && item.attempts < lane.queue.policy.retry.maxAttempts) {
      back.push(item);
      continue;
    }
    const hasLetter = hasRoomForLetter(lane.queue);
    if (hasLetter) {
      makeDeadLetter(state, item, failure.cause === 'refused' ? 'refused' : 'max_attempts', now);
      deadLettered += 1;
    } else back.push(item);
    park ??= parkAfter(lane, item, hasLetter, now);
  }
  const retryAt =
    failure.cause === 'refused' || park !== undefined ? undefined : delayHead(state, lane, back, failure, now);
  putBack(state, lane, back);
  return { retryAt, deadLettered, park };
}

function delayHead(
  state: CoreState,
  lane: Lane,
  back: readonly Item[],
  failure: Failure,
  now: number,
): number | undefined {
  const head = back[0];
  if (head === undefined) return undefined;
  const { policy, counters } = lane.queue;
  const delay = failure.delay ?? backOff(policy.retry, head.attempts, state.random.next());
  head.notBefore = after(now, delay);
  if (failure.cause !== 'refused') counters.retries[failure.cause] += back.length;
  counters.backoff.add(delay / 1_000);
  return head.notBefore;
}

/** Why the key has to stop after its item died, or has to and cannot. */
export function parkAfter(lane: Lane, item: Item, hasLetter: boolean, now: number): Park | undefined {
  if (!hasLetter) return { at: 'PARK', since: now, because: 'no_room', itemId: item.id };
  if (lane.queue.policy.onDeadLetter === 'skip' || lane.key === '') return undefined;
  return { at: 'PARK', since: now, because: 'dead_letter', itemId: item.id };
}

export function hasRoomForLetter(queue: Queue): boolean {
  return queue.deadLetters.size < queue.policy.maxDeadLetters;
}

/** Makes a dead letter. Precondition: there is room for one. */
export function makeDeadLetter(state: CoreState, item: Item, cause: DeathCause, now: number): void {
  const { lane } = item;
  const { queue } = lane;
  die(state, item, cause, now);
  if (state.watching) tell(state, 'dead_letter', lane, now, { itemId: item.id, detail: cause });
  leaveDependencies(state, queue, item, 'dead');
  answerAwaits(state, queue, item.id, now);
}
