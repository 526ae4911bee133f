/**
 * Lanes by their keys and tokens, up to date: what is over by the clock happens first (S1). The wheel may be late,
 * because it fires a bounded number of timers at a time. So whoever asks about a key makes its own past happen, and no
 * answer depends on how busy the wheel is.
 */

import type { ItemRef, NewItem } from '../contract/model.js';
import { isKeyless } from '../state/lane.js';
import { Lane, type Queue } from '../state/records.js';
import type { CoreState } from '../state/state.js';
import { isOver } from '../structures/due.js';
import { endTickets, expire } from './expiry.js';
import { isTurnOver } from './lease.js';
import { countNew } from './phase.js';

/**
 * The lane of a key; unset: the key is in INIT, and no settlement of it is remembered. Keyless lanes are not found
 * here.
 */
export function currentLane(state: CoreState, queue: Queue, key: string, now: number): Lane | undefined {
  const lane = queue.lanes.get(key);
  if (lane !== undefined) catchUp(state, lane, now);
  return lane;
}

/** The lane in which a token may be live; keyless items are found by it alone. */
export function currentLaneOfToken(
  state: CoreState,
  queue: Queue,
  key: string,
  token: number,
  now: number,
): Lane | undefined {
  if (!isKeyless(key)) return currentLane(state, queue, key, now);
  const lane = queue.keyless.get(token);
  if (lane !== undefined) catchUp(state, lane, now);
  return lane;
}

/**
 * As {@link currentLane}, but a lane that is missing is made. An arrival without a key gets a new lane each time, which
 * is in no index before it has a turn. Whoever calls this makes the lane busy, or calls `restIfNew` or `resolve`, in
 * the same step: a new lane is not among the idle ones so far.
 */
export function currentOrNewLane(state: CoreState, queue: Queue, key: string, now: number): Lane {
  if (!isKeyless(key)) {
    const known = currentLane(state, queue, key, now);
    if (known !== undefined) return known;
  }
  return newLane(state, queue, key);
}

function newLane(state: CoreState, queue: Queue, key: string): Lane {
  const lane = new Lane(queue, key);
  if (!isKeyless(key)) queue.lanes.add(key, lane);
  countNew(state, lane);
  return lane;
}

/**
 * The lane's turn or delay ends if it is over, and places of absent callers whose ticket is over go. The places are
 * looked at only while the wheel is late: else it has ended each of them by itself. Other timers are left to the wheel.
 */
export function catchUp(state: CoreState, lane: Lane, now: number): void {
  endPhase(state, lane, now);
  if (lane.tickets !== undefined && isOver(state.wheel.wakeAt, now)) endTickets(state, lane, now);
}

/** Ends the turn or the delay of the lane, if that is over. */
export function endPhase(state: CoreState, lane: Lane, now: number): void {
  const { phase } = lane;
  if (phase.at === 'HELD') {
    if (isTurnOver(phase, now)) expire(state, lane, now);
  } else if (phase.at === 'DELAY' && isOver(lane.due, now)) expire(state, lane, now);
}

/**
 * The keys that these items name, and what they wait for, are up to date (S1). To be called before anything is planned:
 * what the plan looks at is then as it will be when it is carried out.
 */
export function catchUpItems(state: CoreState, queue: Queue, items: Iterable<NewItem>, now: number): void {
  // Usually the wheel is on time, and no key and no id has to be looked up. `wakeAt` may be early, but is never late.
  if (!isOver(state.wheel.wakeAt, now)) return;
  for (const { key, after } of items) {
    if (!isKeyless(key)) currentLane(state, queue, key, now);
    if (after !== undefined) for (const ref of after) catchUpItem(state, ref, now);
  }
}

function catchUpItem(state: CoreState, { queue, itemId }: ItemRef, now: number): void {
  const item = state.queues.get(queue)?.items.get(itemId);
  if (item !== undefined) catchUp(state, item.lane, now);
}
