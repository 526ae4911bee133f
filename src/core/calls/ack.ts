import {
  CapacityPlan,
  countRejected,
  countsLanes,
  lackRefusal,
  lacks,
  type Need,
  neverFits,
} from '../admission/capacity.js';
import { BatchWaits } from '../admission/dependants.js';
import { DependencyCheck, isConcerned } from '../admission/dependency-check.js';
import { submitItem } from '../admission/submit.js';
import type { AckAnswer, AckRequest, FollowUp, NewItem, Refusal, Reply, SubmitResult } from '../contract/model.js';
import { DRAINING } from '../contract/refusals.js';
import { finishStep } from '../dispatch/step-end.js';
import { bytesAway, mostMemoryOf, weightOfItem } from '../items/content.js';
import { openItems } from '../items/never-handed-out.js';
import { catchUpItems } from '../lane/current-lanes.js';
import { delayOf } from '../lane/resolve.js';
import { finishedWith, settle } from '../lane/settle.js';
import { bytesOfResults } from '../state/held.js';
import { giveWay, STEP_RESERVE } from '../state/memory-budget.js';
import { findOrMakeQueue, isSettledLate, isToldLate } from '../state/queues.js';
import { type AcquireWaiter, type Caller, type Lane, Queue, type Stream, Turn } from '../state/records.js';
import type { SettledBy } from '../state/settlement.js';
import { endingOf, keepFollowUps } from '../state/settlements.js';
import type { CoreState } from '../state/state.js';
import { acquire, openQueues } from './acquire.js';
import { findSettling, isSettled, stale } from './find-settling.js';
import { cannotSend, sendAway, sentAs, wrongIdOf } from './send-away.js';

/**
 * Ack: ends a turn as done, accepts its follow-ups, and asks for the next turn, all in one step.
 *
 * The end of the turn and all follow-ups happen together or not at all: a refused Ack leaves the turn live (S102).
 * `next` comes after that. It cannot undo the Ack: where `next` cannot wait it comes back empty (S19). While the
 * coordinator drains, an Ack without follow-ups goes through, and its `next` comes back empty.
 *
 * Refusals: `no_such_queue`; `turn_lost`; for `next` and follow-ups `no_such_queue` and `limit`; for follow-ups
 * `draining`, `bad_request`, `queue_full` and `memory_full`.
 *
 * @returns the call that waits, if `next` has to wait
 */
export function ack(
  state: CoreState,
  request: AckRequest,
  reply: Reply<AckAnswer>,
  now: number,
  stream?: Stream,
): Caller | AcquireWaiter | undefined {
  const settled = checkAndApply(state, request, now, stream);
  // Asked after the settlement: the end of a tied turn may change the row of its session, and then the answer waits
  // too.
  const late = tellsLate(state, request, stream);
  if ('kind' in settled) {
    state.effects.push({ kind: 'refuse', to: reply, refusal: settled }, late);
    return undefined;
  }
  if (request.next !== undefined && !state.draining) {
    // Calls that wait already are served first: `next` is one more arrival. It may also take what the Ack made ready.
    finishStep(state, now);
    return acquire(state, request.next, { kind: 'ack', reply, stream, followUps: settled, late }, now);
  }
  state.effects.push({ kind: 'ack', to: reply, answer: answerTo(request, settled) }, late);
  return undefined;
}

/**
 * Whether the answer waits for the disk (S47). It tells of the end of the turn, of the follow-ups and of the queues of
 * `next`: one of these queues that tells late is enough.
 */
function tellsLate(state: CoreState, { queue, followUps, next }: AckRequest, on: Stream | undefined): boolean {
  if (state.changes === undefined) return false;
  if (isSettledLate(state, queue, on)) return true;
  // Who repeats it after a crash would have sent those to other groups twice.
  if (
    followUps.length > 0 &&
    followUps.some(({ queue, target }) => target !== undefined || isSettledLate(state, queue))
  )
    return true;
  return !state.draining && next?.queues.some((name) => isToldLate(state, name, on)) === true;
}

/** Constants for an Ack without follow-ups and without `next`: nothing is allocated for its answer. */
const NONE: readonly SubmitResult[] = Object.freeze([]);
const ACKED: AckAnswer = Object.freeze({ followUps: NONE, next: undefined });

/** Nothing is ever written into it: it has no follow-ups that could be forgotten. */
const DONE: SettledBy = Object.freeze({ ended: 'settled', call: 'ack', followUps: NONE });

/** The answer when nothing waits: a `next` that was asked for is present, and empty. */
function answerTo(request: AckRequest, followUps: readonly SubmitResult[]): AckAnswer {
  if (request.next !== undefined) return { followUps, next: { deliveries: [] } };
  return followUps === NONE ? ACKED : { followUps, next: undefined };
}

