/** What operators do to a key or a queue: evict, resume, pause, and set limits. */

import type { Resumed } from '../../contract/admin-calls.js';
import type { EvictionView, LimitsChange, LimitsView } from '../../contract/views.js';
import { currentLane } from '../../lane/current-lanes.js';
import { unpark } from '../../lane/phase.js';
import { resolve } from '../../lane/resolve.js';
import { NEVER_HANDED_OUT, type Outcome, RETURNED, settle } from '../../lane/settle.js';
import { tell } from '../../state/events.js';
import { stateOf, turnOf } from '../../state/lane.js';
import { markDirty } from '../../state/marks.js';
import { limitQueue } from '../../state/queues.js';
import type { Lane, Queue } from '../../state/records.js';
import { LOST } from '../../state/settlement.js';
import type { CoreState } from '../../state/state.js';

/** The answer where the key has no holder: nothing was changed. */
const NOBODY: Omit<EvictionView, 'state'> = Object.freeze({
  evicted: false,
  token: 0,
  consumerId: '',
  itemsReturned: 0,
  itemsDiscarded: 0,
});

/**
 * Ends the turn of a key; its worker gets TURN_LOST with the cause `evicted`. Items go back to the head of the line,
 * and no attempt is counted (S25). Items of at_most_once stay done, unless the turn is still held for a ticket that
 * nobody came for: then they wait again (S22). With `discard` they are discarded in the same step, where they would go back.
 *
 * The empty key names no lane, so no keyless turn is evicted. The answer tells the state after the eviction: the next
 * turn may have started already.
 */
export function evictHolder(
  state: CoreState,
  queue: Queue | undefined,
  key: string,
  discard: boolean,
  now: number,
): EvictionView {
  const lane = queue === undefined ? undefined : currentLane(state, queue, key, now);
  const turn = lane === undefined ? undefined : turnOf(lane);
  if (lane === undefined) return { ...NOBODY, state: 'INIT' };
  if (turn === undefined) return { ...NOBODY, state: stateOf(lane) };
  const { token, consumerId, handed } = turn;
  const isHanded = handed !== 'kept';
  const back = isHanded ? RETURNED : NEVER_HANDED_OUT;
  const outcome: Outcome = discard ? { kind: 'discarded', handed: isHanded } : back;
  const { returned, discarded } = settle(state, turn, outcome, LOST.evicted, now);
  const items = { itemsReturned: returned, itemsDiscarded: discarded };
  return { evicted: true, token, consumerId, ...items, state: stateOf(lane) };
}

/**
 * Lets a parked key go on. While its turn lives (S90) that means: the key is not parked again when the turn ends.
 *
 * The empty key means all keyless lanes that are parked. Their set is copied first: an item for which there is still no
 * room among the dead letters is parked again at once, and a walk over the set itself would meet it again, for ever.
 * With one at least the answer says READY for all of them; none of them is asked.
 */
export function resumeKey(state: CoreState, queue: Queue | undefined, key: string, now: number): Resumed {
  if (queue === undefined) return { resumed: false, state: 'INIT' };
  if (key !== '') {
    const lane = currentLane(state, queue, key, now);
    return lane === undefined ? { resumed: false, state: 'INIT' } : resumeLane(state, lane, now);
  }
  const parked = [...queue.keylessParked];
  for (const lane of parked) resumeLane(state, lane, now);
  return { resumed: parked.length > 0, state: parked.length > 0 ? 'READY' : 'INIT' };
}

/** Unparks, tells those who watch, and looks at the head, in this order: what starts is told after the resume. */
function resumeLane(state: CoreState, lane: Lane, now: number): Resumed {
  const resumed = unpark(lane);
  if (resumed && state.watching) tell(state, 'resume', lane, now, {});
  if (resumed) resolve(state, lane, now);
  return { resumed, state: stateOf(lane) };
}

/**
 * Closes the gate of a queue: turns that live go on, and none starts. Kept across a restart if the queue is durable
 * (S54). Nothing can start because of it, so the end of the step need not look at the queue.
 */
export function pauseQueue(queue: Queue): void {
  queue.paused = true;
  queue.changes?.pause(queue);
}

/** Opens the gate again. The end of the step starts what waits behind it, as far as the other gates let it. */
export function resumeQueue(state: CoreState, queue: Queue): void {
  queue.paused = false;
  queue.changes?.pause(queue);
  markDirty(state, queue);
}

/**
 * Sets the limits of a queue. A new `rate` begins with a full bucket. A lower `maxInFlight` ends no turn: none starts
 * before fewer live. Limits that a person set keep the queue from being forgotten. They are not kept across a restart
 * (S54), but in a partition of a cluster (S276).
 *
 * Precondition: `change` says something.
 */
export function setLimits(state: CoreState, queue: Queue, change: LimitsChange, now: number): LimitsView {
  limitQueue(queue, change, now);
  if (state.isPartition) queue.changes?.limits(queue);
  markDirty(state, queue);
  return limitsOf(state, queue);
}

/** What a queue may do now; of one that is not there, what it could do if it were made (S127). */
export function limitsOf({ settings }: CoreState, queue: Queue | undefined): LimitsView {
  if (queue !== undefined) return { rate: queue.rate?.rate, maxInFlight: queue.maxInFlight };
  // Named ones are always there (S26).
  const { rate, maxInFlight } = settings.defaultPolicy;
  return { rate, maxInFlight };
}
