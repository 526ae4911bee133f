/** The head of a line whose prerequisite failed. */
import { hasRoomForLetter, makeDeadLetter, parkAfter } from '../items/dead-letter.js';
import type { Item } from '../state/records.js';
import type { CoreState } from '../state/state.js';
import { park } from './phase.js';

/**
 * The item becomes a dead letter, and its key parks where the queue says so. Without room for the letter it stays at
 * the head, and the key parks; resumed, `resolve` comes here again (S62). It is never handed out.
 *
 * Precondition: the item is the head of its lane, which nobody holds and which is not parked, and it cannot be done any
 * more, because something that it waits for ended otherwise (S61).
 */
export function failHead(state: CoreState, item: Item, now: number): void {
  const { lane } = item;
  const room = hasRoomForLetter(lane.queue);
  if (room) makeDeadLetter(state, item, 'dependency', now);
  const reason = parkAfter(lane, item, room, now);
  if (reason !== undefined) park(state, lane, reason, now);
}
