/** Queues and lanes by their names. */

import type { ItemRef, NewItem, Refusal } from '../contract/model.js';
import { isDurable, type Policy } from '../contract/policy.js';
import { limitRefusal } from '../contract/refusals.js';
import { isKeyless } from '../state/lane.js';
import { Lane, Queue } from '../state/records.js';
import { type CoreState, dropLane } from '../state/state.js';
import { ROWS } from '../state/table.js';
import { endTickets, expire } from './expiry.js';
import { isOver } from './lease.js';
import { countNew } from './sync-lane.js';

/** A queue that holds nothing is forgotten when it was not used for this long, ms (S26). */
const FORGET_AFTER = 60_000;
const PURGE_BUDGET = 1_000;

/** The queue if there is one; a refusal if there may be none of that name. */
export function findQueue(state: CoreState, name: string): Queue | undefined | Refusal {
  const queue = state.queues.get(name);
  if (queue !== undefined) return seen(state, queue);
  if (state.settings.autoCreate || state.settings.queues.has(name)) return queue;
  return { kind: 'no_such_queue', queue: name };
}

/** What is told of it from here on may not be on disk yet. */
function seen(state: CoreState, queue: Queue): Queue {
  if (queue.tellsLate) state.effects.held = true;
  return queue;
}

/** The queue, made if need be. */
export function findOrMakeQueue(state: CoreState, name: string, now: number): Queue | Refusal {
  const known = findQueue(state, name);
  if (known !== undefined) {
    if (known instanceof Queue) known.usedAt = now;
    return known;
  }
  const { limits, queues, defaultPolicy } = state.settings;
  const policy = queues.get(name);
  if (state.queues.size >= limits.queues && policy === undefined) {
    forgetQueues(state, now, 0);
    if (state.queues.size >= limits.queues) return limitRefusal('queues', limits.queues);
  }
  return seen(state, makeQueue(state, name, policy ?? defaultPolicy, policy !== undefined, now));
}

/** Precondition: there is none of this name, and may be one. */
export function makeQueue(state: CoreState, name: string, policy: Policy, named: boolean, now: number): Queue {
  state.queueSeq += 1;
  const ownPrefix = `${state.ownIds}${state.queueSeq.toString(36)}-`;
  const queue = new Queue(name, policy, named, state.results, now, ownPrefix, state.changes);
  state.queues.set(name, queue);
  return queue;
}

/** Whether what is asked of this queue may have to wait for the disk. It need not exist. */
export function mayBeDurable({ changes, settings, queues }: CoreState, name: string): boolean {
  if (changes === undefined) return false;
  const known = queues.get(name);
  if (known !== undefined) return known.changes !== undefined;
  return isDurable(settings.queues.get(name) ?? settings.defaultPolicy);
}

export function isRefusal(value: Queue | Refusal | undefined): value is Refusal {
  return value !== undefined && !(value instanceof Queue);
}

/** The lane of a key, up to date (S1). */
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

export function currentOrNewLane(state: CoreState, queue: Queue, key: string, now: number): Lane {
  if (!isKeyless(key)) {
    const known = currentLane(state, queue, key, now);
    if (known !== undefined) return known;
  }
  const lane = new Lane(queue, key);
  if (key !== '') queue.lanes.set(key, lane);
  countNew(lane);
  return lane;
}

/** What is over by the clock is over, even if the wheel is late. */
export function catchUp(state: CoreState, lane: Lane, now: number): void {
  endPhase(state, lane, now);
  if (lane.tickets !== undefined && state.wheel.wakeAt <= now) endTickets(state, lane, now);
}

/** Its turn or its delay, if that is over. */
export function endPhase(state: CoreState, lane: Lane, now: number): void {
  const { phase } = lane;
  if (phase.at === 'HELD') {
    if (isOver(phase, now)) expire(state, lane, now);
  } else if (phase.at === 'DELAY' && now >= lane.due) expire(state, lane, now);
}

/**
 * The keys that these items name, and what they wait for, are up to date (S1). To be called before anything is planned:
 * what the plan looks at is then as it will be when it is carried out.
 */
export function catchUpItems(state: CoreState, queue: Queue, items: Iterable<NewItem>, now: number): void {
  // Usually the wheel is on time, and nothing has to be looked up for that.
  if (state.wheel.wakeAt > now) return;
  for (const { key, after } of items) {
    if (!isKeyless(key)) currentLane(state, queue, key, now);
    if (after !== undefined) for (const ref of after) catchUpItem(state, ref, now);
  }
}

function catchUpItem(state: CoreState, { queue, itemId }: ItemRef, now: number): void {
  const item = state.queues.get(queue)?.items.get(itemId);
  if (item !== undefined) catchUp(state, item.lane, now);
}

/** Forgets what is over its time, and queues that nobody uses. */
export function keepHouse(state: CoreState, now: number): void {
  for (const queue of state.queues.values()) {
    queue.finished.purge(now, PURGE_BUDGET);
    queue.doneKeys.purge(now, PURGE_BUDGET);
  }
  forgetQueues(state, now, FORGET_AFTER);
}

/** What was used in this very step is kept: a call that opens several queues counts on all of them. */
function forgetQueues(state: CoreState, now: number, unusedFor: number): void {
  for (const queue of state.queues.values()) {
    const unused = now - queue.usedAt;
    if (unused <= 0 || unused < unusedFor || !isForgettable(queue, now)) continue;
    for (const lane of queue.lanes.values()) forgetIdle(state, lane);
    for (const lane of queue.keyless.values()) forgetIdle(state, lane);
    state.queues.delete(queue.name);
  }
}

/** A keyless lane stands there under several tokens: with it all of them go, so it is met once. */
function forgetIdle(state: CoreState, lane: Lane): void {
  state.idle.delete(lane);
  dropLane(lane);
}

function isForgettable(queue: Queue, now: number): boolean {
  if (queue.named || queue.paused || queue.limitsChanged || queue.rate?.isFull(now) === false) return false;
  const busy =
    queue.states.of(ROWS.DELAY) + queue.states.of(ROWS.PARK) + queue.inFlight + queue.waiting + queue.items.size;
  const waits = queue.waiters.size + queue.roomWaiters.size + queue.awaits.size;
  const kept = queue.deadLetters.size + queue.finished.size + queue.doneKeys.size;
  return busy + waits + kept === 0;
}
