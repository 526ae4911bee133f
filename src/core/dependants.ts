/** What becomes of items that wait for others. */
import type { End } from './dependencies.js';
import { Waits } from './dependencies.js';
import { bury, hasRoomForLetter, parkAfter } from './items.js';
import type { Item } from './line.js';
import type { ItemRef, NewItem, SubmitResult } from './model.js';
import { park } from './park.js';
import { resolve } from './resolve.js';
import { takeOut } from './show.js';
import { standingOf } from './standing.js';
import type { CoreState } from './state.js';

/** What of a batch was not kept: the rest of the batch may have been meant to wait for it. */
export class Declined {
  readonly #ends = new Map<string, End>();

  /** Unset: nothing of the batch waits for anything. */
  static of(items: readonly NewItem[]): Declined | undefined {
    return items.some(({ after }) => after !== undefined) ? new Declined() : undefined;
  }

  add(queue: string, result: SubmitResult): void {
    if (result.decision === 'accept') return;
    this.#ends.set(nameOf({ queue, itemId: result.itemId }), result.reason === 'already_done' ? 'done' : 'declined');
  }

  get(ref: ItemRef): End | undefined {
    return this.#ends.get(nameOf(ref));
  }
}

/** No name of a queue has a space. */
export function nameOf({ queue, itemId }: ItemRef): string {
  return `${queue} ${itemId}`;
}

/** An item arrives that waits for others. Precondition: it is in its line, which is not resolved yet. */
export function beginWaiting(
  state: CoreState,
  item: Item,
  { afterUnknown }: Pick<NewItem, 'afterUnknown'>,
  declined: Declined | undefined,
  now: number,
): void {
  const { waits } = item;
  if (waits === undefined) return;
  const open: ItemRef[] = [];
  for (const ref of waits.after) {
    let standing = standingOf(state, ref, now);
    // It would have been refused: only an item of its own batch, which was declined, is unknown here.
    if (standing === 'unknown' && afterUnknown === 'refuse') standing = declined?.get(ref) ?? 'declined';
    if (standing === 'open' || standing === 'unknown') open.push(ref);
    else if (isFatal(item, standing)) return doom(state, item, ref, standing, now);
  }
  if (open.length > 0) state.dependencies.add(item, waits, open);
}

/**
 * After a restart: the item waits for these again. Of those that ended meanwhile it is told in the next step, as if
 * they had ended then.
 */
export function waitAgain(state: CoreState, item: Item, after: readonly ItemRef[], now: number): void {
  if (after.length === 0) return;
  item.waits = new Waits(after);
  state.dependencies.add(item, item.waits, after);
  for (const ref of after) {
    const standing = standingOf(state, ref, now);
    if (standing !== 'open' && standing !== 'unknown') state.dependencies.end(ref.queue, ref.itemId, standing);
  }
}

/** @returns what is left of the budget */
export function tellDependants(state: CoreState, budget: number, now: number): number {
  for (let left = budget; left > 0; left--) {
    const news = state.dependencies.firstNews();
    if (news === undefined) return left;
    const { item, on } = news;
    if (on.end !== undefined && isFatal(item, on.end)) doom(state, item, on, on.end, now);
    else {
      state.dependencies.drop(news);
      if (item.waits?.left === 0) lookAt(state, item, now);
    }
  }
  return 0;
}

function isFatal(item: Item, end: End): boolean {
  return end !== 'done' && item.lane.queue.policy.onDependencyDead === 'dead';
}

/** Its last dependency is gone. Behind others, or in a lane that is held or parked, it comes to its turn later. */
function lookAt(state: CoreState, { lane }: Item, now: number): void {
  if (lane.row.moves.delay_ends === 'look') resolve(state, lane, now);
}

/**
 * The item cannot be done any more. It becomes a dead letter where it stands, unless its key has to stop for that
 * (`on_dead_letter: park`), or there is no room for it: then when it is the head of its line and nobody holds the key.
 */
function doom(state: CoreState, item: Item, { queue, itemId }: ItemRef, end: End, now: number): void {
  const { lane, waits } = item;
  state.dependencies.dropAll(item);
  if (waits !== undefined) waits.doom = { queue, itemId };
  item.lastError = `item ${itemId} of queue ${queue}, which had to be done before it, ${ENDED[end]}`;
  const stopsKey = lane.key !== '' && lane.queue.policy.onDeadLetter === 'park';
  if (!stopsKey && hasRoomForLetter(lane.queue)) {
    takeOut(state, item);
    bury(state, item, 'dependency', now);
  }
  resolve(state, lane, now);
}

const ENDED: Readonly<Record<End, string>> = {
  done: 'is done',
  dead: 'became a dead letter',
  superseded: 'was superseded',
  discarded: 'was discarded',
  declined: 'was declined',
};

/** Precondition: the head of its lane, which nobody holds and which is not parked, cannot be done any more. */
export function die(state: CoreState, item: Item, now: number): void {
  const { lane } = item;
  const room = hasRoomForLetter(lane.queue);
  if (room) {
    takeOut(state, item);
    bury(state, item, 'dependency', now);
  }
  park(lane, parkAfter(lane, item, room, now));
}
