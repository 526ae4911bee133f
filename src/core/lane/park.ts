import { tell } from '../state/events.js';
import { parkOf } from '../state/lane.js';
import { INIT, type Lane, type Park } from '../state/records.js';
import type { CoreState } from '../state/state.js';
import { isLinked, unlink } from '../structures/link.js';

/** Stops the lane, if there is a reason. Precondition: it has no holder. The caller resolves it afterwards. */
export function park(state: CoreState, lane: Lane, reason: Park | undefined, now: number): void {
  if (reason === undefined) return;
  if (isLinked(lane)) unlink(lane);
  lane.phase = reason;
  lane.queue.changes?.park(lane);
  if (lane.key === '') lane.queue.keylessParked.add(lane);
  if (state.watching) tell(state, 'park', lane, now, { itemId: reason.itemId, detail: reason.because });
}

/** Lets it go on, when its turn ends if it has one. The caller resolves it afterwards. @returns whether it was parked */
export function unpark(lane: Lane): boolean {
  if (parkOf(lane) === undefined) return false;
  if (lane.phase.at === 'HELD') lane.phase.parked = undefined;
  else lane.phase = INIT;
  lane.queue.keylessParked.delete(lane);
  lane.queue.changes?.park(lane);
  return true;
}
