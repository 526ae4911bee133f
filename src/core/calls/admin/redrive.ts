/** Redrive: dead letters go back to their lines, and wait for each other again. */

import { tellDependants } from '../../admission/dependants.js';
import type { Changed, ItemChoice } from '../../contract/item-choice.js';
import type { AfterRef } from '../../contract/model.js';
import { putBack } from '../../items/item-phase.js';
import { currentOrNewLane } from '../../lane/current-lanes.js';
import { resolve } from '../../lane/resolve.js';
import { tell } from '../../state/events.js';
import { nameKeyless } from '../../state/lane.js';
import type { Item, Queue } from '../../state/records.js';
import type { CoreState } from '../../state/state.js';
import { sendAgain } from '../send-away.js';
import { type Chosen, catchUpKey, choose, letterOf, mostOf, type Slices } from './dead-letters.js';

/** The chosen letters of one key in the order of submission, or one keyless letter. */
type Group = readonly Chosen[];

/**
 * Puts dead letters back at the head of their lines, in the order of their submission. Those of one key go back in one
 * step, however many: if the walk stopped between two of them, a later item could start too early (I3). With them go
 * the groups that they wait for and that come later (S67). So a slice is at least `size` letters, and longer where so
 * many belong together.
 *
 * With `most` the walk ends after the step with which so many have gone back.
 *
 * @returns how many went back
 */
export function* redrive(
  state: CoreState,
  queue: Queue,
  choice: ItemChoice,
  slices: Slices,
): Generator<undefined, Changed> {
  catchUpKey(state, queue, choice.key, slices.clock());
  const asOf = slices.clock() + state.wallOffset;
  const chosen = yield* choose(state, queue, choice, slices);
  const byId = new Map(chosen.map((one) => [one.id, one]));
  const groups = yield* byLane(chosen, slices.size);
  let done = 0;
  let inSlice = 0;
  const most = mostOf(choice);
  for (const together of yield* inSteps(queue, groups, slices.size)) {
    if (done >= most) break;
    const step = together.flat();
    yield* untilNotified(state, queue, step, slices);
    done += sendAll(state, queue, step, slices.clock());
    const back = goingBack(queue, step, byId);
    done += back.size;
    waitAgain(state, queue, back);
    // One lane after the other: opening the next may bring it to rest, and the LRU then drops another that was opened.
    for (const group of together) redriveTo(state, queue, itemsOf(group, back), slices.clock());
    inSlice += step.length;
    if (inSlice < slices.size) continue;
    inSlice = 0;
    yield;
  }
  return { done, chosen: chosen.length, asOf };
}

/**
 * Waits until every item was notified of the last end of what letters of this step wait for. Otherwise a restart takes a letter
 * that went back for an item that was not notified yet, and the letter dies of the same death again.
 */
function* untilNotified(
  state: CoreState,
  queue: Queue,
  step: Group,
  { size, clock }: Slices,
): Generator<undefined, void> {
  while (isAnyUntold(state, queue, step, size)) {
    tellDependants(state, size, clock());
    yield;
  }
}

/** @param most ends that are looked at; where there are more, the answer is yes */
function isAnyUntold({ dependencies }: CoreState, queue: Queue, step: Group, most: number): boolean {
  if (!dependencies.hasNews) return false;
  const awaited = new Set<string>();
  for (const one of step)
    for (const ref of letterOf(queue, one)?.item.waits?.after ?? []) awaited.add(nameOf(ref.queue, ref.itemId));
  if (awaited.size === 0) return false;
  let left = most;
  for (const ended of dependencies.allEnded()) {
    if (left === 0 || awaited.has(nameOf(ended.queue, ended.itemId))) return true;
    left -= 1;
  }
  return false;
}

function nameOf(queue: string, itemId: string): string {
  return `${queue}\0${itemId}`;
}

/** Groups the chosen by lane, in the order of the first of each: those of a key together, each keyless one for itself. */
function* byLane(chosen: readonly Chosen[], size: number): Generator<undefined, readonly Group[]> {
  const groups = new Map<string | Chosen, Chosen[]>();
  for (const [at, one] of chosen.entries()) {
    const lane = one.key === '' ? one : one.key;
    const group = groups.get(lane);
    if (group === undefined) groups.set(lane, [one]);
    else group.push(one);
    if ((at + 1) % size === 0) yield;
  }
  return [...groups.values()];
}

/**
 * Which groups go back in one step: a letter never goes back before one that it waits for. So a group takes along those that its
 * letters wait for, and what those wait for, as far as they have not gone before it. Nearly always all of them have.
 */
function* inSteps(
  queue: Queue,
  groups: readonly Group[],
  size: number,
): Generator<undefined, readonly (readonly Group[])[]> {
  const placeOf = new Map<string, number>();
  for (const [place, group] of groups.entries()) for (const { id } of group) placeOf.set(id, place);
  const taken = new Set<number>();
  const steps: (readonly Group[])[] = [];
  let looked = 0;
  for (const first of groups.keys()) {
    if (taken.has(first)) continue;
    const step = new Set([first]);
    // It grows meanwhile.
    for (const place of step) {
      for (const one of groups[place] ?? []) {
        for (const id of awaitedIn(queue, letterOf(queue, one)?.item)) {
          const other = placeOf.get(id);
          if (other !== undefined && !taken.has(other)) step.add(other);
        }
        looked += 1;
        if (looked % size === 0) yield;
      }
    }
    for (const place of step) taken.add(place);
    steps.push([...step].sort((a, b) => a - b).map((place) => groups[place] ?? []));
  }
  return steps;
}

