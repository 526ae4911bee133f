/**
 * Callers: how they arrive, come back with their ticket, wait, and leave.
 *
 * A caller is present while its call is open (`asker` is set), and absent while only its ticket keeps the place. Its
 * timer ends the wait of the one, and the ticket of the other. A caller without a ticket leaves the line when its call
 * ends. Each call gets exactly one answer (I7): whoever takes `asker` away, or takes the caller out, answers it or
 * knows that nobody is there to hear it.
 */

import type { Durability } from '../contract/model.js';
import { CANCELLED, limitRefusal, queueFull, RETRY_SOON, TOKENS_USED_UP } from '../contract/refusals.js';
import { finish } from '../items/finish.js';
import { noteUnusedKey, recallKey } from '../items/idempotency.js';
import type { Account } from '../state/accounts.js';
import { lacksOwnMemory, lacksTurn } from '../state/client-bounds.js';
import { emitLeaving, type Leaving, tell } from '../state/events.js';
import { COSTS } from '../state/held.js';
import { placeReplaced, roomKept } from '../state/kept-room.js';
import { isKeyless, pacedUntil } from '../state/lane.js';
import { STATES } from '../state/lane-states.js';
import { markRoom } from '../state/marks.js';
import { lacksMemory } from '../state/memory-budget.js';
import { countIn, lineOf, takeOut } from '../state/places.js';
import { type Asker, Caller, callerAssignment, type Entry, type Lane, Turn } from '../state/records.js';
import type { CoreState } from '../state/state.js';
import { isWaiting, mayNotWait } from '../state/wait-list.js';
import { after } from '../structures/due.js';
import { answerBlock, answerDecline, answerTurn, type Decline, nameOf, refuse, refuseLimit } from './answers.js';
import { closedGate, hasGateLine } from './gates.js';
import { restIfNew } from './phase.js';
import { delayOf, resolve } from './resolve.js';
import { isFullForCaller, placeTakenOver } from './room.js';
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
  /** What its place and its turn are charged to. */
  readonly account?: Account | undefined;
}

/**
 * A caller arrives at a lane that is up to date. The order of the checks is the contract's: the ticket is known, the
 * idempotency key is done, the line is full, too soon. A ticket that comes back is no arrival: it is not counted, and
 * none of the other checks apply to it.
 *
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

/**
 * For repeat distances: how far back the key's last arrival is, in arrivals of the queue. Declined arrivals count, too.
 * What has no key repeats nothing, but is an arrival of the queue.
 */
export function countArrival(lane: Lane, now: number): void {
  const { queue } = lane;
  queue.arrivals += 1;
  queue.usedAt = now;
  if (isKeyless(lane.key)) return;
  if (lane.lastArrival > 0) queue.counters.repeatDistance.add(queue.arrivals - lane.lastArrival);
  lane.lastArrival = queue.arrivals;
}

/** Declines the arrival, starts its turn, or lines it up. @returns as {@link arrive} */
function decide(state: CoreState, lane: Lane, arrival: Arrival, now: number): Caller | undefined {
  // Only EnQueue is declined for a full line or too soon. Acquire with a key waits (S2).
  const coalesces = arrival.asker.kind === 'enqueue';
  noteUnusedKey(state, lane.queue, arrival.idempotencyKey);
  const full = coalesces && isFullForCaller(lane);
  const decline = whyDecline(lane, arrival, coalesces, full, now);
  if (decline !== undefined) {
    if (state.watching) emitArrival(state, lane, arrival, `decline ${decline.reason}`, now);
    answerDecline(state, lane, arrival.asker, decline);
    return undefined;
  }
  // After the checks that need no turn: whoever is declined gets that answer, whatever the disk does (S114).
  if (state.tokens.areUsedUp) {
    refuse(state, arrival.asker, TOKENS_USED_UP, lane.queue.tellsLate);
    return undefined;
  }
  if (lane.phase.at === 'INIT' && isOpen(state, lane, now)) {
    startAtOnce(state, lane, arrival, now);
    return undefined;
  }
  // Full with `when_full: replace`. Unset, too, if nothing there may be superseded: then the newcomer is appended (S5).
  const superseded = full ? lane.line?.newestTakingRoom() : undefined;
  const before = superseded ?? (coalesces ? placeTakenOver(lane, 'caller') : undefined);
  return lineUp(state, lane, arrival, before, superseded, now);
}

