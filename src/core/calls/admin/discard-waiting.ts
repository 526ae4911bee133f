/** Discard of items that wait. Items in flight are not touched (S34). */

import type { Changed, ItemChoice } from '../../contract/item-choice.js';
import { finish } from '../../items/finish.js';
import { currentLane } from '../../lane/current-lanes.js';
import { unpark } from '../../lane/phase.js';
import { resolve } from '../../lane/resolve.js';
import { tell } from '../../state/events.js';
import type { Item, Queue } from '../../state/records.js';
import type { CoreState } from '../../state/state.js';
import type { Slices } from './dead-letters.js';

/**
 * Removes items that wait, of those that were submitted before it began (S88). There may be millions: it stops after
 * every `size` items it looked at, and goes on when it is asked to. No item is remembered across a stop, because it may
 * start, end or come back meanwhile. It is looked at when the walk comes to it: what left by then is not counted.
 *
 * An id that fits nothing counts 0 (S34). The key of the choice, if it names one, is brought up to date first (S91).
 *
 * @param most how many may go, asked when it begins to look
 * @param newest the order of submission (`seq`) of the last item that is meant
 * @returns how many are gone
 */
export function* discardWaiting(
  state: CoreState,
  queue: Queue,
  choice: ItemChoice,
  newest: number,
  { size, clock }: Slices,
  most: () => number,
): Generator<undefined, Changed> {
  if (choice.key !== undefined && choice.key !== '') currentLane(state, queue, choice.key, clock());
  const ids = new Set(choice.itemIds);
  const candidates = ids.size > 0 ? itemsById(queue, ids) : queue.items.scan();
  let gone = 0;
  let chosen = 0;
  let seen = 0;
  const atMost = choice.dryRun === true ? 0 : most();
  for (const item of candidates) {
    const isChosen = item.seq <= newest && (choice.key === undefined || item.lane.key === choice.key) && item.isWaiting;
    if (isChosen) {
      chosen += 1;
      if (gone < atMost && discardItem(state, item, clock())) gone += 1;
    }
    if (++seen % size === 0) yield;
  }
  return { done: gone, chosen };
}

/**
 * Removes one item from its line, and remembers it as discarded: its Await calls are answered, and the items that wait
 * for it learn of it at the end of the step (S60, S61). Its key goes on, but a parked key stays parked.
 *
 * Precondition: the item is in the index of its queue now.
 * @returns whether it waited
 */
function discardItem(state: CoreState, item: Item, now: number): boolean {
  const { lane } = item;
  if (!item.isWaiting) return false;
  if (state.watching) tell(state, 'discard', lane, now, { itemId: item.id, detail: 'waiting' });
  finish(state, item, 'discarded', undefined, now);
  // Of a keyless lane nothing is left to be resumed.
  if (lane.key === '') unpark(lane);
  resolve(state, lane, now);
  return true;
}

/** The items of these ids, for a walk with pauses: each is looked up when the walk comes to it. */
function* itemsById(queue: Queue, ids: ReadonlySet<string>): Generator<Item, undefined> {
  for (const id of ids) {
    const item = queue.items.get(id);
    if (item !== undefined) yield item;
  }
}
