import { CapacityPlan, countRejected, countsLanes, lackRefusal, lacks } from '../admission/capacity.js';
import { BatchWaits } from '../admission/dependants.js';
import { DependencyCheck, isConcerned } from '../admission/dependency-check.js';
import { submitItem } from '../admission/submit.js';
import type { AckAnswer, AckRequest, NewItem, Refusal, Reply, SubmitResult } from '../contract/model.js';
import { DRAINING } from '../contract/refusals.js';
import { finishStep } from '../dispatch/step-end.js';
import { weightOfItem } from '../items/content.js';
import { openItems } from '../items/never-handed-out.js';
import { catchUpItems } from '../lane/current-lanes.js';
import { delayOf } from '../lane/resolve.js';
import { finishedWith, settle } from '../lane/settle.js';
import { findOrMakeQueue, isToldLate } from '../state/queues.js';
import { type AcquireWaiter, type Caller, Queue, type Stream, Turn } from '../state/records.js';
import type { SettledBy } from '../state/settlement.js';
import type { CoreState } from '../state/state.js';
import { acquire, openQueues } from './acquire.js';
import { findSettling, isSettled, stale } from './find-settling.js';

/** @returns what waits, if `next` has to */
export function ack(
  state: CoreState,
  request: AckRequest,
  reply: Reply<AckAnswer>,
  now: number,
  stream?: Stream,
): Caller | AcquireWaiter | undefined {
  const settled = checkAndApply(state, request, now, stream);
  const late = tellsLate(state, request, stream);
  if ('kind' in settled) {
    state.effects.push({ kind: 'refuse', to: reply, refusal: settled }, late);
    return undefined;
  }
  if (request.next !== undefined && !state.draining) {
    // Who waits already is served before: `next` is one more arrival.
    finishStep(state, now);
    return acquire(state, request.next, { kind: 'ack', reply, stream, followUps: settled, late }, now);
  }
  state.effects.push({ kind: 'ack', to: reply, answer: answerTo(request, settled) }, late);
  return undefined;
}

/** The answer speaks of the turn, of what became of the follow-ups, and of where the next turn is to come from. */
function tellsLate(state: CoreState, { queue, followUps, next }: AckRequest, on: Stream | undefined): boolean {
  if (isToldLate(state, queue, on)) return true;
  if (followUps.length > 0 && followUps.some((followUp) => isToldLate(state, followUp.queue))) return true;
  return !state.draining && next?.queues.some((name) => isToldLate(state, name, on)) === true;
}

const NONE: readonly SubmitResult[] = Object.freeze([]);
const ACKED: AckAnswer = Object.freeze({ followUps: NONE, next: undefined });

/** Nothing is ever written into it: it has no follow-ups that could be forgotten. */
const DONE: SettledBy = Object.freeze({ ended: 'settled', call: 'ack', followUps: NONE });

function answerTo(request: AckRequest, followUps: readonly SubmitResult[]): AckAnswer {
  if (request.next !== undefined) return { followUps, next: { deliveries: [] } };
  return followUps === NONE ? ACKED : { followUps, next: undefined };
}

/** Everything that could refuse the call is looked at before anything changes. */
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
  if (!(found instanceof Turn)) return repeated(found) ?? stale(state, 'ack', queue, key, 'settled');
  const refusal = checkFollowUps(state, found, request, now);
  if (refusal === undefined) return apply(state, found, request, now, by);
  countRejected(found.lane.queue, refusal);
  return refusal;
}

function repeated(settled: SettledBy): readonly SubmitResult[] | undefined {
  return settled.call === 'ack' ? settled.followUps : undefined;
}

/** Both or neither: room for all follow-ups, in every queue, counting the payload that this very Ack frees. */
function checkFollowUps(state: CoreState, turn: Turn, request: AckRequest, now: number): Refusal | undefined {
  if (request.followUps.length === 0) return undefined;
  if (state.draining) return DRAINING;
  for (const { queue: name, item } of request.followUps) {
    const queue = state.queues.get(name);
    if (queue !== undefined) catchUpItems(state, queue, [item], now);
  }
  const concerned = request.followUps.some(({ queue, item }) => isConcerned(state, queue, item));
  const after = concerned ? new DependencyCheck(state, now) : undefined;
  const plans = new Map<Queue, CapacityPlan>();
  const freed = freesLane(turn, now) ? turn.lane : undefined;
  const mustCountLanes = countsLanes(state, request.followUps.length);
  for (const [index, { queue: name, item }] of request.followUps.entries()) {
    const queue = findOrMakeQueue(state, name, now);
    if (!(queue instanceof Queue)) return queue;
    const plan = plans.get(queue) ?? new CapacityPlan(queue, now, after, mustCountLanes, freed);
    plans.set(queue, plan);
    const refusal = plan.add(item, `follow_ups[${index}].item`);
    if (refusal !== undefined) return refusal;
  }
  const dependencies = after?.check() ?? 0;
  if (typeof dependencies !== 'number') return dependencies;
  let bytes = -freedBy(turn);
  let lanes = freed === undefined ? 0 : -1;
  for (const [queue, { need }] of plans) {
    bytes += need.bytes;
    lanes += need.lanes;
    const lack = lacks(state, queue, { ...need, bytes, lanes, dependencies });
    if (lack !== undefined) return lackRefusal(state, queue, lack);
  }
  return undefined;
}

/** Whether nothing is to be done for the key once this turn has ended. Who waits in its line keeps it busy, and a stop. */
function freesLane({ lane, parked }: Turn, now: number): boolean {
  return lane.line === undefined && parked === undefined && delayOf(lane, undefined, now) === undefined;
}

function itemsOf({ followUps }: AckRequest): NewItem[] {
  return followUps.map(({ item }) => item);
}

function freedBy({ assignment }: Turn): number {
  return openItems(assignment).reduce((sum, item) => sum + weightOfItem(item), 0);
}

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
  const ending: SettledBy = plain ? DONE : { ended: 'settled', call: 'ack', followUps };
  // The lane's own line goes before a follow-up to the same key, which is an arrival like any other.
  settle(state, turn, finishedWith(request.result), ending, now, by);
  if (plain) return NONE;
  lane.queue.withFollowUps.add(lane);
  const batch = BatchWaits.of(itemsOf(request));
  for (const { queue: name, item } of request.followUps) {
    const queue = findOrMakeQueue(state, name, now);
    if (queue instanceof Queue) followUps.push(submitItem(state, queue, item, now, batch));
  }
  batch?.complete(state, now);
  return followUps;
}