/** The first reason that counts; unset: none does. */
function whyDecline(lane: Lane, arrival: Arrival, coalesces: boolean, full: boolean, now: number): Decline | undefined {
  const done = recallKey(lane.queue, lane.key, arrival.idempotencyKey, now);
  if (done !== undefined) return { reason: 'already_done', result: done.result };
  // WAITER_EXISTS names the newest entry that waits (S4) and is known to be there (S574).
  const survivor = full && lane.queue.policy.whenFull === 'decline' ? lane.line?.newestPresent() : undefined;
  if (survivor !== undefined) return { reason: 'waiter_exists', survivorId: nameOf(survivor) };
  const retryAfter = coalesces ? tooSoon(lane, now) : undefined;
  return retryAfter === undefined ? undefined : { reason: 'too_soon', retryAfter };
}

/** As {@link tell}. */
function emitArrival(state: CoreState, lane: Lane, { consumerId }: Arrival, detail: string, now: number): void {
  tell(state, 'arrival', lane, now, { consumerId, detail });
}

/** What is left of `min_interval`, ms, if that declines arrivals and is not over (S2). */
export function tooSoon(lane: Lane, now: number): number | undefined {
  if (lane.queue.policy.whenTooSoon !== 'decline') return undefined;
  const until = pacedUntil(lane, now);
  return until === undefined ? undefined : until - now;
}

/** No gate holds a newcomer back, and nobody stands at the gate before it (S7). */
function isOpen(state: CoreState, lane: Lane, now: number): boolean {
  return !hasGateLine(lane.queue) && closedGate(state, lane.queue, now) === undefined;
}

/** Precondition: the lane is in INIT, and no gate holds it. The key becomes busy, which `limits.busy_lanes` bounds. */
function startAtOnce(state: CoreState, lane: Lane, arrival: Arrival, now: number): void {
  const { asker, idempotencyKey, account } = arrival;
  const tooMany = lacksTurn(state, account);
  if (tooMany !== undefined) return refuseLimit(state, lane, asker, tooMany);
  if (state.busyLanes + state.elsewhere.busyLanes >= state.settings.limits.busyLanes)
    return refuseLane(state, lane, asker);
  if (isRefusedForMemory(state, lane, arrival, COSTS.settlement)) return;
  if (state.watching) emitArrival(state, lane, arrival, 'accept', now);
  const assignment = callerAssignment(idempotencyKey);
  const turn = startTurn(state, lane, assignment, arrival, asker.stream, now);
  answerTurn(state, asker, turn, now);
}

/**
 * No memory is left for so much, and for the texts of the arrival: it is refused (S600, S660). The lane itself is charged already,
 * but to no principal while it is idle. It is taken from among the idle ones before that is asked, because those give way.
 */
function isRefusedForMemory(state: CoreState, lane: Lane, arrival: Arrival, cost: number): boolean {
  if (lane.rests !== undefined) state.idle.delete(lane);
  const { asker, consumerId, ticket, idempotencyKey, account } = arrival;
  const ticketCost = ticket === undefined ? 0 : COSTS.keyTicket + ticket.length;
  const bytes = cost + consumerId.length + (idempotencyKey?.length ?? 0);
  const ownLane = lane.counted === STATES.INIT ? COSTS.lane : 0;
  const own = bytes + ownLane + lane.key.length;
  const refusal = lacksOwnMemory(state, account, own) ?? lacksMemory(state, bytes + ticketCost);
  if (refusal === undefined) return false;
  lane.queue.counters.rejected.memory_full += 1;
  refuse(state, asker, refusal, lane.queue.tellsLate);
  return true;
}

function refuseLane(state: CoreState, lane: Lane, asker: Asker): void {
  refuseLimit(state, lane, asker, limitRefusal('busy_lanes', state.settings.limits.busyLanes));
}

/**
 * Gives the caller a place in the line, at the end or `before` an entry, which may be `superseded`. A call that does not
 * stay (no wait, no ticket) gets BLOCK as it would have stood there, and supersedes nobody (S5, S6).
 *
 * The newcomer stands in the line before the entry that it supersedes leaves: an empty line would be dropped.
 */
