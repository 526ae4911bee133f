/**
 * Dead letters: the walk over those that a call names, listing, discard.
 *
 * There may be many, so each walk stops after every slice (S174). Between two slices anything may happen to a letter:
 * it may be redriven, discarded, or die again under the same id. So a walk remembers names (`Chosen`) and never a
 * letter, and looks each name up again when it comes to it. What left meanwhile is passed over and not counted.
 */

import { withoutForeignNames } from '../../contract/foreign-names.js';
import type { Changed, ItemChoice, LetterFilter, ListDeadLettersRequest } from '../../contract/item-choice.js';
import type { DeadLetterPage, DeadLetterView } from '../../contract/views.js';
import { finish } from '../../items/finish.js';
import { itemView } from '../../lane/answers.js';
import { currentLane } from '../../lane/current-lanes.js';
import { tell } from '../../state/events.js';
import type { DeadLetter, Item, Queue } from '../../state/records.js';
import type { CoreState } from '../../state/state.js';
import { sortInSlices } from '../../structures/sort-in-slices.js';

/** How a walk goes on: after `size` entries it stops; `clock` gives the moment (ms) at which it goes on. */
export interface Slices {
  readonly size: number;
  readonly clock: () => number;
}

/** A letter by its name. Another item may have that name when the walk goes on: `seq` tells them apart. */
export interface Chosen {
  readonly id: string;
  readonly key: string;
  readonly seq: number;
}

/** In the order of submission. */
function bySeq(a: { readonly seq: number }, b: { readonly seq: number }): number {
  return a.seq - b.seq;
}

/**
 * The letters of a queue, and `undefined` after every `size` of them: there the walk stops. It gives as many as there
 * are when it begins, so that it ends however many are added meanwhile.
 */
function* letters(queue: Queue, size: number): Generator<DeadLetter | undefined, undefined> {
  let left = queue.deadLetters.size;
  let seen = 0;
  for (const letter of queue.deadLetters.values()) {
    if (seen > 0 && seen % size === 0) yield undefined;
    if (left-- === 0) return;
    yield letter;
    seen += 1;
  }
}

/**
 * The letters that fit every condition of the choice, in the order of their submission. Letters of items that died
 * after the walk began are left out. An id that fits nothing adds none (S34); one that is named twice counts once.
 */
export function* choose(
  state: CoreState,
  queue: Queue,
  choice: ItemChoice,
  { size, clock }: Slices,
): Generator<undefined, readonly Chosen[]> {
  const { key, itemIds, filter } = choice;
  const began = clock();
  const chosen: Chosen[] = [];
  const look = (letter: DeadLetter) => {
    const { item, key: own, diedAt } = letter;
    if ((key === undefined || own === key) && diedAt <= began && fits(state, queue, letter, filter))
      chosen.push({ id: item.id, key: own, seq: item.seq });
  };
  if (itemIds.length > 0) {
    for (const id of new Set(itemIds)) {
      const letter = queue.deadLetters.get(id);
      if (letter !== undefined) look(letter);
    }
  } else {
    for (const letter of letters(queue, size)) {
      if (letter === undefined) yield;
      else look(letter);
    }
  }
  return yield* sortInSlices(chosen, bySeq, size);
}

function errorOf({ name }: Queue, { lastError }: Item, isGuest: boolean | undefined): string | undefined {
  if (isGuest !== true || lastError === undefined) return lastError;
  return withoutForeignNames(lastError, (queue) => queue === name);
}

function fits(
  state: CoreState,
  queue: Queue,
  { cause, item, diedAt }: DeadLetter,
  filter: LetterFilter | undefined,
): boolean {
  if (filter === undefined) return true;
  const { causes, errorContains, isGuest, diedAfter, diedBefore } = filter;
  const at = diedAt + state.wallOffset;
  return (
    (causes.length === 0 || causes.includes(cause)) &&
    (errorContains === '' || errorOf(queue, item, isGuest)?.includes(errorContains) === true) &&
    (diedAfter === undefined || at >= diedAfter) &&
    (diedBefore === undefined || at <= diedBefore)
  );
}

/** The letter that was chosen. Unset: that item is a dead letter no more, though another of its id may be one. */
export function letterOf(queue: Queue, { id, seq }: Chosen): DeadLetter | undefined {
  const letter = queue.deadLetters.get(id);
  return letter?.item.seq === seq ? letter : undefined;
}

