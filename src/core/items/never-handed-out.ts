/** Items that a turn gives back when it ends before they are done. */

import type { Assignment, Item, Lane } from '../state/records.js';
import type { CoreState } from '../state/state.js';
import { handedOutAs } from './finish.js';
import { unmarkKeyDone } from './idempotency.js';
import { keepOnDisk } from './kept-after-all.js';

const NONE: readonly Item[] = Object.freeze([]);

/** The items of a turn that are not done. Of at_most_once none: they were done when they were handed out. */
export function openItems(assignment: Assignment): readonly Item[] {
  return assignment.kind === 'items' && !assignment.done ? assignment.items : NONE;
}

/**
 * The items of a turn that nobody got. Of at_most_once they are open again: what was not handed out is not done (S22).
 * Precondition: the turn has ended.
 */
export function neverHandedOut(
  state: CoreState,
  { queue }: Lane,
  assignment: Assignment,
  now: number,
): readonly Item[] {
  if (assignment.kind !== 'items' || !assignment.done) return openItems(assignment);
  const back = assignment.items.filter((item) => revive(state, item, now));
  queue.counters.finished.done -= back.length;
  return back;
}

/** @returns false: that it was done is forgotten by now, and so it stays; its id may be another item's */
function revive(state: CoreState, item: Item, now: number): boolean {
  const { queue, key } = item.lane;
  const finished = handedOutAs(item, now);
  if (finished === undefined) return false;
  queue.finished.delete(item.id);
  if (item.idempotencyKey !== undefined) unmarkKeyDone(queue, key, item.idempotencyKey, item.seq);
  // It came again meanwhile, to be kept.
  if (item.stored === undefined && queue.changes !== undefined && finished.seq !== undefined)
    keepOnDisk(state, queue.changes, item);
  return true;
}
