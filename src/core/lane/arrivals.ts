/** Callers: how they arrive, come back with their ticket, wait, and leave. */

import type { Durability, Reason } from '../contract/model.js';
import { CANCELLED, limitRefusal, queueFull, RETRY_SOON, TOKENS_USED_UP } from '../contract/refusals.js';
import { finish } from '../items/finish.js';
import { recallKey } from '../items/idempotency.js';
import { emitLeaving, type Leaving, tell } from '../state/events.js';
import { isKeyless, pacedUntil } from '../state/lane.js';
import { STATES } from '../state/lane-states.js';
import { countIn, lineOf, takeOut } from '../state/places.js';
import { type Asker, Caller, callerAssignment, type Entry, type Lane, Turn } from '../state/records.js';
import type { CoreState } from '../state/state.js';
import { isWaiting, mayNotWait } from '../state/wait-list.js';
import { after } from '../structures/due.js';
import type { Line } from '../structures/line.js';
import { answerBlock, answerDecline, answerTurn, nameOf, refuse } from './answers.js';
import { closedGate, hasGateLine } from './gates.js';
import { restIfNew } from './phase.js';
import { delayOf, resolve } from './resolve.js';
import { takeOverIfMay } from './take-over.js';
import { startTurn, tellAgain } from './turns.js';

/** One that arrives by EnQueue or by Acquire with a key. */
interface Arrival {
  readonly asker: Asker;
  readonly consumerId: string;
  readonly ticket: string | undefined;
  readonly lease: number | undefined;
  readonly idempotencyKey: string | undefined;
  /** ms; 0: answer at once. */
  readonly wait: number;
  readonly arrivedAt: number;
}

/**
 * A caller arrives at a lane that is up to date. The order of the checks is the contract's.
 * @returns the entry that waits with an open call, if it has to
 */
export function arrive(state: CoreState, lane: Lane, arrival: Arrival, now: number): Caller | undefined {
  const known = arrival.ticket === undefined ? undefined : lane.tickets?.get(arrival.ticket);
  if (known !== undefined) return comeBack(state, known, arrival, now);
  countArrival(lane, now);
  const waiting = decide(state, lane, arrival, now);
  restIfNew(state, lane);
  return waiting;
}

/** For repeat distances: how far back the key's last arrival is, in arrivals of the queue. */
export function countArrival(lane: Lane, now: number): void {
  const { queue } = lane;
  queue.arrivals += 1;
  queue.usedAt = now;
  if (isKeyless(lane.key)) return;
  if (lane.lastArrival > 0) queue.counters.repeatDistance.add(queue.arrivals - lane.lastArrival);
  lane.lastArrival = queue.arrivals;
}

function decide(state: CoreState, lane: Lane, arrival: Arrival, now: number): Caller | undefined {
  const { asker } = arrival;
  const coalesces = asker.kind === 'enqueue';
  const done = recallKey(lane.queue, lane.key, arrival.idempotencyKey, now);
  if (done !== undefined) {
    emitDecline(state, lane, arrival, 'already_done', now);
    answerDecline(state, lane, asker, { reason: 'already_done', result: done.result });
    return undefined;
  }
  const full = coalesces && isFullForCaller(lane);
  const survivor = lane.line?.tail;
  if (full && lane.queue.policy.whenFull === 'decline' && survivor !== undefined) {
    emitDecline(state, lane, arrival, 'waiter_exists', now);
    answerDecline(state, lane, asker, { reason: 'waiter_exists', survivorId: nameOf(survivor) });
    return undefined;
  }
  const retryAfter = coalesces ? tooSoon(lane, now) : undefined;
  if (retryAfter !== undefined) {
    emitDecline(state, lane, arrival, 'too_soon', now);
    answerDecline(state, lane, asker, { reason: 'too_soon', retryAfter });
    return undefined;
  }
  if (state.tokens.areUsedUp) {
    refuse(state, asker, TOKENS_USED_UP, lane.queue.tellsLate);
    return undefined;
  }
  if (lane.phase.at === 'INIT' && isOpen(state, lane, now)) {
    startAtOnce(state, lane, arrival, now);
    return undefined;
  }
  return lineUp(state, lane, arrival, full ? lane.line?.newestTakingRoom() : undefined, now);
}

