/** Dead letters: listing, redrive, discard. There may be many: each walk stops after every slice, and keeps no letter across a stop. */

import type { DeadLetterPage, DeadLetterView, ItemChoice, ListDeadLettersRequest } from '../../contract/views.js';
import { finish } from '../../items/finish.js';
import { putBack } from '../../items/item-phase.js';
import { itemView } from '../../lane/answers.js';
import { currentLane, currentOrNewLane } from '../../lane/current-lanes.js';
import { resolve } from '../../lane/resolve.js';
import { tell } from '../../state/events.js';
import { nameKeyless } from '../../state/lane.js';
import type { DeadLetter, Item, Queue } from '../../state/records.js';
import type { CoreState } from '../../state/state.js';
import { sortInSlices } from '../../structures/sort-in-slices.js';

/** How a walk goes on: after so many letters it stops, and then asks the clock anew. */
export interface Slices {
  readonly size: number;
  readonly clock: () => number;
}

/** A letter by its name, which another may have when the walk goes on: `seq` tells them apart. */
interface Chosen {
  readonly id: string;
  readonly key: string;
  readonly seq: number;
}

function bySeq(a: { readonly seq: number }, b: { readonly seq: number }): number {
  return a.seq - b.seq;
}

/** Those that are there when it begins. It looks at as many, so that it ends however many are added meanwhile. */
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

/** In the order of their submission. */
function* choose(queue: Queue, choice: ItemChoice, { size, clock }: Slices): Generator<undefined, readonly Chosen[]> {
  const { key, itemIds } = choice;
  const began = clock();
  const chosen: Chosen[] = [];
  const look = ({ item, key: own, diedAt }: DeadLetter) => {
    if ((key === undefined || own === key) && diedAt <= began) chosen.push({ id: item.id, key: own, seq: item.seq });
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

/** Unset: it is a dead letter no more. */
function letterOf(queue: Queue, { id, seq }: Chosen): DeadLetter | undefined {
  const letter = queue.deadLetters.get(id);
  return letter?.item.seq === seq ? letter : undefined;
}

/** @param request its token: the order of submission of the last one seen */
export function* listDeadLetters(
  state: CoreState,
  queue: Queue,
  request: ListDeadLettersRequest,
  size: number,
): Generator<undefined, DeadLetterPage> {
  const { key, pageSize, pageToken } = request;
  const seen = pageToken === '' ? 0 : Number(pageToken);
  let best: Chosen[] = [];
  let more = false;
  for (const letter of letters(queue, size)) {
    if (letter === undefined) yield;
    else if (letter.item.seq > seen && (key === undefined || letter.key === key)) {
      best.push({ id: letter.item.id, key: letter.key, seq: letter.item.seq });
      if (best.length <= pageSize * 2) continue;
      best = best.sort(bySeq).slice(0, pageSize);
      more = true;
    }
  }
  best.sort(bySeq);
  return pageOf(state, queue, best.slice(0, pageSize), more || best.length > pageSize);
}

/** What left since it was chosen is passed over. */
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
      page.push(letterView(state, letter));
    }
    last = one.seq;
  }
  return { deadLetters: page, nextPageToken: more ? String(last) : '' };
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

/**
 * Puts dead letters back before what waits, in the order of their submission. Those of a key in one go, however many:
 * between two of them nobody may start what comes after. @returns how many
 */
export function* redrive(
  state: CoreState,
  queue: Queue,
  choice: ItemChoice,
  slices: Slices,
): Generator<undefined, number> {
  catchUpKey(state, queue, choice.key, slices.clock());
  const chosen = yield* choose(queue, choice, slices);
  let done = 0;
  let inSlice = 0;
  // One lane after the other: opening the next may bring it to rest, and the LRU then drops another that was opened.
  for (const group of yield* byLane(chosen, slices.size)) {
    const back = group.flatMap((one) => letterOf(queue, one) ?? []);
    redriveTo(state, queue, back, slices.clock());
    done += back.length;
    inSlice += group.length;
    if (inSlice < slices.size) continue;
    inSlice = 0;
    yield;
  }
  return done;
}

/** S1: an item whose last attempt ends in this very moment is a dead letter already. */
function catchUpKey(state: CoreState, queue: Queue, key: string | undefined, now: number): void {
  if (key !== undefined && key !== '') currentLane(state, queue, key, now);
}

/** Those of a key together; each keyless one for itself. */
function* byLane(chosen: readonly Chosen[], size: number): Generator<undefined, Iterable<readonly Chosen[]>> {
  const groups = new Map<string | Chosen, Chosen[]>();
  for (const [at, one] of chosen.entries()) {
    const lane = one.key === '' ? one : one.key;
    const group = groups.get(lane);
    if (group === undefined) groups.set(lane, [one]);
    else group.push(one);
    if ((at + 1) % size === 0) yield;
  }
  return groups.values();
}

/** All are of one lane. */
function redriveTo(state: CoreState, queue: Queue, letters: readonly DeadLetter[], now: number): void {
  const [first] = letters;
  // None is left: what was chosen before a pause has gone.
  if (first === undefined) return;
  const lane = currentOrNewLane(state, queue, first.key, now);
  nameKeyless(lane, first.item);
  for (const { item } of letters) {
    item.lane = lane;
    item.attempts = 0;
    item.notBefore = Math.floor(now);
    if (state.watching) tell(state, 'redrive', lane, now, { itemId: item.id });
  }
  const items = letters.map(({ item }) => item);
  putBack(state, lane, items);
  queue.counters.redriven += items.length;
  resolve(state, lane, now);
}

/** @returns how many dead letters are gone */
export function* discardDead(
  state: CoreState,
  queue: Queue,
  choice: ItemChoice,
  slices: Slices,
): Generator<undefined, number> {
  catchUpKey(state, queue, choice.key, slices.clock());
  const chosen = yield* choose(queue, choice, slices);
  let gone = 0;
  for (const [at, one] of chosen.entries()) {
    const letter = letterOf(queue, one);
    if (letter !== undefined) {
      discardLetter(state, letter, slices.clock());
      gone += 1;
    }
    if ((at + 1) % slices.size === 0) yield;
  }
  return gone;
}

function discardLetter(state: CoreState, { item }: DeadLetter, now: number): void {
  if (state.watching) tell(state, 'discard', item.lane, now, { itemId: item.id, detail: 'dead letter' });
  finish(state, item, 'discarded', undefined, now);
}
