/** Redrive: dead letters go back to their lines, and wait for each other again. */

import type { Changed, ItemChoice } from '../../contract/item-choice.js';
import type { ItemRef } from '../../contract/model.js';
import { putBack } from '../../items/item-phase.js';
import { currentOrNewLane } from '../../lane/current-lanes.js';
import { resolve } from '../../lane/resolve.js';
import { tell } from '../../state/events.js';
import { nameKeyless } from '../../state/lane.js';
import type { DeadLetter, Item, Queue } from '../../state/records.js';
import type { CoreState } from '../../state/state.js';
import { type Chosen, catchUpKey, choose, letterOf, mostOf, type Slices } from './dead-letters.js';

/**
 * Puts dead letters back in the order of their submission. Those of one key, and of keys whose letters wait for each
 * other, go back in one go, however many: if the walk stopped between two of them, a later item could start too early
 * (I3, S67). So a slice is at least `size` letters, and longer where so many belong together.
 *
 * With `most` the walk ends after the letters that belong together with which so many have gone back.
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
  let done = 0;
  let inSlice = 0;
  const most = mostOf(choice);
  for (const lanes of yield* together(queue, chosen, slices.size)) {
    if (done >= most) break;
    const before = done;
    done += redriveTogether(state, queue, lanes, slices.clock());
    inSlice += Math.max(1, done - before);
    if (inSlice < slices.size) continue;
    inSlice = 0;
    yield;
  }
  return { done, chosen: chosen.length, asOf };
}

/** The chosen letters of one lane, in the order of submission. */
interface Group {
  readonly letters: Chosen[];
  /** Another group that it belongs together with, nearer to the one that stands for all of them; unset: it does. */
  joined: Group | undefined;
}

/**
 * Groups the chosen by lane: those of a key together, each keyless one for itself; and the lanes by the letters that
 * wait for each other.
 */
function* together(
  queue: Queue,
  chosen: readonly Chosen[],
  size: number,
): Generator<undefined, Iterable<readonly (readonly Chosen[])[]>> {
  const groups = new Map<string | Chosen, Group>();
  const byId = new Map<string, Group>();
  for (const [at, one] of chosen.entries()) {
    const lane = one.key === '' ? one : one.key;
    const group = groups.get(lane) ?? { letters: [], joined: undefined };
    groups.set(lane, group);
    group.letters.push(one);
    byId.set(one.id, group);
    // What it waits for was submitted earlier, so that is in the map already.
    for (const { itemId } of awaitedIn(queue, letterOf(queue, one)?.item)) join(group, byId.get(itemId));
    if ((at + 1) % size === 0) yield;
  }
  const belonging = new Map<Group, (readonly Chosen[])[]>();
  for (const group of groups.values()) {
    const first = firstOf(group);
    const lanes = belonging.get(first);
    if (lanes === undefined) belonging.set(first, [group.letters]);
    else lanes.push(group.letters);
  }
  return belonging.values();
}

/** The items of the queue that it was submitted to wait for. */
function awaitedIn({ name }: Queue, item: Item | undefined): readonly ItemRef[] {
  return item?.waits?.after.filter(({ queue }) => queue === name) ?? [];
}

function join(one: Group, other: Group | undefined): void {
  const first = firstOf(one);
  const second = other === undefined ? first : firstOf(other);
  if (first !== second) first.joined = second;
}

/** Shortens the way, so that many steps in a row stay cheap. */
function firstOf(group: Group): Group {
  let first = group;
  while (first.joined !== undefined) {
    first.joined = first.joined.joined ?? first.joined;
    if (first.joined.joined === undefined) return first.joined;
    first = first.joined;
  }
  return first;
}

/** One lane after the other: opening the next may bring it to rest, and the LRU then drops another that was opened. */
function redriveTogether(state: CoreState, queue: Queue, lanes: readonly (readonly Chosen[])[], now: number): number {
  const groups = lanes.map((group) => group.flatMap((one) => letterOf(queue, one) ?? []));
  const back = new Map(groups.flat().map(({ item }) => [item.id, item]));
  for (const letters of groups) redriveTo(state, queue, letters, back, now);
  return back.size;
}

/**
 * Puts letters of one lane back. Their lane of old may be forgotten: they get the lane that the key has now, and a
 * keyless item gets a new one. Attempts count from the beginning (S25), `lastError` stays. No limit refuses it: what
 * comes back takes no room in the line.
 *
 * `item.lane` is set before `putBack`, which puts the items into the queue and the line of that lane.
 *
 * @param back all that go back in this step, by id
 */
function redriveTo(
  state: CoreState,
  queue: Queue,
  letters: readonly DeadLetter[],
  back: ReadonlyMap<string, Item>,
  now: number,
): void {
  const [first] = letters;
  // None is left: what was chosen before a pause has gone.
  if (first === undefined) return;
  const lane = currentOrNewLane(state, queue, first.key, now);
  nameKeyless(lane, first.item);
  for (const { item } of letters) {
    item.lane = lane;
    item.attempts = 0;
    item.notBefore = Math.floor(now);
    waitAgain(state, queue, item, back);
    if (state.watching) tell(state, 'redrive', lane, now, { itemId: item.id });
  }
  const items = letters.map(({ item }) => item);
  putBack(state, lane, items);
  queue.counters.redriven += items.length;
  resolve(state, lane, now);
}

/**
 * It waits for what it came after, as far as that goes back with it; the rest is not looked at again (S67). Only for what
 * was submitted earlier: lines are in that order too, so letters that go back never wait for each other in a circle.
 */
function waitAgain({ dependencies }: CoreState, queue: Queue, item: Item, back: ReadonlyMap<string, Item>): void {
  const { waits } = item;
  if (waits === undefined) return;
  const open = awaitedIn(queue, item).filter(({ itemId }) => (back.get(itemId)?.seq ?? item.seq) < item.seq);
  if (open.length === 0) return;
  dependencies.add(item, waits, open);
  waits.changed = true;
}