function lineUp(
  state: CoreState,
  lane: Lane,
  arrival: Arrival,
  before: Entry | undefined,
  superseded: Entry | undefined,
  now: number,
): Caller | undefined {
  const { asker, wait, ticket } = arrival;
  if (wait <= 0 && ticket === undefined) {
    if (state.watching) emitArrival(state, lane, arrival, 'block', now);
    const ahead = aheadOf(lane, before === undefined ? (lane.line?.length ?? 0) : placeOf(lane, before));
    answerBlock(state, lane, asker, ahead, retryAfter(state, lane, ahead, now), undefined);
    return undefined;
  }
  if (!hasRoom(state, lane, arrival, superseded)) return undefined;
  const { consumerId, lease, idempotencyKey, account } = arrival;
  const takesRoom = asker.kind === 'enqueue';
  const caller = new Caller(lane, asker, consumerId, ticket, lease, idempotencyKey, now, takesRoom, account);
  if (before === undefined) lineOf(lane).append(caller);
  else lineOf(lane).insert(caller, before);
  if (superseded !== undefined) supersede(state, superseded, caller, now);
  countIn(state, caller);
  if (state.watching) emitArrival(state, lane, arrival, 'block', now);
  return waitOrLeave(state, caller, wait, now);
}

/**
 * Whether no limit of what waits is reached (I9); if one is, the call is refused. The limits: `max_waiting` of the
 * queue, the callers that wait in all queues, and the busy lanes, where the caller makes its lane busy. A caller that
 * takes the place of another caller adds to none of them. One that takes the place of an item is one more caller.
 */
function hasRoom(state: CoreState, lane: Lane, arrival: Arrival, superseded: Entry | undefined): boolean {
  const { queue } = lane;
  const { asker } = arrival;
  if (superseded instanceof Caller) return true;
  const kept = roomKept(state, queue);
  if (superseded === undefined && queue.waiting + kept >= queue.policy.maxWaiting) {
    queue.counters.rejected.queue_full += 1;
    const free = queue.policy.maxWaiting - queue.waiting;
    refuse(state, asker, queueFull(queue.name, queue.policy.maxWaiting, Math.min(kept, free)), queue.tellsLate);
    return false;
  }
  const refusal = mayNotWait(state, 'caller');
  if (refusal !== undefined) {
    queue.counters.rejected.limit += 1;
    refuse(state, asker, refusal, queue.tellsLate);
    return false;
  }
  if (isRefusedForMemory(state, lane, arrival, COSTS.caller + COSTS.settlement)) return false;
  if (lane.counted !== STATES.INIT || state.busyLanes + state.elsewhere.busyLanes < state.settings.limits.busyLanes)
    return true;
  refuseLane(state, lane, asker);
  return false;
}

/**
 * The newcomer takes the place of the other (S5). Precondition: it stands directly before it. An item that is
 * superseded is finished, and remembered as such; an open call is answered SUPERSEDED with the name of the newcomer
 * (S4).
 *
 * @param asked the durability of the Submit that brought the newcomer; unset: a caller came, or the Submit leaves it to
 * the queue
 */
export function supersede(state: CoreState, old: Entry, newcomer: Entry, now: number, asked?: Durability): void {
  const { lane } = old;
  if (state.watching) emitLeaving(state, old, 'superseded', now);
  placeReplaced(state, lane.queue);
  if (old instanceof Caller) takeOut(state, old);
  else return finish(state, old, 'superseded', undefined, now, false, asked);
  const survivorId = nameOf(newcomer);
  if (old.asker !== undefined) answerDecline(state, lane, old.asker, { reason: 'superseded', survivorId });
}

/**
 * The call waits, or, with wait zero, is answered while its ticket keeps the place. The timer is set first: if the
 * caller gets its turn at once, leaving the line takes the timer away again. Precondition: with wait zero it has a
 * ticket.
 */
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

/**
 * BLOCK to the open call, if there is one. Nothing else changes: whoever calls this decides what becomes of the place.
 */
function answerNotYet(state: CoreState, caller: Caller, now: number): void {
  const { lane, asker } = caller;
  if (asker === undefined) return;
  const ahead = aheadOf(lane, placeOf(lane, caller));
  answerBlock(state, lane, asker, ahead, retryAfter(state, lane, ahead, now), caller.ticket);
}