/** The letters of its queue that it waits for if they go back with it. */
function awaitedIn({ name, deadLetters }: Queue, item: Item | undefined): readonly string[] {
  const waits = item?.waits;
  if (item === undefined || waits === undefined) return NO_IDS;
  return waits.after.flatMap(({ queue, itemId }) =>
    queue === name && waitsAgain(item, deadLetters.get(itemId)?.item) ? [itemId] : [],
  );
}

const NO_IDS: readonly string[] = [];

/** Letters that belong elsewhere go on to there. @returns how many */
function sendAll(state: CoreState, queue: Queue, step: Group, now: number): number {
  let sent = 0;
  for (const one of step) {
    const letter = letterOf(queue, one);
    const destination = letter?.destination;
    if (letter !== undefined && destination !== undefined && sendAgain(state, letter, destination, now)) sent += 1;
  }
  queue.counters.redriven += sent;
  return sent;
}

/**
 * The items that go back in this step, by id. Between two steps an item may die again. A letter that waits for it stays
 * a letter then, and so do those that wait for that letter.
 */
function goingBack(queue: Queue, step: Group, chosen: ReadonlyMap<string, Chosen>): Map<string, Item> {
  const letters = step.flatMap((one) => letterOf(queue, one) ?? []);
  const own = letters.filter(({ destination }) => destination === undefined);
  const back = new Map(own.map(({ item }) => [item.id, item]));
  const isLeft = (id: string) => {
    const one = chosen.get(id);
    return one !== undefined && !back.has(id) && letterOf(queue, one) !== undefined;
  };
  const waiting = new Map<string, string[]>();
  const staying: string[] = [];
  for (const [id, item] of back) {
    for (const awaited of awaitedIn(queue, item)) {
      const others = waiting.get(awaited);
      if (isLeft(awaited)) staying.push(id);
      else if (others === undefined) waiting.set(awaited, [id]);
      else others.push(id);
    }
  }
  // It grows meanwhile.
  for (const id of staying) if (back.delete(id)) staying.push(...(waiting.get(id) ?? []));
  return back;
}

function itemsOf(group: Group, back: ReadonlyMap<string, Item>): readonly Item[] {
  return group.flatMap(({ id }) => back.get(id) ?? []);
}

/**
 * Each waits for what it came after, as far as that goes back with it or is open. To be called before any lane is looked
 * at: there one of them may be handed out, and be done with that.
 */
function waitAgain(state: CoreState, queue: Queue, back: ReadonlyMap<string, Item>): void {
  for (const item of back.values()) {
    const { waits } = item;
    if (waits === undefined) continue;
    const open = waits.after.filter((ref) => waitsAgain(item, openOrBack(state, queue, ref, back)));
    if (open.length === 0) continue;
    state.dependencies.add(item, waits, open);
    waits.changed = true;
  }
}

function openOrBack(
  { queues }: CoreState,
  queue: Queue,
  { queue: name, itemId, isFar }: AfterRef,
  back: ReadonlyMap<string, Item>,
): Item | undefined {
  if (isFar === true) return undefined;
  return (name === queue.name ? back.get(itemId) : undefined) ?? queues.get(name)?.items.get(itemId);
}

/**
 * Only for what came before it, or in the same call, which was looked at for circles: who waits, and who stands behind
 * whom, then goes by the order of submission. Items of one key keep that in their line: one that waits goes behind all
 * older ones.
 */
function waitsAgain(item: Item, other: Item | undefined): boolean {
  if (other === undefined) return false;
  const { lane, seq, submittedAt } = other;
  if (lane.queue === item.lane.queue && lane.key !== '' && lane.key === item.lane.key) return false;
  return seq < item.seq || submittedAt === item.submittedAt;
}

/**
 * Puts items of one lane back. Their lane of old may be forgotten: they get the lane that the key has now, and a
 * keyless item gets a new one. Attempts count from the beginning (S25), `lastError` stays. No limit refuses it: what
 * comes back takes no room in the line.
 *
 * `item.lane` is set before `putBack`, which puts the items into the queue and the line of that lane.
 */
function redriveTo(state: CoreState, queue: Queue, items: readonly Item[], now: number): void {
  const [first] = items;
  // None is left: what was chosen before a pause has gone.
  if (first === undefined) return;
  const lane = currentOrNewLane(state, queue, first.lane.key, now);
  nameKeyless(lane, first);
  for (const item of items) {
    item.lane = lane;
    item.attempts = 0;
    item.crashes = 0;
    item.notBefore = Math.floor(now);
    if (state.watching) tell(state, 'redrive', lane, now, { itemId: item.id });
  }
  putBack(state, lane, items);
  queue.counters.redriven += items.length;
  resolve(state, lane, now);
}
