/** The head of a line whose prerequisite failed. */
import { hasRoomForLetter, makeDeadLetter, parkAfter } from '../items/dead-letter.js';
import type { Item } from '../state/records.js';
import type { CoreState } from '../state/state.js';
import { park } from './phase.js';

/** Precondition: the head of its lane, which nobody holds and which is not parked, cannot be done any more. */
export function failHead(state: CoreState, item: Item, now: number): void {
  const { lane } = item;
  const room = hasRoomForLetter(lane.queue);
  if (room) makeDeadLetter(state, item, 'dependency', now);
  const reason = parkAfter(lane, item, room, now);
  if (reason !== undefined) park(state, lane, reason, now);
}
