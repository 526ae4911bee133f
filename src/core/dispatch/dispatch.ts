/**
 * Dispatch: an Acquire without a key gets the next turns of any keys. Its queues take turns, and each gives its key
 * that is first ready.
 *
 * A key that is held, delayed or parked stands in no ready list, so it delays no other key, and the next turn costs
 * nothing for it (I4). What waits is served in order: of the queues of a call the one that gave least recently, of a
 * queue's lanes the one that has been ready longest, of its waiting calls the one that has waited longest.
 */

import { countRejected } from '../admission/capacity.js';
import type { AcquireRequest, Delivery, Refusal } from '../contract/model.js';
import { TOKENS_USED_UP } from '../contract/refusals.js';
import { sizeOfItem } from '../items/content.js';
import { finishHandedOut, finishIfKeyDone } from '../items/finish.js';
import { take } from '../items/item-phase.js';
import { answerDeliveries, deliveryView, refuse } from '../lane/answers.js';
import { catchUp } from '../lane/current-lanes.js';
import { closedGate } from '../lane/gates.js';
import { resolve } from '../lane/resolve.js';
import { startTurn, tellAgain } from '../lane/turns.js';
import { lacksTurn } from '../state/client-bounds.js';
import { isHeldBack } from '../state/dependencies.js';
import { costOfCall } from '../state/held.js';
import { turnOf } from '../state/lane.js';
import { markDirty } from '../state/marks.js';
import { lacksReserve } from '../state/memory-budget.js';
import { isToldLate, tellLate } from '../state/queues.js';
import {
  AcquireWaiter,
  Caller,
  type DeliveryAsker,
  type DispatchTicket,
  Item,
  type Lane,
  Lane as LaneClass,
  type Queue,
} from '../state/records.js';
import type { CoreState } from '../state/state.js';
import { costOfTicket } from '../state/tickets.js';
import { mayNotWait, startWaiting, stopWaiting } from '../state/wait-list.js';
import { after, isOver } from '../structures/due.js';
import { isLinked } from '../structures/link.js';

/**
 * Answers an Acquire without a key, or lets it wait. Its ticket comes first: turns of it that still live are the whole
 * answer, and no new ones are taken (S15). Without any turn, a call is refused while no tokens are left (S114), gets an
 * empty answer with a wait of 0, and waits otherwise. Precondition: `queues` is not empty,
 * because a waiter is found by its first queue.
 *
 * @returns the waiter, if the call has to wait
 */
export function dispatch(
  state: CoreState,
  queues: readonly Queue[],
  request: AcquireRequest,
  asker: DeliveryAsker,
  now: number,
): AcquireWaiter | undefined {
  const { consumerId } = request;
  const ticket = request.ticket === undefined ? undefined : state.dispatchTickets.open(consumerId, request.ticket);
  const again = ticket === undefined ? [] : comeBack(state, ticket, request, asker, now);
  const full = again.length > 0 ? undefined : lacksReserve(state);
  if (full !== undefined) {
    refuseAll(state, queues, asker, full);
    return undefined;
  }
  const account = state.accounts.of(request.principal);
  const taker = { asker, request, queues, ticket, account };
  const deliveries = again.length > 0 ? again : gather(state, taker, now, undefined);
  if (isRefused(deliveries)) {
    refuseAll(state, queues, asker, deliveries);
    return undefined;
  }
  if (deliveries.length === 0 && state.tokens.areUsedUp) {
    refuse(state, asker, TOKENS_USED_UP, tellLate(queues));
    return undefined;
  }
  if (deliveries.length > 0 || request.wait <= 0) {
    // Turns of the ticket may be of queues that the call does not name.
    const late = tellLate(queues, asker.stream) || (again.length > 0 && comesLate(state, again, asker));
    answerDeliveries(state, asker, deliveries, late);
    return undefined;
  }
  return wait(state, taker, now);
}

/** The call begins to wait, unless `waiting_acquires` or `memory_bytes` is reached: then it is refused (I9). */
function wait(
  state: CoreState,
  { asker, request, queues, ticket, account }: Taker,
  now: number,
): AcquireWaiter | undefined {
  const waiter = new AcquireWaiter(asker, request, queues, ticket, account);
  const refusal = mayNotWait(state, 'acquire', costOfCall(waiter) + (ticket === undefined ? 0 : costOfTicket(ticket)));
  if (refusal !== undefined) {
    refuseAll(state, queues, asker, refusal);
    return undefined;
  }
  startWaiting(state, waiter, after(now, request.wait));
  // Something is ready behind a gate: from now on somebody has to be there when it opens.
  for (const queue of queues) if (hasReady(queue)) markDirty(state, queue);
  return waiter;
}

