/**
 * The only file that writes the phase of an item. Each of its verbs also keeps what belongs to that: the line, the index
 * by id, the dead letters, what is counted, and what is to be looked at once more because of it.
 *
 *     waiting      in the line of its lane and in `queue.items`; counted in `waitingItems`
 *     in_flight    in the turn of its lane and in `queue.items`
 *     handed_out   in a turn of at_most_once; done already: `queue.finished` remembers it for a time
 *     dead         in `queue.deadLetters`
 *     gone         nowhere; `queue.finished` may remember it
 *
 * `payloadBytes` counts the weight of what is waiting, in flight or dead (S33).
 */

import type { DeathCause, Durability } from '../contract/model.js';
import type { Destination } from '../contract/parcels.js';
import { isHeldBack } from '../state/dependencies.js';
import { costOfLetter } from '../state/held.js';
import { markAllRoom, markRoom } from '../state/marks.js';
import { countIn, lineOf, takeOut } from '../state/places.js';
import { DeadLetter, type Entry, GONE, Item, type ItemPhase, type Lane, type Queue } from '../state/records.js';
import type { CoreState } from '../state/state.js';
import type { Stored } from '../state/stored.js';
import type { Line } from '../structures/line.js';
import { weightOfItem } from './content.js';

const WAITING: ItemPhase = Object.freeze({ at: 'waiting' });
const IN_FLIGHT: ItemPhase = Object.freeze({ at: 'in_flight' });
const HANDED_OUT: ItemPhase = Object.freeze({ at: 'handed_out' });

/**
 * A new one lines up.
 *
 * @param before set: in front of this one
 */
export function lineUp(state: CoreState, item: Item, before: Entry | undefined): void {
  const { lane } = item;
  const { queue } = lane;
  const line = lineOf(lane);
  if (before === undefined) line.append(item);
  else line.insert(item, before);
  item.phase = WAITING;
  countIn(state, item);
  queue.items.set(item);
  charge(state, item);
  // A batch that waits for room may hold this very id: it needs less now.
  markRoom(state, queue);
}

/** From before the start: it stands where `place` puts it. */
export function lineUpOld(state: CoreState, item: Item, place: (line: Line<Entry>, item: Item) => void): void {
  place(lineOf(item.lane), item);
  item.phase = WAITING;
  countIn(state, item);
  keepOld(state, item);
}

/** From before the start, in a turn. */
export function carryOld(state: CoreState, item: Item): void {
  item.phase = IN_FLIGHT;
  keepOld(state, item);
}

/** From before the start, in a turn of at_most_once. */
export function carryHandedOut(state: CoreState, item: Item): void {
  item.phase = HANDED_OUT;
  chargeHandedOut(state, item, 1);
  item.lane.queue.changes?.handedOut.set(item.seq, item);
}

/** From before the start, dead. */
export function buryOld(state: CoreState, item: Item, letter: DeadLetter): void {
  bury(state, item, letter);
  charge(state, item);
}

function keepOld(state: CoreState, item: Item): void {
  item.lane.queue.items.setOld(item);
  charge(state, item);
}

/** From its line into a turn. The caller starts that turn in the same step. Precondition: it is waiting. */
export function take(state: CoreState, item: Item): void {
  takeOut(state, item);
  item.phase = IN_FLIGHT;
}

/**
 * Back into the line: from a turn, from among the dead letters, or because nobody got what was handed out. Each goes to
 * its place by the order of submission among the items at the head, before the first caller (S575). One that waits for
 * others, and what comes after it, goes behind all items that came before it: if an older item stood behind it, the two
 * could wait for each other. They take no room from now on, so a full line takes them back too, and nothing supersedes
 * them (S3, S5).
 *
 * Precondition: each is of this lane, and in flight, dead, or gone since the turn ended in which it was handed out.
 */
export function putBack(state: CoreState, lane: Lane, items: readonly Item[]): void {
  if (items.length === 0) return;
  const line = lineOf(lane);
  for (const item of items) keepAgain(state, item);
  const sorted = bySubmission(items);
  const places = placesBehindOlder(line, sorted);
  let next = line.head;
  for (const item of sorted) {
    while (next instanceof Item && next.seq < item.seq) next = next.behind;
    if (places?.has(item)) next = places.get(item);
    item.phase = WAITING;
    item.takesRoom = false;
    if (item.stored !== undefined) writeBack(state, line, item, item.stored, next);
    if (next === undefined) line.append(item);
    else line.insert(item, next);
    countIn(state, item);
  }
}

/**
 * For the first item that waits for others and those after it: what each goes before, so that every older item stands
 * before it. Undefined: at the end. Precondition: they are in the order of submission.
 */
function placesBehindOlder(line: Line<Entry>, items: readonly Item[]): Map<Item, Entry | undefined> | undefined {
  const first = items.findIndex(isHeldBack);
  if (first === -1) return undefined;
  const places = new Map<Item, Entry | undefined>();
  let place: Entry | undefined;
  let before = line.tail;
  for (const item of items.slice(first).reverse()) {
    while (before !== undefined && !(before instanceof Item && before.seq < item.seq)) {
      place = before;
      before = before.before;
    }
    places.set(item, place);
  }
  return places;
}

