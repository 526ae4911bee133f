/** Dead letters: when there is room for one, how one is made, and whether its key stops. */

import type { DeathCause } from '../contract/model.js';
import { tell } from '../state/events.js';
import type { Item, Lane, Park, Queue } from '../state/records.js';
import type { CoreState } from '../state/state.js';
import { answerAwaits } from './await.js';
import { leaveDependencies } from './finish.js';
import { die } from './item-phase.js';

/** Why the key has to stop after its item died, or has to and cannot. */
export function parkAfter(lane: Lane, item: Item, hasLetter: boolean, now: number): Park | undefined {
  if (!hasLetter) return { at: 'PARK', since: now, because: 'no_room', itemId: item.id };
  if (lane.queue.policy.onDeadLetter === 'skip' || lane.key === '') return undefined;
  return { at: 'PARK', since: now, because: 'dead_letter', itemId: item.id };
}

export function hasRoomForLetter(queue: Queue): boolean {
  return queue.deadLetters.size < queue.policy.maxDeadLetters;
}

/** Makes a dead letter. Precondition: there is room for one. */
export function makeDeadLetter(state: CoreState, item: Item, cause: DeathCause, now: number): void {
  const { lane } = item;
  const { queue } = lane;
  die(state, item, cause, now);
  if (state.watching) tell(state, 'dead_letter', lane, now, { itemId: item.id, detail: cause });
  leaveDependencies(state, queue, item, 'dead');
  answerAwaits(state, queue, item.id, now);
}
