/** An item is finished: it leaves for good, and what it came to is remembered. */

import type { Bytes, Durability } from '../contract/model.js';
import { emitLeaving } from '../state/events.js';
import { markAllRoom } from '../state/marks.js';
import type { End, Item, Queue } from '../state/records.js';
import type { CoreState } from '../state/state.js';
import { NO_NUMBER, OWN_ID } from '../structures/own-id.js';
import type { FinishedItem } from '../structures/retention-cache.js';
import { answerAwaits } from './await.js';
import { contentHashOfItem } from './content.js';
import { markKeyDone, recallKey } from './idempotency.js';
import { handOut, leave } from './item-phase.js';

/**
 * The item leaves for good and is remembered as finished for `result_ttl`, so that a resend is known (S31) and an Await
 * is answered. Calls that wait for it are answered now, items that wait for it learn of it at the end of the step
 * (S60).
 */
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

/**
 * What a finished and a handed-out item have in common. `answerAwaits` comes last: it reads what was noted before it.
 */
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
  queue.finished.add(item, finished, now + queue.policy.resultTtl, bytesOfFinished(finished));
  if (byTurn && item.idempotencyKey !== undefined)
    markKeyDone(queue, item.lane.key, item.idempotencyKey, { result, by: item.seq }, now);
  answerAwaits(state, queue, item, now);
}

/** What is remembered of it and is charged as results are (S591). */
export function bytesOfFinished({ result, error }: FinishedItem): number {
  return (result?.length ?? 0) + (error?.length ?? 0);
}

/** Its id was made here, so no client sends it again. It has no number if an earlier run made it. */
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

/**
 * The item waits for nothing any more, and the items that wait for it will learn of its end, at the end of the step
 * (S60).
 */
export function leaveDependencies(state: CoreState, queue: Queue, item: Item, end: End): void {
  if (item.waits !== undefined) state.dependencies.dropAll(item);
  // There are fewer, and whoever wants to wait for this one need not.
  markAllRoom(state, 'dependencies');
  if (state.dependencies.areAwaited) state.dependencies.end(queue.name, item.id, end);
}

/**
 * The second check of idempotency, before a turn: another with its idempotency key is done, so this item is, with that
 * result (S17). No attempt is counted.
 *
 * @returns whether it is done
 */
export function finishIfKeyDone(state: CoreState, item: Item, now: number): boolean {
  const done = recallKey(item.lane.queue, item.lane.key, item.idempotencyKey, now);
  if (done === undefined) return false;
  if (state.watching) emitLeaving(state, item, 'already_done', now);
  finish(state, item, 'done', done.result, now, false);
  return true;
}
