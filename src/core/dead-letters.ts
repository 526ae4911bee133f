/** Dead letters: listing, redrive, discard. */

import { itemView } from './answers.js';
import { finish, putBack } from './items.js';
import { nameKeyless } from './lane.js';
import type { Item } from './line.js';
import { findLane, openLane } from './lookup.js';
import type { DeathCause } from './model.js';
import { unpark } from './park.js';
import type { Queue } from './queue.js';
import { resolve } from './resolve.js';
import { takeOut, tell } from './show.js';
import type { CoreState } from './state.js';
import type { DeadLetterPage, DeadLetterView, ItemChoice, ListDeadLettersRequest } from './views.js';

/** An item that ran out of attempts or was refused for good. It still counts as payload memory. */
export interface DeadLetter {
  readonly item: Item;
  readonly key: string;
  readonly cause: DeathCause;
  readonly diedAt: number;
}

function inOrderOfSubmission(letters: Iterable<DeadLetter>): DeadLetter[] {
  return [...letters].sort((a, b) => a.item.seq - b.item.seq);
}

function chosen(queue: Queue, choice: Pick<ItemChoice, 'key' | 'itemIds'>): DeadLetter[] {
  const ids = new Set(choice.itemIds);
  const fits = (letter: DeadLetter) =>
    (choice.key === undefined || letter.key === choice.key) && (ids.size === 0 || ids.has(letter.item.id));
  return inOrderOfSubmission([...queue.deadLetters.values()].filter(fits));
}

/** @param pageToken the order of submission of the last one seen */
export function listDeadLetters(state: CoreState, queue: Queue, request: ListDeadLettersRequest): DeadLetterPage {
  const seen = request.pageToken === '' ? 0 : Number(request.pageToken);
  const letters = chosen(queue, { key: request.key, itemIds: [] }).filter((letter) => letter.item.seq > seen);
  const page: DeadLetterView[] = [];
  let bytes = 0;
  let last = seen;
  for (const letter of letters) {
    bytes += payloadBytesOf(letter.item) + (letter.item.lastError?.length ?? 0) + 2_048;
    if (page.length >= request.pageSize || (page.length > 0 && bytes > state.settings.limits.answerBytes)) break;
    page.push(letterView(state, letter));
    last = letter.item.seq;
  }
  return { deadLetters: page, nextPageToken: page.length < letters.length ? String(last) : '' };
}

function payloadBytesOf({ payload, stored }: Item): number {
  return stored?.where === 'away' ? stored.bytes : payload.length;
}

/** Whether a token is one of ours. */
export function isLettersToken(token: string): boolean {
  return /^\d{0,15}$/.test(token);
}

function letterView(state: CoreState, letter: DeadLetter): DeadLetterView {
  const { item, key, cause, diedAt } = letter;
  return {
    item: itemView(state, item),
    key,
    attempts: item.attempts,
    lastError: item.lastError,
    diedAt: diedAt + state.wallOffset,
    cause,
  };
}

/** Puts dead letters back before what waits, in the order of their submission. @returns how many */
export function redrive(state: CoreState, queue: Queue, choice: ItemChoice, now: number): number {
  catchUpKey(state, queue, choice.key, now);
  const letters = chosen(queue, choice);
  // One lane after the other: opening the next may bring it to rest, and the LRU then drops another that was opened.
  for (const group of byLane(letters)) redriveTo(state, queue, group, now);
  queue.counters.redriven += letters.length;
  return letters.length;
}

/** S1: what dies in this very moment is a dead letter already. */
function catchUpKey(state: CoreState, queue: Queue, key: string | undefined, now: number): void {
  if (key !== undefined && key !== '') findLane(state, queue, key, now);
}

/** Dead letters of one lane; there is one at least. */
type OfLane = [DeadLetter, ...DeadLetter[]];

/** Those of a key together; each keyless one for itself. */
function byLane(letters: readonly DeadLetter[]): Iterable<OfLane> {
  const groups = new Map<string | DeadLetter, OfLane>();
  for (const letter of letters) {
    const lane = letter.key === '' ? letter : letter.key;
    const group = groups.get(lane);
    if (group === undefined) groups.set(lane, [letter]);
    else group.push(letter);
  }
  return groups.values();
}

function redriveTo(state: CoreState, queue: Queue, letters: OfLane, now: number): void {
  const [first] = letters;
  const lane = openLane(state, queue, first.key, now);
  if (lane.row.moves.redrive !== 'put_back') return;
  nameKeyless(lane, first.item);
  for (const { item } of letters) {
    item.lane = lane;
    item.attempts = 0;
    item.notBefore = Math.floor(now);
    queue.deadLetters.delete(item.id);
    queue.items.setAgain(item);
    if (state.watching) tell(state, 'redrive', lane, now, { itemId: item.id });
  }
  const items = letters.map(({ item }) => item);
  putBack(state, lane, items);
  resolve(state, lane, now);
}

/** @returns how many dead letters are gone */
export function discardDead(state: CoreState, queue: Queue, choice: ItemChoice, now: number): number {
  catchUpKey(state, queue, choice.key, now);
  const letters = chosen(queue, choice);
  for (const { item } of letters) {
    queue.deadLetters.delete(item.id);
    if (state.watching) tell(state, 'discard', item.lane, now, { itemId: item.id, detail: 'dead letter' });
    finish(state, item, 'discarded', undefined, now);
  }
  return letters.length;
}

/**
 * Removes items that wait, of those that were submitted before it began (S88). There may be millions: it stops after
 * every `slice` and goes on when it is asked to. No item is kept across a stop: whatever may happen to it meanwhile.
 *
 * @returns how many are gone
 */
export function* discardWaiting(
  state: CoreState,
  queue: Queue,
  choice: ItemChoice,
  slice: number,
  clock: () => number,
): Generator<undefined, number> {
  const { itemSeq: newest } = state;
  catchUpKey(state, queue, choice.key, clock());
  const ids = new Set(choice.itemIds);
  const candidates = ids.size > 0 ? itemsById(queue, ids) : queue.items.scan();
  let gone = 0;
  let seen = 0;
  for (const item of candidates) {
    const chosen = item.seq <= newest && (choice.key === undefined || item.lane.key === choice.key);
    if (chosen && discardItem(state, item, clock())) gone += 1;
    if (++seen % slice === 0) yield;
  }
  return gone;
}

/** Precondition: it is kept now. @returns whether it waited */
function discardItem(state: CoreState, item: Item, now: number): boolean {
  const { lane } = item;
  if (item.inFlight || lane.row.moves.discard !== 'leave') return false;
  takeOut(state, item);
  if (state.watching) tell(state, 'discard', lane, now, { itemId: item.id, detail: 'waiting' });
  finish(state, item, 'discarded', undefined, now);
  // Of a keyless lane nothing is left to be resumed.
  if (lane.key === '') unpark(lane);
  resolve(state, lane, now);
  return true;
}

/** For a walk with pauses: looked up one by one, when their turn comes. */
function* itemsById(queue: Queue, ids: ReadonlySet<string>): Generator<Item, undefined> {
  for (const id of ids) {
    const item = queue.items.get(id);
    if (item !== undefined) yield item;
  }
}
