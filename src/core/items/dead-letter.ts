/** Dead letters: when there is room for one, how one is made, and whether its key stops. */

import type { DeathCause } from '../contract/model.js';
import type { Destination } from '../contract/parcels.js';
import { tell } from '../state/events.js';
import type { Park } from '../state/phases.js';
import type { Item, Lane, Queue } from '../state/records.js';
import type { CoreState } from '../state/state.js';
import { answerAwaits } from './await.js';
import { leaveDependencies } from './finish.js';
import { die } from './item-phase.js';

/**
 * Why the key parks after its item died, or should have; unset: it goes on. Without room for the letter the
 * lane parks in any case, because the item stays in its line. Else `on_dead_letter` of the queue decides, and a keyless
 * lane never parks, because there is no order to keep (S23).
 */
export function parkAfter(lane: Lane, item: Item, hasLetter: boolean, now: number): Park | undefined {
  if (!hasLetter) return { at: 'PARK', since: now, because: 'no_room', itemId: item.id };
  if (lane.queue.policy.onDeadLetter === 'skip' || lane.key === '') return undefined;
  return { at: 'PARK', since: now, because: 'dead_letter', itemId: item.id };
}

export function hasRoomForLetter(queue: Queue): boolean {
  return queue.deadLetters.size < queue.policy.maxDeadLetters;
}

/** For what cannot wait anywhere else: where alone it needs more than there may be, it would be held for ever. */
export function hasRoomForLetters({ deadLetters, policy }: Queue, count: number): boolean {
  return deadLetters.size === 0 || deadLetters.size + count <= policy.maxDeadLetters;
}

/**
 * Makes a dead letter of an item that waits or is in flight. Items that wait for it will learn that it is dead (S61),
 * and calls that wait for it are answered: so it is a dead letter first. Precondition: there is room for one.
 *
 * @param destination where Redrive sends it; unset: into its queue
 */
export function makeDeadLetter(
  state: CoreState,
  item: Item,
  cause: DeathCause,
  now: number,
  destination?: Destination,
): void {
  const { lane } = item;
  const { queue } = lane;
  die(state, item, cause, now, destination);
  if (state.watching) tell(state, 'dead_letter', lane, now, { itemId: item.id, detail: cause });
  leaveDependencies(state, queue, item, 'dead');
  answerAwaits(state, queue, item, now);
}
