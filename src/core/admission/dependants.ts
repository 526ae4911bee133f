/**
 * What becomes of items that wait for others: they begin to wait when their batch has arrived, and they learn at the
 * end of a step how that ended (S60, S61, S68).
 */

import type { AfterRef, ItemRef, NewItem, Reason } from '../contract/model.js';
import { hasRoomForLetter, makeDeadLetter } from '../items/dead-letter.js';
import { isOpen, standingOf } from '../items/item-status.js';
import { noteError } from '../items/last-error.js';
import { resolve } from '../lane/resolve.js';
import { nameOf, told } from '../state/item-names.js';
import { markAllRoom } from '../state/marks.js';
import { type End, type Item, Waits } from '../state/records.js';
import type { CoreState } from '../state/state.js';

interface Waiting extends Pick<NewItem, 'afterUnknown'> {
  readonly item: Item;
  readonly after: readonly AfterRef[];
}

/**
 * Items of a batch that wait for others, until the whole batch has arrived. Items of one call may name each other in
 * any order (S64), so no item is linked to what it waits for before all items are decided. Until then `waits.left` is
 * the number of all names, and the item is held back.
 */
export class BatchWaits {
  readonly #waiting: Waiting[] = [];
  /** What was not kept of the batch: the rest may have been meant to wait for it. */
  readonly #declined = new Map<string, 'done' | 'declined'>();

  /** Unset: nothing of the batch waits for anything. */
  static of(items: readonly NewItem[]): BatchWaits | undefined {
    return items.some(({ after }) => after !== undefined) ? new BatchWaits() : undefined;
  }

  /** It is held back until the batch has arrived. */
  keep(item: Item, after: readonly AfterRef[], afterUnknown: NewItem['afterUnknown']): void {
    item.waits = new Waits(after);
    this.#waiting.push({ item, after, afterUnknown });
  }

  /** Notes an item of the batch that was declined. ALREADY_DONE is done for those that wait for it (S60). */
  decline(queue: string, itemId: string, reason: Reason): void {
    this.#declined.set(nameOf({ queue, itemId }), reason === 'already_done' ? 'done' : 'declined');
  }

  /** The batch has arrived: to be called exactly once. */
  complete(state: CoreState, now: number): void {
    const { far } = state.dependencies;
    const before = far.size;
    for (const waiting of this.#waiting) {
      // It may be gone already: another of the batch took its place.
      if (isOpen(waiting.item)) this.#begin(state, waiting, now);
    }
    if (far.size > before) state.effects.push({ kind: 'awaits_far' }, false);
  }

  /** S64. Where what is unknown would have been refused, it was an item of this very batch. */
  #endOf(ref: ItemRef, afterUnknown: NewItem['afterUnknown']): End | 'unknown' {
    if (this.#declined.get(nameOf(ref)) === 'done') return 'done';
    return afterUnknown === 'wait' ? 'unknown' : 'declined';
  }

  /**
   * Links one item to what it waits for. What is done already is left out. The first prerequisite that failed decides:
   * the item is not linked to the others. Where nothing is left to wait for, the lane of the item is looked at again.
   */
  #begin(state: CoreState, { item, after, afterUnknown }: Waiting, now: number): void {
    const { waits } = item;
    if (waits === undefined) return;
    const open: AfterRef[] = [];
    for (const ref of after) {
      let standing = ref.isFar === true ? 'open' : standingOf(state, ref, now);
      if (standing === 'unknown') standing = this.#endOf(ref, afterUnknown);
      if (standing === 'open' || standing === 'unknown') open.push(ref);
      else if (isFatal(item, standing)) return failByDependency(state, item, ref, standing, now);
    }
    state.dependencies.add(item, waits, open);
    if (open.length === 0) lookAt(state, item, now);
  }
}

/**
 * Tells items that a prerequisite has ended, one dependency for each unit of the budget (S68). What is left over stays
 * in the list of ended prerequisites, and the news timer continues with it in the next tick. An item that becomes a
 * dead letter here is ended itself, so those that wait for it come into the same list.
 *
 * Precondition: there is news.
 *
 * @returns what is left of the budget
 */
export function tellDependants(state: CoreState, budget: number, now: number): number {
  markAllRoom(state, 'dependencies');
  for (let left = budget; left > 0; left--) {
    const news = state.dependencies.firstNews();
    if (news === undefined) return left;
    const { item, on } = news;
    if (on.end !== undefined && isFatal(item, on.end)) failByDependency(state, item, on, on.end, now);
    else {
      state.dependencies.drop(news);
      if (item.stored !== undefined) item.lane.queue.changes?.item(item);
      if (item.waits?.left === 0) lookAt(state, item, now);
    }
  }
  return 0;
}

/**
 * The end of a step: writes how something ended, if items on disk have not learnt of it yet. Otherwise a crash now
 * would leave them waiting for ever, once what they wait for is forgotten.
 */
export function keepUntold({ changes, dependencies }: CoreState): void {
  for (const ended of dependencies.takeUntold()) changes?.end(ended);
}

/** The policy of the queue of the waiting item decides, not that of the queue of the prerequisite (S61). */
function isFatal(item: Item, end: End): boolean {
  return end !== 'done' && item.lane.queue.policy.onDependencyDead === 'dead';
}

/** Its last dependency is gone. Behind others, or in a lane that is held or parked, it comes to its turn later. */
function lookAt(state: CoreState, { lane }: Item, now: number): void {
  if (lane.phase.at === 'DELAY') resolve(state, lane, now);
}

/**
 * The item cannot be done any more (S61, S62). It becomes a dead letter where it stands, unless its key has to stop for
 * that (`on_dead_letter: park`), or there is no room for it: then when it is the head of its line and nobody holds the
 * key.
 */
function failByDependency(state: CoreState, item: Item, { queue, itemId }: ItemRef, end: End, now: number): void {
  const { lane, waits } = item;
  // First the links: `dropAll` also clears `dependencyFailed`.
  state.dependencies.dropAll(item);
  if (waits !== undefined) {
    waits.dependencyFailed = true;
    waits.changed = true;
  }
  noteError(state, item, `${told({ queue, itemId })}, which had to be done before it, ${ENDED[end]}`, false);
  if (item.stored !== undefined) lane.queue.changes?.item(item);
  const stopsKey = lane.key !== '' && lane.queue.policy.onDeadLetter === 'park';
  if (!stopsKey && hasRoomForLetter(lane.queue)) makeDeadLetter(state, item, 'dependency', now);
  resolve(state, lane, now);
}

/** How a prerequisite ended, in the words of `last_error`. */
const ENDED: Readonly<Record<End, string>> = {
  done: 'is done',
  dead: 'became a dead letter',
  superseded: 'was superseded',
  discarded: 'was discarded',
  declined: 'was declined',
  forgotten: 'is not known to the home of its queue any more',
};
