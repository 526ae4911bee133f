/** What operators do. */

import type { LaneState } from '../../contract/model.js';
import type { EvictionView, LimitsChange, LimitsView } from '../../contract/views.js';
import { putBack } from '../../items/item-phase.js';
import { neverHandedOut, openItems } from '../../items/never-handed-out.js';
import { currentLane } from '../../lane/current-lanes.js';
import { unpark } from '../../lane/phase.js';
import { resolve } from '../../lane/resolve.js';
import { endTurn } from '../../lane/turns.js';
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
  if (turn === undefined || lane.row.moves.evict !== 'end_turn') return { ...NOBODY, state: stateOf(lane) };
  const { token, consumerId, assignment, handed } = turn;
  endTurn(state, turn, 'evicted', LOST.evicted, now);
  const items = handed === 'kept' ? neverHandedOut(state, lane, assignment, now) : openItems(assignment);
  putBack(state, lane, items);
  resolve(state, lane, now);
  return { evicted: true, token, consumerId, itemsReturned: items.length, state: stateOf(lane) };
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
  const resumed = lane.row.moves.resume === 'unpark' && unpark(lane);
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