/**
 * Whether all follow-ups can be accepted. Where only the memory of everything is lacking, what can be forgotten gives way, and the
 * plan is made once more: what it found may be forgotten.
 */
function checkFollowUps(state: CoreState, turn: Turn, request: AckRequest, now: number): Refusal | undefined {
  const refusal = planFollowUps(state, turn, request, now);
  if (refusal?.kind !== 'memory_full' || refusal.subject !== 'memory_bytes') return refusal;
  giveWay(state, mostMemoryOf(request.followUps));
  return planFollowUps(state, turn, request, now);
}

/**
 * Checks everything that can refuse the Ack, then carries it out. The order of the checks is the order in which a
 * client learns of its mistakes: the token, the queues of `next`, the follow-ups.
 *
 * The checks settle no turn and accept no item. They may let time pass on the keys they look at (S1), adopt a turn from
 * before the start (S29), and make queues that do not exist yet (S26).
 *
 * A repeated Ack is not checked for its follow-ups: they were accepted the first time. Its `next` is checked, because
 * it is carried out again (S19).
 */
function checkAndApply(
  state: CoreState,
  request: AckRequest,
  now: number,
  by: Stream | undefined,
): readonly SubmitResult[] | Refusal {
  const { queue, key, token } = request;
  const found = findSettling(state, 'ack', queue, key, token, now);
  if (!(found instanceof Turn || isSettled(found))) return found;
  if (request.next !== undefined && !state.draining) {
    const next = openQueues(state, request.next, now);
    if (!Array.isArray(next)) return next;
  }
  if (!(found instanceof Turn)) return repeated(found, request) ?? stale(state, 'ack', queue, key, 'settled');
  const refusal = checkFollowUps(state, found, request, now);
  if (refusal === undefined) return apply(state, found, request, now, by);
  countRejected(found.lane.queue, refusal);
  return refusal;
}

/**
 * The answer to a repeated Ack (S18). Where the results of its follow-ups are no longer kept, each follow-up counts as accepted,
 * under the id of the request. Unset: the turn ended by another call.
 */
function repeated(settled: SettledBy, { followUps }: AckRequest): readonly SubmitResult[] | undefined {
  if (settled.call !== 'ack') return undefined;
  return settled.followUps ?? followUps.map(acceptedBefore);
}

function acceptedBefore(followUp: FollowUp): SubmitResult {
  if (followUp.target !== undefined) return sentAs(followUp);
  return { decision: 'accept', itemId: followUp.item.itemId ?? '', supersededId: undefined };
}

/**
 * Whether all follow-ups can be accepted, in every queue they name (S102). It lets time pass on their keys
 * (S91) and makes their queues, and changes nothing else.
 *
 * Each queue has a plan of its own for its places. Bytes, busy keys and dependencies are bounded over all queues: they
 * are added up from plan to plan. The sums begin below zero by what this very Ack frees: the bytes of its items, and
 * its key if nothing else keeps that busy. No sum gets smaller from plan to plan, so the last check sees the whole
 * need.
 *
 * @returns the reason to refuse the whole Ack; unset: there is room
 */
function planFollowUps(state: CoreState, turn: Turn, request: AckRequest, now: number): Refusal | undefined {
  if (request.followUps.length === 0) return undefined;
  if (state.draining) return DRAINING;
  if (request.wrong !== undefined) return request.wrong;
  // S91: what is over by the clock ends before anything is counted. Only then the plan is still true when it is
  // applied.
  for (const { queue: name, item, target } of request.followUps) {
    // Made before anything is counted: records may give way to a new queue.
    const queue = target === undefined ? findOrMakeQueue(state, name, now) : undefined;
    if (queue instanceof Queue) catchUpItems(state, queue, [item], now);
  }
  // The check of dependencies costs something: it is made only for a batch that waits for others or is waited for.
  const concerned = request.followUps.some(
    ({ queue, item, target }) => target === undefined && isConcerned(state, queue, item),
  );
  const after = concerned ? new DependencyCheck(state, now) : undefined;
  // One plan for each queue, so that follow-ups to one queue see each other.
  const plans = new Map<Queue, CapacityPlan>();
  const freed = freesLane(turn, now) ? turn.lane : undefined;
  const mustCountLanes = countsLanes(state, request.followUps.length);
  for (const [index, followUp] of request.followUps.entries()) {
    const { queue: name, item, target } = followUp;
    if (target !== undefined) {
      const wrong = wrongIdOf(followUp, request.token, index);
      if (wrong !== undefined) return wrong;
      continue;
    }
    const queue = findOrMakeQueue(state, name, now);
    if (!(queue instanceof Queue)) return queue;
    const plan = plans.get(queue) ?? new CapacityPlan(queue, now, after, mustCountLanes, freed);
    plans.set(queue, plan);
    const refusal = plan.add(item, `follow_ups[${index}].item`);
    if (refusal !== undefined) return refusal;
  }
  // After all plans: items of one call may name each other, in whatever order and over all its queues (S64).
  const dependencies = after?.check() ?? 0;
  if (typeof dependencies !== 'number') return dependencies;
  let bytes = bytesAway(request.followUps) - freedBy(turn);
  let lanes = freed === undefined ? 0 : -1;
  let keyBytes = 0;
  const needs: [Queue, Need][] = [];
  for (const [queue, { need }] of plans) {
    bytes += need.bytes;
    lanes += need.lanes;
    keyBytes += need.keyBytes;
    const all = { ...need, bytes, keyBytes, lanes, dependencies };
    const never = neverFits(state, queue, all, 'follow_ups');
    if (never !== undefined) return never;
    needs.push([queue, all]);
  }
  for (const [queue, all] of needs) {
    // What is kept does not count: the turn that this Ack ends may be what keeps the queue full.
    const lack = lacks(state, queue, all, 0, 0, bytes > 0 ? 0 : STEP_RESERVE);
    if (lack !== undefined) return lackRefusal(state, queue, lack, 0);
  }
  return cannotSend(state, request.followUps, bytes);
}

