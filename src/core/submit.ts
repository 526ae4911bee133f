import { nameOf } from './answers.js';
import { countArrival, isFull, supersede, tooSoon } from './arrivals.js';
import { markRoom } from './gates.js';
import { isKeyDone } from './idempotency.js';
import { weightOfItem } from './items.js';
import type { Lane } from './lane.js';
import { Item } from './line.js';
import { isRefusal, openLane, openQueue } from './lookup.js';
import type { NewItem, Refusal, Reply, SubmitAnswer, SubmitRequest, SubmitResult } from './model.js';
import { NO_NUMBER } from './own-id.js';
import type { Queue } from './queue.js';
import { DRAINING } from './refusals.js';
import { resolve } from './resolve.js';
import { countRejected, lacks, type Need, needOf, neverFits, type RoomWaiter, waitForRoom } from './room.js';
import { countIn, lineOf, restIfNew, tell } from './show.js';
import { after, type CoreState } from './state.js';

/** @returns the waiter, if the call has to wait for room */
export function submit(
  state: CoreState,
  request: SubmitRequest,
  reply: Reply<SubmitAnswer>,
  now: number,
): RoomWaiter | undefined {
  const queue = state.draining ? DRAINING : openQueue(state, request.queue, now);
  if (!isQueue(queue)) return refuse(state, state.queues.get(request.queue), queue, reply);
  const need = needOf(queue, request, now);
  if (!('entries' in need)) return refuse(state, queue, need, reply);
  const never = neverFits(state, queue, need);
  if (never !== undefined) return refuse(state, queue, never, reply);
  // Whoever needs no room (all known, all declined) overtakes nobody.
  const inOrder = queue.roomWaiters.size === 0 || need.entries === 0;
  const lack = lacks(state, queue, need);
  if (lack === undefined && inOrder) {
    applySubmit(state, queue, request, reply, need, now);
    return undefined;
  }
  if (request.waitForRoom > 0) return waitForRoom(state, queue, request, reply, now);
  const refusal = lack ?? behindOthers(queue);
  return refuse(state, queue, refusal, reply);
}

function isQueue(value: Queue | Refusal): value is Queue {
  return !isRefusal(value);
}

/** There would be room, but it is others' turn. */
function behindOthers(queue: Queue): Refusal {
  const description = `${queue.roomWaiters.size} calls wait for room in queue ${queue.name} before this one`;
  const { maxWaiting } = queue.policy;
  return { kind: 'queue_full', subject: queue.name, limit: maxWaiting, description, retryAfter: 1_000 };
}

function refuse(state: CoreState, queue: Queue | undefined, refusal: Refusal, reply: Reply<SubmitAnswer>): undefined {
  if (queue !== undefined) countRejected(queue, refusal);
  state.effects.push({ kind: 'refuse', to: reply, refusal });
  return undefined;
}

/** Precondition: there is room for this need, which was worked out in this very step. */
export function applySubmit(
  state: CoreState,
  queue: Queue,
  request: SubmitRequest,
  reply: Reply<SubmitAnswer>,
  need: Need,
  now: number,
): void {
  // Nothing that the batch does makes an id known but that of an item of it: they need not be looked up once more.
  const submitOne = need.known === 0 ? submitNew : submitItem;
  const results = request.items.map((item) => submitOne(state, queue, item, now));
  state.effects.push({ kind: 'submit', to: reply, answer: { results } });
}

/** Decides one item. Precondition: there is room, and its id is not that of another item. */
export function submitItem(state: CoreState, queue: Queue, item: NewItem, now: number): SubmitResult {
  const { itemId } = item;
  if (itemId !== undefined && isKnown(queue, itemId, now)) return accept(queue, itemId, undefined);
  return submitNew(state, queue, item, now);
}

/** As {@link submitItem}, of an item whose id is not known. */
function submitNew(state: CoreState, queue: Queue, item: NewItem, now: number): SubmitResult {
  const { itemId } = item;
  const lane = openLane(state, queue, item.key, now);
  countArrival(lane, now);
  const result = decide(state, lane, item, itemId ?? queue.ownIds.idOf(queue.nextNumber), now);
  restIfNew(state, lane);
  return result;
}

function isKnown(queue: Queue, id: string, now: number): boolean {
  return queue.items.has(id) || queue.deadLetters.has(id) || queue.finished.get(id, now) !== undefined;
}

function decide(state: CoreState, lane: Lane, item: NewItem, id: string, now: number): SubmitResult {
  const { queue, line } = lane;
  const { policy } = queue;
  if (isKeyDone(queue, lane.key, item.idempotencyKey, now) !== undefined) return decline(queue, id, 'already_done');
  const full = lane.key !== '' && line !== undefined && isFull(line, policy.waitingPerKey);
  const tail = line?.tail;
  if (full && policy.whenFull === 'decline' && tail !== undefined)
    return decline(queue, id, 'waiter_exists', nameOf(tail));
  const wait = tooSoon(lane, now);
  if (wait !== undefined) return decline(queue, id, 'too_soon', undefined, wait);
  return keep(state, lane, item, id, full, now);
}

function keep(state: CoreState, lane: Lane, newItem: NewItem, id: string, full: boolean, now: number): SubmitResult {
  const { queue } = lane;
  const { payload, headers, idempotencyKey, delay } = newItem;
  state.itemSeq += 1;
  const notBefore = delay > 0 ? after(now, delay) : 0;
  const number = newItem.itemId === undefined ? queue.nextNumber++ : NO_NUMBER;
  const item = new Item(lane, id, payload, headers, idempotencyKey, now, state.itemSeq, notBefore, number);
  const superseded = full ? lane.line?.newestTakingRoom() : undefined;
  if (superseded === undefined) lineOf(lane).append(item);
  else supersede(state, superseded, item, now);
  countIn(state, item);
  queue.items.set(item);
  // A batch that waits for room may hold this very id: it needs less now.
  markRoom(state, queue);
  state.payloadBytes += weightOfItem(item);
  if (state.watching) tell(state, 'arrival', lane, now, { itemId: id, detail: 'accept' });
  resolve(state, lane, now);
  return accept(queue, id, superseded === undefined ? undefined : nameOf(superseded));
}

function accept(queue: Queue, itemId: string, supersededId: string | undefined): SubmitResult {
  queue.counters.accepted += 1;
  return { decision: 'accept', itemId, supersededId };
}

function decline(
  queue: Queue,
  itemId: string,
  reason: 'already_done' | 'waiter_exists' | 'too_soon',
  survivorId?: string,
  retryAfter?: number,
): SubmitResult {
  queue.counters.declined[reason] += 1;
  return { decision: 'decline', itemId, reason, survivorId, retryAfter };
}