/** Nearly always they are in that order already: then nothing is copied. */
function bySubmission(items: readonly Item[]): readonly Item[] {
  let last = 0;
  for (const { seq } of items) {
    if (seq < last) return items.toSorted((one, other) => one.seq - other.seq);
    last = seq;
  }
  return items;
}

/** Back into the index by id. An item that was handed out is charged again; in flight or dead it is charged still. */
function keepAgain(state: CoreState, item: Item): void {
  const { phase, id, lane } = item;
  const { deadLetters, items } = lane.queue;
  if (phase.at === 'in_flight') return;
  if (phase.at === 'dead') {
    deadLetters.delete(id);
    chargeLetter(state, item, -costOfLetter(phase));
  } else charge(state, item);
  items.setAgain(item);
}

/** Notes on disk that the item came back. Precondition: it is about to be put before `next`, or at the end. */
function writeBack(state: CoreState, line: Line<Entry>, item: Item, stored: Stored, next: Entry | undefined): void {
  const before = storedBefore(next === undefined ? line.tail : next.before);
  stored.rank = before?.rank ?? rankBefore(state, line, stored.rank, next);
  state.frontRank = Math.min(state.frontRank, stored.rank);
  item.lane.queue.changes?.item(item);
}

/**
 * The nearest one on disk from here to the head. An item that comes back behind it takes the same rank: of equal ranks
 * the order of submission decides, and that of the item is later.
 */
function storedBefore(from: Entry | undefined): Stored | undefined {
  for (let entry = from; entry !== undefined; entry = entry.before)
    if (entry instanceof Item && entry.stored !== undefined) return entry.stored;
  return undefined;
}

/**
 * Before all that are on disk: the rank itself where it is the smallest already. Among callers it is not looked how far
 * behind them the next item is.
 */
function rankBefore(state: CoreState, line: Line<Entry>, rank: number, next: Entry | undefined): number {
  if (line.length === line.callers) return rank;
  if (next instanceof Item && next.stored !== undefined) return Math.min(rank, next.stored.rank - 1);
  state.frontRank = Math.min(state.frontRank, rank) - 1;
  return state.frontRank;
}

/**
 * It becomes a dead letter, and stays charged. Precondition: it is waiting or in flight, and there is room for a
 * letter.
 */
export function die(
  state: CoreState,
  item: Item,
  cause: DeathCause,
  now: number,
  destination: Destination | undefined,
): void {
  const { queue, key } = item.lane;
  if (item.phase.at === 'waiting') takeOut(state, item);
  queue.items.delete(item);
  bury(state, item, new DeadLetter(item, key, cause, now, destination));
  if (item.stored !== undefined) queue.changes?.item(item);
  queue.counters.deadLetters[cause] += 1;
}

function bury(state: CoreState, item: Item, letter: DeadLetter): void {
  item.phase = letter;
  item.lane.queue.deadLetters.set(item.id, letter);
  chargeLetter(state, item, costOfLetter(letter));
}

/** It is held from now on. */
function charge(state: CoreState, item: Item): void {
  const weight = weightOfItem(item);
  state.payloadBytes += weight;
  item.account?.change(weight + item.lane.key.length);
}

/** `times` -1: as much is given back. */
function chargeHandedOut(state: CoreState, item: Item, times: 1 | -1): void {
  const weight = weightOfItem(item);
  state.chargedBytes += times * weight;
  item.account?.change(times * (weight + item.lane.key.length));
}

function chargeLetter(state: CoreState, { account }: Item, bytes: number): void {
  state.chargedBytes += bytes;
  account?.change(bytes);
}

/**
 * It leaves for good, wherever it is.
 *
 * @param asked by the Submit that ends it; unset: it is left to the queue
 */
export function leave(state: CoreState, item: Item, asked: Durability | undefined): void {
  const { queue } = item.lane;
  if (item.phase.at === 'waiting') takeOut(state, item);
  if (item.phase.at === 'dead') {
    queue.deadLetters.delete(item.id);
    chargeLetter(state, item, -costOfLetter(item.phase));
  } else queue.items.delete(item);
  item.phase = GONE;
  release(state, queue, item);
  if (item.stored !== undefined) queue.changes?.item(item, asked);
}

/** at_most_once: it is in flight, and done with that. It may come back, if it turns out that nobody got it. */
export function handOut(state: CoreState, item: Item): void {
  const { queue } = item.lane;
  queue.items.delete(item);
  item.phase = HANDED_OUT;
  release(state, queue, item);
  chargeHandedOut(state, item, 1);
  if (item.stored === undefined) return;
  queue.changes?.handedOut.set(item.seq, item);
  queue.changes?.item(item);
}

/** The turn in which they were handed out has ended: only now they count. */
export function endHandedOut(state: CoreState, { changes, counters }: Queue, items: readonly Item[]): void {
  for (const item of items) {
    chargeHandedOut(state, item, -1);
    item.phase = GONE;
    if (changes?.handedOut.delete(item.seq) === true) changes.item(item);
  }
  counters.finished.done += items.length;
}

/** Its payload is no longer kept: Submits that wait for room may fit now (S100). */
function release(state: CoreState, queue: Queue, item: Item): void {
  const weight = weightOfItem(item);
  state.payloadBytes -= weight;
  item.account?.change(-weight - item.lane.key.length);
  // Its id and its key may be done now, of which a batch may name either.
  markRoom(state, queue);
  markAllRoom(state, 'memory', 'dependencies');
}