export function isRefused(found: Delivery[] | Refusal): found is Refusal {
  return !Array.isArray(found);
}

export function refuseAll(state: CoreState, queues: readonly Queue[], asker: DeliveryAsker, refusal: Refusal): void {
  for (const queue of queues) countRejected(queue, refusal);
  refuse(state, asker, refusal, tellLate(queues));
}

/** The wait is over, and nothing came: an empty answer. A call that does not wait any more was answered before. */
export function endWaiter(state: CoreState, waiter: AcquireWaiter): void {
  if (stopWaiting(state, waiter)) answerDeliveries(state, waiter.asker, [], tellLate(waiter.queues));
}

/** Whether an answer with these deliveries has to wait for the disk. */
export function comesLate(state: CoreState, deliveries: readonly Delivery[], { stream }: DeliveryAsker): boolean {
  return deliveries.some(({ turn }) => isToldLate(state, turn.queue, stream));
}

/**
 * A ticket comes back: an older call that waits with it gets an empty answer; turns that still live are returned (S15).
 * What is over by the clock ends first (S1). Nothing is renewed (S11). There is no bound by `maxTurns` here: these are
 * all turns that the ticket was given.
 */
function comeBack(
  state: CoreState,
  ticket: DispatchTicket,
  request: AcquireRequest,
  asker: DeliveryAsker,
  now: number,
): Delivery[] {
  if (ticket.waiter !== undefined) endWaiter(state, ticket.waiter);
  const deliveries: Delivery[] = [];
  // A turn that ends meanwhile leaves the map, and none comes in: a walk of the map bears that.
  for (const [token, lane] of ticket.lanes) {
    catchUp(state, lane, now);
    const turn = turnOf(lane);
    if (turn?.token !== token) continue;
    tellAgain(state, turn, asker.stream, request.lease, now);
    deliveries.push(deliveryView(state, turn, now));
  }
  return deliveries;
}

/** Who takes turns of dispatch: a call that has just come, or one that waits. */
type Taker = Pick<AcquireWaiter, 'asker' | 'request' | 'queues' | 'ticket' | 'account'>;

/**
 * Takes turns from the ready lanes of these queues, a queue at a time, as many as the request allows: `maxTurns` turns,
 * of `maxItemsPerTurn` items each, and `limits.answerBytes` in all. The first item of an answer goes into it, however
 * large. The gates are asked anew for each turn, because every turn may close one (`rate`, `max_in_flight`).
 *
 * @param waiter the taker, if it waits; unset: a newcomer. A queue where somebody else waits longer is passed over
 * @returns a refusal: a lane is ready, and the principal of the taker holds as many turns as it may (S658)
 */
export function gather(
  state: CoreState,
  taker: Taker,
  now: number,
  waiter: AcquireWaiter | undefined,
): Delivery[] | Refusal {
  const { queues, request, account } = taker;
  const deliveries: Delivery[] = [];
  let bytesLeft = state.settings.limits.answerBytes;
  while (deliveries.length < request.maxTurns) {
    const lane = nextReady(state, queues, waiter, now);
    if (lane === undefined) break;
    const refusal = lacksTurn(state, account);
    if (refusal !== undefined) return deliveries.length === 0 ? refusal : deliveries;
    const first = lane.line?.head;
    if (deliveries.length > 0 && first instanceof Item && sizeOfItem(first) > bytesLeft) break;
    const items = takeItems(state, lane, request.maxItemsPerTurn, bytesLeft, now);
    if (items.length === 0) {
      // Its first items were done already, and what is left may not start as the turn of a worker now.
      resolve(state, lane, now);
      continue;
    }
    for (const item of items) bytesLeft -= sizeOfItem(item);
    deliveries.push(deliver(state, lane, items, taker, now));
  }
  return deliveries;
}

