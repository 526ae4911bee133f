/** What operators do. */

import type { LaneState } from '../../contract/model.js';
import type { EvictionView, LimitsChange, LimitsView } from '../../contract/views.js';
import { currentLane } from '../../lane/current-lanes.js';
import { unpark } from '../../lane/phase.js';
import { resolve } from '../../lane/resolve.js';
import { NEVER_HANDED_OUT, RETURNED, settle } from '../../lane/settle.js';
import { tell } from '../../state/events.js';
import { stateOf, turnOf } from '../../state/lane.js';
import { markDirty } from '../../state/marks.js';
import type { Lane, Queue } from '../../state/records.js';
import { LOST } from '../../state/settlement.js';
import type { CoreState } from '../../state/state.js';
import { TokenBucket } from '../../structures/token-bucket.js';

const NOBODY: Omit<EvictionView, 'state'> = Object.freeze({
  evicted: false,
  token: 0,
  consumerId: '',
  itemsReturned: 0,
});

export function evictHolder(state: CoreState, queue: Queue | undefined, key: string, now: number): EvictionView {
  const lane = queue === undefined ? undefined : currentLane(state, queue, key, now);
  const turn = lane === undefined ? undefined : turnOf(lane);
  if (lane === undefined) return { ...NOBODY, state: 'INIT' };
  if (turn === undefined) return { ...NOBODY, state: stateOf(lane) };
  const { token, consumerId, handed } = turn;
  const { returned } = settle(state, turn, handed === 'kept' ? NEVER_HANDED_OUT : RETURNED, LOST.evicted, now);
  return { evicted: true, token, consumerId, itemsReturned: returned, state: stateOf(lane) };
}

export interface Resumed {
  readonly resumed: boolean;
  readonly state: LaneState;
}

/** An empty key: all keyless items that are parked (S23). */
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

function resumeLane(state: CoreState, lane: Lane, now: number): Resumed {
  const resumed = unpark(lane);
  if (resumed && state.watching) tell(state, 'resume', lane, now, {});
  if (resumed) resolve(state, lane, now);
  return { resumed, state: stateOf(lane) };
}

export function pauseQueue(queue: Queue): void {
  queue.paused = true;
  queue.changes?.pause(queue);
}

export function resumeQueue(state: CoreState, queue: Queue): void {
  queue.paused = false;
  queue.changes?.pause(queue);
  markDirty(state, queue);
}

/** Precondition: `change` says something. */
export function setLimits(state: CoreState, queue: Queue, change: LimitsChange, now: number): LimitsView {
  const { rate, maxInFlight } = change;
  if (rate !== undefined) queue.rate = rate === 'none' ? undefined : new TokenBucket(rate, now);
  if (maxInFlight !== undefined) queue.maxInFlight = maxInFlight === 'none' ? undefined : maxInFlight;
  queue.limitsChanged = true;
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