/**
 * One page of dead letters, in the order of submission, after the one that the token names.
 *
 * The letters do not stand in the order of submission, so all of them are looked at. The buffer holds at most twice the
 * page: when it is full it is sorted and cut to the page.
 *
 * @param request its token: the order of submission (`seq`) of the last one seen; empty: from the first
 * @param size letters looked at before a stop
 */
export function* listDeadLetters(
  state: CoreState,
  queue: Queue,
  request: ListDeadLettersRequest,
  size: number,
): Generator<undefined, DeadLetterPage> {
  const { key, pageSize, pageToken, filter } = request;
  const seen = pageToken === '' ? 0 : Number(pageToken);
  let best: Chosen[] = [];
  let more = false;
  for (const letter of letters(queue, size)) {
    if (letter === undefined) yield;
    else if (
      letter.item.seq > seen &&
      (key === undefined || letter.key === key) &&
      fits(state, queue, letter, filter)
    ) {
      best.push({ id: letter.item.id, key: letter.key, seq: letter.item.seq });
      if (best.length <= pageSize * 2) continue;
      best = best.sort(bySeq).slice(0, pageSize);
      more = true;
    }
  }
  best.sort(bySeq);
  return pageOf(state, queue, best.slice(0, pageSize), more || best.length > pageSize);
}

/**
 * The page of the letters that are still there. It ends early where it would be larger than `limits.answerBytes`; each
 * letter weighs its payload, its error and 2,048 bytes for the rest. The first letter always fits, so that a large one
 * does not stop the listing. The token goes on behind the last letter that was told or passed over.
 */
function pageOf(state: CoreState, queue: Queue, chosen: readonly Chosen[], more: boolean): DeadLetterPage {
  const page: DeadLetterView[] = [];
  let bytes = 0;
  let last = 0;
  for (const one of chosen) {
    const letter = letterOf(queue, one);
    if (letter !== undefined) {
      bytes += payloadBytesOf(letter.item) + (letter.item.lastError?.length ?? 0) + 2_048;
      if (page.length > 0 && bytes > state.settings.limits.answerBytes)
        return { deadLetters: page, nextPageToken: String(last) };
      page.push({ ...letterView(state, letter), place: String(one.seq) });
    }
    last = one.seq;
  }
  return { deadLetters: page, nextPageToken: more ? String(last) : '' };
}

/** Bytes, also of a payload that is on disk alone (S57). */
function payloadBytesOf({ payload, stored }: Item): number {
  return stored?.where === 'away' ? stored.bytes : payload.length;
}

/** Whether a page token is one of this list: empty, or an order of submission. */
export function isLettersToken(token: string): boolean {
  return /^\d{0,15}$/.test(token);
}

function letterView(state: CoreState, letter: DeadLetter): Omit<DeadLetterView, 'place'> {
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

/** How many letters a walk may change. */
export function mostOf({ dryRun = false, most = Number.POSITIVE_INFINITY }: ItemChoice): number {
  return dryRun ? 0 : most;
}

/**
 * S91: an item whose last attempt is over by the clock is a dead letter already, so it is among those that are chosen.
 */
export function catchUpKey(state: CoreState, queue: Queue, key: string | undefined, now: number): void {
  if (key !== undefined && key !== '') currentLane(state, queue, key, now);
}

/**
 * Discard: removes dead letters for good, and remembers their items as discarded. A key that is parked for one of them
 * stays parked.
 *
 * @returns how many dead letters are gone
 */
export function* discardDead(
  state: CoreState,
  queue: Queue,
  choice: ItemChoice,
  slices: Slices,
): Generator<undefined, Changed> {
  catchUpKey(state, queue, choice.key, slices.clock());
  const asOf = slices.clock() + state.wallOffset;
  const chosen = yield* choose(state, queue, choice, slices);
  let gone = 0;
  const most = mostOf(choice);
  for (const [at, one] of chosen.entries()) {
    if (gone >= most) break;
    const letter = letterOf(queue, one);
    if (letter !== undefined) {
      discardLetter(state, letter, slices.clock());
      gone += 1;
    }
    if ((at + 1) % slices.size === 0) yield;
  }
  return { done: gone, chosen: chosen.length, asOf };
}

function discardLetter(state: CoreState, { item }: DeadLetter, now: number): void {
  if (state.watching) tell(state, 'discard', item.lane, now, { itemId: item.id, detail: 'dead letter' });
  finish(state, item, 'discarded', undefined, now);
}