/**
 * The first ready lane of the queue that gave a turn least recently, of all queues whose gates are open (S573). Of two
 * that never gave one, the lane that has been ready longer. O(queues of the request): the list of a queue is in the order
 * in which its lanes became ready.
 *
 * Not the oldest lane of all queues: a queue with thousands of ready keys would keep back a small one until all of them
 * had their turn. Not a place kept for each consumer: a consumer may be new at each call.
 */
function nextReady(
  state: CoreState,
  queues: readonly Queue[],
  waiter: AcquireWaiter | undefined,
  now: number,
): Lane | undefined {
  let first: Lane | undefined;
  let order = Number.POSITIVE_INFINITY;
  let gave = Number.POSITIVE_INFINITY;
  for (const queue of queues) {
    const lane = queue.readyLanes.next;
    if (!(lane instanceof LaneClass) || lane.phase.at !== 'READY') continue;
    if (queue.gave > gave || (queue.gave === gave && lane.phase.order >= order)) continue;
    // A newcomer finds a queue open only if nobody waits there; a waiter, if nobody has waited there longer.
    if (longestWaiting(queue) !== waiter || closedGate(state, queue, now) !== undefined) continue;
    if (callerIsBefore(queue, lane.phase.order)) continue;
    first = lane;
    order = lane.phase.order;
    gave = queue.gave;
  }
  return first;
}

function longestWaiting(queue: Queue): AcquireWaiter | undefined {
  if (queue.waiters.size === 0) return undefined;
  const [longest] = queue.waiters;
  return longest;
}

/**
 * However many turns a worker may take: a caller of the queue that was ready earlier comes in between (S7). Other queues
 * have gates of their own. Precondition: that of this one is open.
 */
function callerIsBefore({ gatedLanes }: Queue, order: number): boolean {
  const lane = gatedLanes.next;
  return lane instanceof LaneClass && lane.phase.at === 'READY' && lane.phase.order < order;
}

/**
 * Consecutive due items from the head, for one turn. They leave the line here, so they are in flight when this returns.
 *
 * It stops at a caller, an item that is not due, one that waits for others, one that does not fit any more, and one
 * whose idempotency key an item of this turn has already: the two never travel together (S17). An item whose key is
 * done finishes on the spot and is passed over.
 *
 * @param most items
 * @param bytes left in the answer; the first item is taken however large it is: `gather` has decided about it
 */
function takeItems(state: CoreState, lane: Lane, most: number, bytes: number, now: number): Item[] {
  const items: Item[] = [];
  let keys: Set<string> | undefined;
  let bytesLeft = bytes;
  for (;;) {
    const head = lane.line?.head;
    if (head === undefined || head instanceof Caller || !isOver(head.notBefore, now) || items.length >= most)
      return items;
    if (isHeldBack(head)) return items;
    const { idempotencyKey } = head;
    if (idempotencyKey !== undefined && keys?.has(idempotencyKey)) return items;
    const weight = sizeOfItem(head);
    if (items.length > 0 && weight > bytesLeft) return items;
    if (finishIfKeyDone(state, head, now)) continue;
    if (idempotencyKey !== undefined) {
      keys ??= new Set();
      keys.add(idempotencyKey);
    }
    bytesLeft -= weight;
    take(state, head);
    items.push(head);
  }
}

/** Starts the turn for these items. With `at_most_once` they are done from now on (S22), and their turn goes on. */
function deliver(
  state: CoreState,
  lane: Lane,
  items: readonly Item[],
  { request, ticket, asker, account }: Taker,
  now: number,
): Delivery {
  const done = lane.queue.policy.delivery === 'at_most_once';
  const { consumerId, lease } = request;
  const arrivedAt = waitedSince(items[0], now);
  const holder = { consumerId, ticket, lease, arrivedAt, account };
  const turn = startTurn(state, lane, { kind: 'items', items, done }, holder, asker.stream, now);
  lane.queue.gave = turn.token;
  const delivery = deliveryView(state, turn, now);
  if (done) for (const item of items) finishHandedOut(state, item, now);
  return delivery;
}

/** From this moment on the item could have started, but for its key, the gates and the workers (S126). ms */
function waitedSince(item: Item | undefined, now: number): number {
  return item === undefined ? now : Math.max(item.submittedAt, item.notBefore);
}

/** Whether the queue has both: an Acquire that waits, and a lane of items that is ready. */
export function hasReady(queue: Queue): boolean {
  return queue.waiters.size > 0 && isLinked(queue.readyLanes);
}
