/** Queues by their names: found, made, forgotten; and whether an answer about one has to wait for the disk. */

import type { Refusal } from '../contract/model.js';
import { isDurable, type Policy } from '../contract/policy.js';
import { limitRefusal } from '../contract/refusals.js';
import type { LimitsChange } from '../contract/views.js';
import { TokenBucket } from '../structures/token-bucket.js';
import { COSTS } from './held.js';
import { forgetRoomIn } from './kept-room.js';
import { STATES } from './lane-states.js';
import { lacksMemory } from './memory-budget.js';
import { type Lane, Queue, type Stream } from './records.js';
import { type CoreState, dropLane } from './state.js';

/** A queue that holds nothing is forgotten when it was not used for this long, ms (S26). */
const FORGET_AFTER = 60_000;
/** Results, and as many idempotency keys, that one round of housekeeping looks at in one queue. */
const PURGE_BUDGET = 1_000;
/** Idle lanes, and as many results, that one round forgets because other cores need the memory. */
const TRIM_BUDGET = 10_000;

/** The queue if there is one; a refusal if there may be none of that name. */
export function findQueue(state: CoreState, name: string): Queue | undefined | Refusal {
  const away = state.away.size === 0 ? undefined : state.away.get(name);
  if (away !== undefined) return away;
  const queue = knownQueue(state, name);
  if (queue !== undefined || state.settings.autoCreate || state.settings.queues.has(name)) return queue;
  return { kind: 'no_such_queue', queue: name };
}

/** Most calls in a row are for one queue: its name is not hashed again. */
function knownQueue(state: CoreState, name: string): Queue | undefined {
  const last = state.lastQueue;
  if (last !== undefined && last.name === name) return last;
  const queue = state.queues.get(name);
  if (queue !== undefined) state.lastQueue = queue;
  return queue;
}

/**
 * Whether an answer about the queue of this name, on this stream, has to wait for the disk. There is nothing to wait
 * for without a queue.
 */
export function isToldLate(state: CoreState, name: string, on?: Stream): boolean {
  // Without a journal nothing waits: this is asked once for each call.
  if (state.changes === undefined) return false;
  const queue = knownQueue(state, name);
  return queue !== undefined && tellsLateOn(queue, on);
}

/** As {@link isToldLate}, of the answer to a call that ended a turn. */
export function isSettledLate(state: CoreState, name: string, on?: Stream): boolean {
  if (state.changes === undefined) return false;
  const queue = knownQueue(state, name);
  return queue !== undefined && (queue.settlesLate || isOfUnwritten(queue, on));
}

/** As {@link isToldLate}. A worker that comes back must find the session, too, to which its turns were tied. */
export function tellsLateOn(queue: Queue, on: Stream | undefined): boolean {
  return queue.tellsLate || isOfUnwritten(queue, on);
}

function isOfUnwritten({ changes }: Queue, on: Stream | undefined): boolean {
  const session = on?.session;
  return session !== undefined && changes?.isUnwritten(session.id) === true;
}

/** Whether an answer about all of them has to wait for the disk. */
export function tellLate(queues: readonly Queue[], on?: Stream): boolean {
  for (const queue of queues) if (tellsLateOn(queue, on)) return true;
  return false;
}

/**
 * The queue, made if need be, and used from now on (S26). Where there are too many (`limits.queues`) those that hold
 * nothing are forgotten first; if that is not enough the refusal is LIMIT. Queues that the configuration names are
 * always made.
 */
export function findOrMakeQueue(state: CoreState, name: string, now: number): Queue | Refusal {
  const known = findQueue(state, name);
  if (known === undefined) return openQueue(state, name, now);
  if (known instanceof Queue) known.usedAt = now;
  return known;
}