function emitDecline(state: CoreState, lane: Lane, { consumerId }: Arrival, reason: Reason, now: number): void {
  if (state.watching) tell(state, 'arrival', lane, now, { consumerId, detail: `decline ${reason}` });
}

/** S3. */
function isFullForCaller(lane: Lane): boolean {
  if (lane.line === undefined) return false;
  const { waitingPerKey } = lane.queue.policy;
  return waitingPerKey === undefined || isFull(lane.line, waitingPerKey);
}

export function isFull(line: Line<Entry>, capacity: number | 'unlimited' | undefined): boolean {
  return typeof capacity === 'number' && line.taken >= capacity;
}

/** What is left of `min_interval`, ms, if that declines arrivals and is not over (S2). */
export function tooSoon(lane: Lane, now: number): number | undefined {
  if (lane.queue.policy.whenTooSoon !== 'decline') return undefined;
  const until = pacedUntil(lane, now);
  return until === undefined ? undefined : until - now;
}

function isOpen(state: CoreState, lane: Lane, now: number): boolean {
  return !hasGateLine(lane.queue) && closedGate(state, lane.queue, now) === undefined;
}

function startAtOnce(state: CoreState, lane: Lane, arrival: Arrival, now: number): void {
  const { asker, consumerId, idempotencyKey } = arrival;
  if (state.busyLanes >= state.settings.limits.busyLanes) return refuseLane(state, lane, asker);
  if (state.watching) tell(state, 'arrival', lane, now, { consumerId, detail: 'accept' });
  const assignment = callerAssignment(idempotencyKey);
  const turn = startTurn(state, lane, assignment, arrival, asker.stream, now);
  answerTurn(state, asker, turn, now);
}

function refuseLane(state: CoreState, lane: Lane, asker: Asker): void {
  lane.queue.counters.rejected.limit += 1;
  refuse(state, asker, limitRefusal('busy_lanes', state.settings.limits.busyLanes), lane.queue.tellsLate);
}

function lineUp(
  state: CoreState,
  lane: Lane,
  arrival: Arrival,
  superseded: Entry | undefined,
  now: number,
): Caller | undefined {
  const { asker, wait, ticket } = arrival;
  if (wait <= 0 && ticket === undefined) {
    if (state.watching) tell(state, 'arrival', lane, now, { consumerId: arrival.consumerId, detail: 'block' });
    const ahead = aheadOf(lane, superseded === undefined ? (lane.line?.length ?? 0) : placeOf(lane, superseded));
    answerBlock(state, lane, asker, ahead, retryAfter(state, lane, ahead, now), undefined);
    return undefined;
  }
  if (!hasRoom(state, lane, asker, superseded)) return undefined;
  const { consumerId, lease, idempotencyKey } = arrival;
  const takesRoom = asker.kind === 'enqueue';
  const caller = new Caller(lane, asker, consumerId, ticket, lease, idempotencyKey, now, takesRoom);
  if (superseded === undefined) lineOf(lane).append(caller);
  else {
    lineOf(lane).insert(caller, superseded);
    supersede(state, superseded, caller, now);
  }
  countIn(state, caller);
  if (state.watching) tell(state, 'arrival', lane, now, { consumerId, detail: 'block' });
  return waitOrLeave(state, caller, wait, now);
}

/** Limits of everything that waits (I9). Who takes another's place adds none, but a caller more if that is an item. */
function hasRoom(state: CoreState, lane: Lane, asker: Asker, superseded: Entry | undefined): boolean {
  const { queue } = lane;
  if (superseded instanceof Caller) return true;
  if (superseded === undefined && queue.waiting >= queue.policy.maxWaiting) {
    queue.counters.rejected.queue_full += 1;
    refuse(state, asker, queueFull(queue.name, queue.policy.maxWaiting), queue.tellsLate);
    return false;
  }
  const refusal = mayNotWait(state, 'caller');
  if (refusal !== undefined) {
    queue.counters.rejected.limit += 1;
    refuse(state, asker, refusal, queue.tellsLate);
    return false;
  }
  if (lane.counted !== STATES.INIT || state.busyLanes < state.settings.limits.busyLanes) return true;
  refuseLane(state, lane, asker);
  return false;
}

