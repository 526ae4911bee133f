/** What becomes of items when their turn ends. */

import type { Bytes, DeathCause, Durability, ItemRef } from '../contract/model.js';
import { emitLeaving, tell } from '../state/events.js';
import { markAllRoom, markRoom } from '../state/marks.js';
import { countIn, lineOf } from '../state/places.js';
import { type DeadLetter, type End, type Entry, Item, type Lane, type Park, type Queue } from '../state/records.js';
import type { CoreState } from '../state/state.js';
import type { Stored } from '../state/stored.js';
import { backOff } from '../structures/back-off.js';
import { after } from '../structures/due.js';
import type { Line } from '../structures/line.js';
import { NO_NUMBER, OWN_ID } from '../structures/own-id.js';
import type { FinishedItem } from '../structures/retention-cache.js';
import { answerAwaits } from './await.js';
import { contentHash } from './content-hash.js';
import { isKeyDone, markKeyDone } from './idempotency.js';

/** What an item costs beside its payload, headers and ids (S33). */
const ITEM_OVERHEAD = 256;
/** The same for each item that it waits for. */
const AFTER_OVERHEAD = 256;

export interface Content {
  readonly key: string;
  readonly payload: Bytes;
  readonly headers: ReadonlyMap<string, string> | undefined;
  readonly idempotencyKey: string | undefined;
  readonly after?: readonly ItemRef[] | undefined;
}

/** Bytes charged against payload memory. Strings by their length: keys and ids are mostly ASCII. */
export function weightOf(content: Content, id: string): number {
  let bytes = ITEM_OVERHEAD + bytesOf(content) + id.length + (content.idempotencyKey?.length ?? 0);
  if (content.after !== undefined)
    for (const { queue, itemId } of content.after) bytes += AFTER_OVERHEAD + queue.length + itemId.length;
  return bytes;
}

/** Of payload and headers. */
export function bytesOf({ payload, headers }: Pick<Content, 'payload' | 'headers'>): number {
  let bytes = payload.length;
  if (headers !== undefined) for (const [name, value] of headers) bytes += name.length + value.length;
  return bytes;
}

/** What is on disk alone weighs nothing. */
export function weightOfItem(item: Item): number {
  return weightOf(contentOf(item), item.id);
}

/** What it adds to an answer: as `weightOfItem`, wherever it is. */
export function sizeOfItem(item: Item): number {
  const { stored } = item;
  return stored?.where === 'away' ? weightOfItem(item) + stored.bytes : weightOfItem(item);
}

export function contentHashOfItem(item: Item): number {
  return item.stored?.contentHash ?? contentHashOf(contentOf(item));
}

export function contentOf(item: Item): Content {
  const { payload, headers, idempotencyKey, waits } = item;
  return { key: item.lane.key, payload, headers, idempotencyKey, after: waits?.after };
}

export function contentHashOf(content: Content): number {
  const { key, idempotencyKey, headers, payload, after } = content;
  const texts = [key, idempotencyKey ?? ''];
  if (headers !== undefined && headers.size > 0) {
    for (const [name, value] of [...headers].sort(([a], [b]) => (a < b ? -1 : 1))) texts.push(name, value);
  }
  if (after !== undefined) texts.push(...afterTexts(after));
  return contentHash(texts, payload);
}

/** In whatever order they were named. They begin with what is the name of no header, so they are not taken for one. */
function afterTexts(after: readonly ItemRef[]): string[] {
  return ['\0after', ...after.map(({ queue, itemId }) => `${queue} ${itemId}`).sort()];
}

/** The item leaves for good and is remembered as finished. Precondition: it is in no line. */
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
  const queue = item.lane.queue;
  free(state, queue, item);
  leaveDependencies(state, queue, item, as);
  const finished = finishedAs(item, as, result, item.attempts + (byTurn ? 1 : 0));
  // One that is handed out (at_most_once) counts when its turn ends: it may come back.
  if (!item.inFlight) queue.counters.finished[as] += 1;
  if (item.stored !== undefined) queue.changes?.item(item, asked);
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
  const finished = lane.queue.finished.get(id, now);
  return finished?.state === 'done' && (finished.of ?? finished.seq ?? seq) === seq ? finished : undefined;
}

/** Items done in a turn. */
export function finishAll(state: CoreState, items: readonly Item[], result: Bytes | undefined, now: number): void {
  for (const item of items) {
    item.inFlight = false;
    finish(state, item, 'done', result, now);
  }
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
  const done = isKeyDone(item.lane.queue, item.lane.key, item.idempotencyKey, now);
  if (done === undefined) return false;
  if (state.watching) emitLeaving(state, item, 'already_done', now);
  finish(state, item, 'done', done.result, now, false);
  return true;
}

/** The item's payload is no longer kept. */
function free(state: CoreState, queue: Queue, item: Item): void {
  queue.items.delete(item);
  state.payloadBytes -= weightOfItem(item);
  // Its id and its key may be done now, of which a batch may name either.
  markRoom(state, queue);
  markAllRoom(state, 'memory', 'dependencies');
}

/** Items go back to the head of their line, in order. They take no room from now on. */
export function putBack(state: CoreState, lane: Lane, items: readonly Item[]): void {
  if (items.length === 0) return;
  const line = lineOf(lane);
  for (const item of items.toReversed()) {
    item.inFlight = false;
    item.takesRoom = false;
    if (item.stored !== undefined) comeBack(state, line, item, item.stored);
    line.prepend(item);
    countIn(state, item);
  }
}

/** Precondition: it is about to be put at the head. */
function comeBack(state: CoreState, line: Line<Entry>, item: Item, stored: Stored): void {
  stored.rank = rankBefore(state, line, stored.rank);
  state.frontRank = Math.min(state.frontRank, stored.rank);
  item.lane.queue.changes?.item(item);
}

/** The rank itself where it is the smallest already. Among callers it is not looked how far behind them the next item is. */
function rankBefore(state: CoreState, line: Line<Entry>, rank: number): number {
  const { head } = line;
  if (line.length === line.callers) return rank;
  if (head instanceof Item && head.stored !== undefined) return Math.min(rank, head.stored.rank - 1);
  state.frontRank = Math.min(state.frontRank, rank) - 1;
  return state.frontRank;
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
    item.inFlight = false;
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

/** Makes a dead letter. Precondition: there is room for one, and the item is in no line. */
export function makeDeadLetter(state: CoreState, item: Item, cause: DeathCause, now: number): void {
  const { lane } = item;
  const { queue } = lane;
  const letter: DeadLetter = { item, key: lane.key, cause, diedAt: now };
  queue.items.delete(item);
  queue.deadLetters.set(item.id, letter);
  if (item.stored !== undefined) queue.changes?.item(item);
  queue.counters.deadLetters[cause] += 1;
  if (state.watching) tell(state, 'dead_letter', lane, now, { itemId: item.id, detail: cause });
  leaveDependencies(state, queue, item, 'dead');
  answerAwaits(state, queue, item.id, now);
}