/** Precondition: there is none of this name, and may be one. */
function openQueue(state: CoreState, name: string, now: number): Queue | Refusal {
  const { limits, queues, defaultPolicy } = state.settings;
  const policy = queues.get(name);
  const most = limits.queues - state.elsewhere.queues;
  if (state.queues.size >= most && policy === undefined) {
    forgetQueues(state, now, 0);
    if (state.queues.size >= most) return limitRefusal('queues', limits.queues);
  }
  // Those that the configuration names are always made.
  const refusal = policy === undefined ? lacksMemory(state, COSTS.queue) : undefined;
  return refusal ?? makeQueue(state, name, policy ?? defaultPolicy, policy !== undefined, now);
}

/** Precondition: there is none of this name, and may be one. */
export function makeQueue(state: CoreState, name: string, policy: Policy, named: boolean, now: number): Queue {
  state.queueSeq += 1;
  const ownPrefix = `${state.ownIds}${state.queueSeq.toString(36)}-`;
  const queue = new Queue(name, policy, named, state.results, now, ownPrefix, state.changes);
  state.queues.set(name, queue);
  state.chargedBytes += COSTS.queue;
  return queue;
}

/** A person sets its limits, now or before the start. What is unset stays. A new `rate` begins with a full bucket. */
export function limitQueue(queue: Queue, { rate, maxInFlight }: LimitsChange, now: number): void {
  if (rate !== undefined) queue.rate = rate === 'none' ? undefined : new TokenBucket(rate, now);
  if (maxInFlight !== undefined) queue.maxInFlight = maxInFlight === 'none' ? undefined : maxInFlight;
  const before = queue.limitsSet;
  queue.limitsSet = { rate: rate ?? before?.rate, maxInFlight: maxInFlight ?? before?.maxInFlight };
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

/** Forgets what is over its time, and queues that nobody uses. */
export function keepHouse(state: CoreState, now: number): void {
  for (const queue of state.queues.values()) {
    queue.finished.purge(now, PURGE_BUDGET);
    queue.doneKeys.purge(now, PURGE_BUDGET);
  }
  forgetQueues(state, now, FORGET_AFTER);
  state.idle.trim(TRIM_BUDGET);
  state.results.trim(TRIM_BUDGET);
}

/** What was used in this very step is kept: a call that opens several queues counts on all of them. */
function forgetQueues(state: CoreState, now: number, unusedFor: number): void {
  for (const queue of state.queues.values()) {
    const unused = now - queue.usedAt;
    if (unused <= 0 || unused < unusedFor || !isForgettable(queue, now)) continue;
    dropQueue(state, queue);
  }
}

/** Precondition: all of its lanes are idle, and nobody waits in it. */
export function dropQueue(state: CoreState, queue: Queue): void {
  for (const lane of queue.lanes.values()) forgetIdle(state, lane);
  for (const lane of queue.keyless.values()) forgetIdle(state, lane);
  state.wheel.cancel(queue.gateTimer);
  forgetRoomIn(state, queue);
  state.queues.delete(queue.name);
  state.chargedBytes -= COSTS.queue;
  if (state.lastQueue === queue) state.lastQueue = undefined;
}

/** A keyless lane stands there under several tokens: with it all of them go, so it is met once. */
function forgetIdle(state: CoreState, lane: Lane): void {
  state.idle.delete(lane);
  dropLane(state, lane);
}

/**
 * It holds no item, turn, waiting call, dead letter or remembered end; nobody has changed it; its `rate` is full
 * (S172).
 */
function isForgettable(queue: Queue, now: number): boolean {
  if (queue.named || queue.paused || queue.limitsSet !== undefined || queue.rate?.isFull(now) === false) return false;
  const busy =
    queue.states.of(STATES.DELAY) + queue.states.of(STATES.PARK) + queue.inFlight + queue.waiting + queue.items.size;
  const waits = queue.waiters.size + queue.roomWaiters.size + queue.awaits.size;
  const kept = queue.deadLetters.size + queue.finished.size + queue.doneKeys.size;
  return busy + waits + kept === 0;
}