/** The newcomer, which stands before it, takes the place of the other, which is told (S5). */
export function supersede(state: CoreState, old: Entry, newcomer: Entry, now: number, asked?: Durability): void {
  const { lane } = old;
  if (state.watching) emitLeaving(state, old, 'superseded', now);
  if (old instanceof Caller) takeOut(state, old);
  else return finish(state, old, 'superseded', undefined, now, false, asked);
  const survivorId = nameOf(newcomer);
  if (old.asker !== undefined) answerDecline(state, lane, old.asker, { reason: 'superseded', survivorId });
}

/** The call waits, or, with wait zero, is answered while its ticket keeps the place. */
function waitOrLeave(state: CoreState, caller: Caller, wait: number, now: number): Caller | undefined {
  const { lane } = caller;
  if (wait > 0) state.wheel.schedule(caller, after(now, wait));
  resolve(state, lane, now);
  if (!isWaiting(caller)) return undefined;
  if (wait > 0) return caller;
  answerAndStay(state, caller, now);
  return undefined;
}

/** BLOCK, and the ticket keeps the place from now on (S8). */
function answerAndStay(state: CoreState, caller: Caller, now: number): void {
  answerNotYet(state, caller, now);
  caller.asker = undefined;
  state.wheel.schedule(caller, after(now, caller.lane.queue.policy.ticketTtl));
}

function answerNotYet(state: CoreState, caller: Caller, now: number): void {
  const { lane, asker } = caller;
  if (asker === undefined) return;
  const ahead = aheadOf(lane, placeOf(lane, caller));
  answerBlock(state, lane, asker, ahead, retryAfter(state, lane, ahead, now), caller.ticket);
}

function placeOf(lane: Lane, entry: Entry): number {
  return lane.line?.placeOf(entry) ?? 0;
}

function aheadOf(lane: Lane, place: number): number {
  return place + (lane.phase.at === 'HELD' ? 1 : 0);
}

const NEVER = Object.freeze({ until: undefined });

/** S6. */
function retryAfter(state: CoreState, lane: Lane, ahead: number, now: number): number | undefined {
  if (ahead > 0) return undefined;
  if (lane.phase.at === 'PARK') return RETRY_SOON;
  const { until } = delayOf(lane, lane.line?.head, now) ?? closedGate(state, lane.queue, now) ?? NEVER;
  return until === undefined ? RETRY_SOON : until - now;
}

/** A ticket comes back: to its turn, or to its place. */
function comeBack(state: CoreState, known: Caller | Turn, arrival: Arrival, now: number): Caller | undefined {
  if (known instanceof Turn) {
    if (known.handed === 'kept') known.consumerId = arrival.consumerId;
    tellAgain(state, known, arrival.asker.stream, arrival.lease, now);
    answerTurn(state, arrival.asker, known, now);
    return undefined;
  }
  // Of two open calls with one ticket the newer waits.
  answerNotYet(state, known, now);
  known.asker = arrival.asker;
  known.consumerId = arrival.consumerId;
  known.lease = arrival.lease;
  if (arrival.wait > 0) {
    state.wheel.schedule(known, after(now, arrival.wait));
    return known;
  }
  endWait(state, known, now);
  return undefined;
}

/** The one who asked is gone. With a ticket the place is kept, unless `leave`. */
export function cancelCaller(state: CoreState, caller: Caller, leave: boolean, now: number): void {
  if (!isWaiting(caller)) return;
  if (caller.ticket === undefined || leave) return giveUp(state, caller, 'cancelled', now);
  caller.asker = undefined;
  state.wheel.schedule(caller, after(now, caller.lane.queue.policy.ticketTtl));
}

/** The place is given up; an open call is told by whoever does this. */
export function giveUp(state: CoreState, caller: Caller, why: Leaving, now: number): void {
  if (state.watching) emitLeaving(state, caller, why, now);
  takeOut(state, caller);
  resolve(state, caller.lane, now);
}

/** Its place was given up from elsewhere (S9). */
export function refuseCancelled(state: CoreState, caller: Caller): void {
  if (caller.asker !== undefined) refuse(state, caller.asker, CANCELLED, caller.lane.queue.tellsLate);
}

/** Its wait is over: take-over, or BLOCK; without a ticket it has left then. */
export function endWait(state: CoreState, caller: Caller, now: number): void {
  takeOverIfMay(state, caller, now);
  if (!isWaiting(caller)) return;
  if (caller.ticket !== undefined) return answerAndStay(state, caller, now);
  answerNotYet(state, caller, now);
  giveUp(state, caller, 'wait_ended', now);
}