/** How many entries stand before this one; exact as far as S6 says. */
function placeOf(lane: Lane, entry: Entry): number {
  return lane.line?.placeOf(entry) ?? 0;
}

function aheadOf(lane: Lane, place: number): number {
  return place + (lane.phase.at === 'HELD' ? 1 : 0);
}

const NEVER = Object.freeze({ until: undefined });

/**
 * When to come again, ms. Given only to the first: the others depend on those before them. Of several that hold the key
 * back, the first in this order counts: parked, delay, gates. Where nobody knows until when, it is 1 s (S6).
 */
function retryAfter(state: CoreState, lane: Lane, ahead: number, now: number): number | undefined {
  if (ahead > 0) return undefined;
  if (lane.phase.at === 'PARK') return RETRY_SOON;
  const { until } = delayOf(lane, lane.line?.head, now) ?? closedGate(state, lane.queue, now) ?? NEVER;
  return until === undefined ? RETRY_SOON : until - now;
}

/**
 * A ticket comes back: to its turn, or to its place. The newer call decides in which form the answer comes (S14). A
 * place keeps its `arrivedAt`, so that the time of earlier calls counts for a take-over (S16); the wait begins anew.
 */
function comeBack(state: CoreState, known: Caller | Turn, arrival: Arrival, now: number): Caller | undefined {
  const { lane } = known;
  if (known instanceof Turn) {
    // Nobody has had the turn so far: it is that of whoever comes for it now.
    if (known.handed === 'kept') rename(state, known, arrival);
    tellAgain(state, known, arrival.asker.stream, arrival.lease, now);
    answerTurn(state, arrival.asker, known, now);
    return undefined;
  }
  // Of two open calls with one ticket the newer waits.
  answerNotYet(state, known, now);
  if (known.brokeOff) {
    lineOf(lane).breakOff(known, false);
    // The line may be full again: it declines what waits for room, which then needs none.
    markRoom(state, lane.queue);
  }
  known.asker = arrival.asker;
  rename(state, known, arrival);
  known.lease = arrival.lease;
  if (arrival.wait > 0) {
    state.wheel.schedule(known, after(now, arrival.wait));
    return known;
  }
  // A wait of zero ends at once, so a caller that polls takes over as well (S16).
  endWait(state, known, now);
  return undefined;
}

/** The caller that comes with the ticket has what it stands for. */
function rename(state: CoreState, known: Caller | Turn, { consumerId }: Arrival): void {
  const more = consumerId.length - known.consumerId.length;
  state.chargedBytes += more;
  known.account?.change(more);
  known.consumerId = consumerId;
}

/**
 * The one who asked is gone, and is not answered here. With a ticket the place is kept for `ticket_ttl` from now,
 * unless `leave` (S41), and declines no newcomer (S574). Nothing happens to a caller that does not wait any more.
 */
export function cancelCaller(state: CoreState, caller: Caller, leave: boolean, now: number): void {
  if (!isWaiting(caller)) return;
  if (caller.ticket === undefined || leave) return giveUp(state, caller, 'cancelled', now);
  caller.asker = undefined;
  lineOf(caller.lane).breakOff(caller, true);
  state.wheel.schedule(caller, after(now, caller.lane.queue.policy.ticketTtl));
}

/** The place is given up, and the lane goes on without it. An open call is answered by whoever calls this. */
export function giveUp(state: CoreState, caller: Caller, why: Leaving, now: number): void {
  if (state.watching) emitLeaving(state, caller, why, now);
  takeOut(state, caller);
  resolve(state, caller.lane, now);
}

/** Its place was given up from elsewhere (S9). */
export function refuseCancelled(state: CoreState, caller: Caller): void {
  if (caller.asker !== undefined) refuse(state, caller.asker, CANCELLED, caller.lane.queue.tellsLate);
}

/**
 * Its wait is over: it takes over, or it gets BLOCK. With a ticket it keeps its place from then on, without one it has
 * left (S8). Precondition: it waits. A take-over comes first, because it may give the turn to this very caller (S16).
 */
export function endWait(state: CoreState, caller: Caller, now: number): void {
  takeOverIfMay(state, caller, now);
  if (!isWaiting(caller)) return;
  if (caller.ticket !== undefined) return answerAndStay(state, caller, now);
  answerNotYet(state, caller, now);
  giveUp(state, caller, 'wait_ended', now);
}