/**
 * Whether the lane comes to rest (INIT) when this turn ends. Three things keep it busy: an entry in its line, a park
 * that comes back with the end of the turn (S90), and a `min_interval` that has not passed.
 */
function freesLane({ lane, parked }: Turn, now: number): boolean {
  return lane.line === undefined && parked === undefined && delayOf(lane, undefined, now) === undefined;
}

/** Those that are accepted in this step. */
function itemsOf({ followUps }: AckRequest): NewItem[] {
  return followUps.flatMap(({ item, target }) => (target === undefined ? [item] : []));
}

/**
 * Bytes of payload memory that the end of the turn frees (S33). Items of at_most_once were released when handed out.
 */
function freedBy({ assignment }: Turn): number {
  return openItems(assignment).reduce((sum, item) => sum + weightOfItem(item), 0);
}

/**
 * The follow-ups of this settlement are decided: their results are kept and charged from now on, if there is room for them (S602).
 * A lane that was dropped when its turn ended keeps none. `ending` has no results before: they would be given back uncharged.
 */
function keepResults(
  state: CoreState,
  lane: Lane,
  token: number,
  ending: SettledBy,
  results: readonly SubmitResult[],
): void {
  if (ending.call !== 'ack') return;
  ending.followUps = undefined;
  if (endingOf(lane, token) !== ending) return;
  const bytes = bytesOfResults(results);
  // Idle ones may give way: not this one.
  const isIdle = lane.rests !== undefined;
  if (isIdle) state.idle.delete(lane);
  if (giveWay(state, bytes)) {
    ending.followUps = results;
    state.spareSettlements.bytes += bytes;
  } else lane.queue.withFollowUps.delete(lane);
  if (isIdle) state.idle.add(lane);
}

/**
 * Settles the turn and submits the follow-ups. Precondition: `checkFollowUps` found room, in this very step; so no
 * queue is refused here.
 *
 * @returns what became of each follow-up, in the order of the request
 */
function apply(
  state: CoreState,
  turn: Turn,
  request: AckRequest,
  now: number,
  by: Stream | undefined,
): readonly SubmitResult[] {
  const { lane } = turn;
  // The usual end has one outcome, known beforehand: nothing is allocated for it.
  const plain = request.followUps.length === 0;
  const followUps: SubmitResult[] = [];
  const { token } = turn;
  const ending: SettledBy = plain ? DONE : { ended: 'settled', call: 'ack', followUps: [] };
  if (!plain) keepFollowUps(state.spareSettlements, lane);
  // The lane's own line goes before a follow-up to the same key, which is an arrival like any other.
  settle(state, turn, finishedWith(request.result), ending, now, by);
  if (plain) return NONE;
  const account = state.accounts.of(request.principal);
  const batch = BatchWaits.of(itemsOf(request));
  for (const followUp of request.followUps) {
    if (followUp.target !== undefined) {
      followUps.push(sentAs(followUp));
      continue;
    }
    const queue = findOrMakeQueue(state, followUp.queue, now);
    if (queue instanceof Queue) followUps.push(submitItem(state, queue, followUp.item, now, batch, undefined, account));
  }
  sendAway(state, request, account);
  // Dependencies are linked when the whole batch has arrived (S64).
  batch?.complete(state, now);
  keepResults(state, lane, token, ending, followUps);
  return followUps;
}
