/**
 * Submit: a batch of items is checked as a whole, then decided item by item (S30, S31, S63). Follow-ups of an Ack take
 * the same way from {@link submitItem} on.
 */

import type {
  Durability,
  NewItem,
  Refusal,
  Reply,
  SubmitAnswer,
  SubmitRequest,
  SubmitResult,
} from '../contract/model.js';
import { isDurable } from '../contract/policy.js';
import { badRequest, DRAINING } from '../contract/refusals.js';
import { bytesOf, contentHashOf, contentOf } from '../items/content.js';
import { noteUnusedKey, recallKey } from '../items/idempotency.js';
import { lineUp } from '../items/item-phase.js';
import { itemById } from '../items/item-status.js';
import { keepAfterAll } from '../items/kept-after-all.js';
import { nameOf } from '../lane/answers.js';
import { countArrival, supersede, tooSoon } from '../lane/arrivals.js';
import { currentOrNewLane } from '../lane/current-lanes.js';
import { restIfNew } from '../lane/phase.js';
import { resolve } from '../lane/resolve.js';
import { isFull, placeTakenOver } from '../lane/room.js';
import type { Account } from '../state/accounts.js';
import { lacksOwnMemory } from '../state/client-bounds.js';
import { tell } from '../state/events.js';
import { nameKeyless } from '../state/lane.js';
import { giveWay } from '../state/memory-budget.js';
import { findOrMakeQueue, isRefusal } from '../state/queues.js';
import { type ChangeLog, Item, type Lane, type Queue, type RoomWaiter } from '../state/records.js';
import type { CoreState } from '../state/state.js';
import { Stored } from '../state/stored.js';
import { after } from '../structures/due.js';
import { NO_NUMBER } from '../structures/own-id.js';
import {
  behindOthers,
  countRejected,
  lackRefusal,
  lacks,
  memoryOf,
  type Need,
  needOf,
  neverFits,
  neverFitsOwn,
  ownBytesOf,
  waitForRoom,
} from './capacity.js';
import { BatchWaits } from './dependants.js';

/**
 * Carries out a Submit: accepts it, refuses it, or lets it wait for room. The order of the checks is: draining and the
 * queue, the durability (S48), what can never be accepted, then room. No item is accepted before all checks have
 * passed. What is over by the clock ends before (S91), and a queue may be made for the call (S26).
 *
 * Refusals: DRAINING, NO_SUCH_QUEUE, BAD_REQUEST, QUEUE_FULL, MEMORY_FULL, LIMIT.
 *
 * @returns the waiter, if the call has to wait for room
 */
export function submit(
  state: CoreState,
  request: SubmitRequest,
  reply: Reply<SubmitAnswer>,
  now: number,
): RoomWaiter | undefined {
  const queue = state.draining ? DRAINING : findOrMakeQueue(state, request.queue, now);
  if (!isQueue(queue)) return refuse(state, state.queues.get(request.queue), queue, reply);
  const cannot = cannotBe(state, queue, request.durability);
  if (cannot !== undefined) return refuse(state, queue, cannot, reply);
  const need = needOf(state, queue, request, now);
  if (!('entries' in need)) return refuse(state, queue, need, reply);
  if (need.wrong !== undefined) return refuse(state, queue, need.wrong, reply);
  const account = state.accounts.of(request.principal);
  const never = neverFits(state, queue, need) ?? neverFitsOwn(state, account, need);
  if (never !== undefined) return refuse(state, queue, never, reply);
  // Waiting for room is waiting for others: what the principal holds itself is for itself to end.
  const own = lacksOwnMemory(state, account, ownBytesOf(need));
  if (own !== undefined) return refuse(state, queue, own, reply);
  // A batch that needs no place in the queue (all of it known, declined or replacing another) overtakes nobody.
  const inOrder = queue.roomWaiters.size === 0 || need.entries === 0;
  const lack = lacks(state, queue, need);
  // What the plan found may be forgotten now: it is made again.
  if (lack === 'all_memory' && giveWay(state, memoryOf(need))) return submit(state, request, reply, now);
  if (lack === undefined && inOrder) {
    applySubmit(state, queue, request, reply, need, now);
    return undefined;
  }
  if (request.waitForRoom > 0) return waitForRoom(state, queue, request, reply, now);
  return refuse(state, queue, lack === undefined ? behindOthers(queue) : lackRefusal(state, queue, lack), reply);
}

/**
 * S48. What a queue cannot do is refused, not passed over: whoever asks for it would believe that its items outlive a
 * crash. In a cluster `memory` is what it cannot do (S271): its home may be another at any time.
 */
function cannotBe(state: CoreState, queue: Queue, durability: Durability | undefined): Refusal | undefined {
  if (durability === undefined) return undefined;
  const { name, policy } = queue;
  if (durability === 'memory') return state.isPartition ? badRequest('durability', NO_MEMORY) : undefined;
  if (isDurable(policy)) return undefined;
  return badRequest('durability', `${durability} is not allowed, queue ${name} is not durable; allowed: memory`);
}

const NO_MEMORY =
  'memory is not allowed: in a cluster every item outlives its sidecar; allowed: on_flush, interval, count, or none, which is as the queue says';

function isQueue(value: Queue | Refusal): value is Queue {
  return !isRefusal(value);
}

function refuse(state: CoreState, queue: Queue | undefined, refusal: Refusal, reply: Reply<SubmitAnswer>): undefined {
  if (queue !== undefined) countRejected(queue, refusal);
  state.effects.push({ kind: 'refuse', to: reply, refusal }, queue?.tellsLate === true);
  return undefined;
}

/**
 * Accepts or declines every item and answers. Precondition: there is room for this need, which was worked out in this
 * very step: with an older one the batch could exceed a limit, or miss that an id is known by now.
 */
export function applySubmit(
  state: CoreState,
  queue: Queue,
  request: SubmitRequest,
  reply: Reply<SubmitAnswer>,
  need: Need,
  now: number,
): void {
  const { changes } = queue;
  if (changes !== undefined) return applyDurably(state, queue, changes, request, reply, need, now);
  const results = submitAll(state, queue, request, need, undefined, now);
  state.effects.push({ kind: 'submit', to: reply, answer: { results } }, false);
}

/**
 * The durability of the request says when its own answer leaves: with `on_flush` after the flush, else at once, unless
 * too much is unwritten (S49, S50). What the batch lets happen, as turns of others, is told as the queue says.
 */
function applyDurably(
  state: CoreState,
  queue: Queue,
  changes: ChangeLog,
  request: SubmitRequest,
  reply: Reply<SubmitAnswer>,
  need: Need,
  now: number,
): void {
  const asked = request.durability ?? queue.policy.durability;
  const results = submitAll(state, queue, request, need, asked, now);
  const late = asked === 'on_flush' || (changes.isBehind && asked !== 'memory');
  state.effects.push({ kind: 'submit', to: reply, answer: { results } }, late);
}

/** The results are in the order of the items. Dependencies are linked last, when all items are decided (S64). */
function submitAll(
  state: CoreState,
  queue: Queue,
  { items, principal }: SubmitRequest,
  need: Need,
  durability: Durability | undefined,
  now: number,
): SubmitResult[] {
  const batch = BatchWaits.of(items);
  // Nothing that the batch does makes an id known but that of an item of it: they need not be looked up once more.
  const submitOne = need.known === 0 ? submitNew : submitItem;
  const account = state.accounts.of(principal);
  const results = items.map((item) => submitOne(state, queue, item, now, batch, durability, account));
  batch?.complete(state, now);
  return results;
}

/**
 * Decides one item. A known id is accepted again without a second item (S31); if it was kept in memory only and more is
 * asked now, it is written (S111). Precondition: there is room, and its id is not that of another item.
 *
 * @param batch unset: nothing of what arrives with it waits for anything
 * @param durability unset: the queue's
 * @param account what it is charged to; unset: nobody
 */
export function submitItem(
  state: CoreState,
  queue: Queue,
  item: NewItem,
  now: number,
  batch: BatchWaits | undefined,
  durability?: Durability,
  account?: Account,
): SubmitResult {
  const { itemId } = item;
  const known = itemId === undefined ? undefined : itemById(queue, itemId, now);
  if (itemId !== undefined && known !== undefined) {
    keepAfterAll(state, queue, itemId, known, durability);
    return accept(queue, itemId, undefined);
  }
  return submitNew(state, queue, item, now, batch, durability, account);
}

/**
 * As {@link submitItem}, of an item whose id is not known. A declined item uses up the number of its id too: the
 * answer told that id, and it must never be another item's. A lane that was made for a declined item goes to rest.
 */
function submitNew(
  state: CoreState,
  queue: Queue,
  item: NewItem,
  now: number,
  batch: BatchWaits | undefined,
  durability: Durability | undefined,
  account: Account | undefined,
): SubmitResult {
  const { itemId } = item;
  const lane = currentOrNewLane(state, queue, item.key, now);
  countArrival(lane, now);
  const id = itemId ?? queue.ownIds.idOf(queue.nextNumber);
  const result = decide(state, lane, item, id, now, batch, durability, account);
  if (itemId === undefined) queue.nextNumber += 1;
  if (result.decision === 'decline') {
    batch?.decline(queue.name, result.itemId, result.reason);
    if (state.watching) tell(state, 'arrival', lane, now, { itemId: id, detail: `decline ${result.reason}` });
  }
  restIfNew(state, lane);
  return result;
}

/**
 * The order of the checks is the contract's: idempotency key, room in the line, too soon (SPEC, section 2). A keyless
 * item has a lane of its own, so its line is never full. `CapacityPlan` counts by the same rules.
 */
function decide(
  state: CoreState,
  lane: Lane,
  item: NewItem,
  id: string,
  now: number,
  batch: BatchWaits | undefined,
  durability: Durability | undefined,
  account: Account | undefined,
): SubmitResult {
  const { queue, line } = lane;
  const { policy } = queue;
  noteUnusedKey(state, queue, item.idempotencyKey);
  if (recallKey(queue, lane.key, item.idempotencyKey, now) !== undefined) {
    // Whoever waits for it, though nothing was known of it, waits for nothing more.
    state.dependencies.end(queue.name, id, 'done');
    return decline(queue, id, 'already_done');
  }
  const full = lane.key !== '' && line !== undefined && isFull(line, policy.waitingPerKey, policy.whenFull);
  const survivor = full && policy.whenFull === 'decline' ? line.newestPresent() : undefined;
  if (survivor !== undefined) return decline(queue, id, 'waiter_exists', nameOf(survivor));
  const wait = tooSoon(lane, now);
  if (wait !== undefined) return decline(queue, id, 'too_soon', undefined, wait);
  return keep(state, lane, item, id, full, now, batch, durability, account);
}

/**
 * The item is accepted and joins the line of its key. The order of the calls matters:
 *
 * - `batch.keep` comes before `store` and `lineUp`, because what an item waits for is part of its hash and of its
 *   weight;
 * - the entry to be superseded is picked before the item is in the line: the item must not be taken for it;
 * - `resolve` comes last: it looks at the line as it stays, and the event of the arrival comes before that of a turn.
 */
function keep(
  state: CoreState,
  lane: Lane,
  newItem: NewItem,
  id: string,
  full: boolean,
  now: number,
  batch: BatchWaits | undefined,
  durability: Durability | undefined,
  account: Account | undefined,
): SubmitResult {
  const { queue } = lane;
  const { payload, headers, idempotencyKey, delay, after: awaited } = newItem;
  state.itemSeq += 1;
  const notBefore = delay > 0 ? after(now, delay) : 0;
  const number = newItem.itemId === undefined ? queue.nextNumber : NO_NUMBER;
  const item = new Item(lane, id, payload, headers, idempotencyKey, now, state.itemSeq, notBefore, number);
  item.account = account;
  nameKeyless(lane, item);
  if (awaited !== undefined) batch?.keep(item, awaited, newItem.afterUnknown);
  if (queue.changes !== undefined) store(queue.changes, item, durability);
  const superseded = full ? lane.line?.newestTakingRoom() : undefined;
  lineUp(state, item, superseded ?? (lane.key === '' ? undefined : placeTakenOver(lane, 'item')));
  if (superseded !== undefined) supersede(state, superseded, item, now, durability);
  queue.counters.submitted += 1;
  if (state.watching) tell(state, 'arrival', lane, now, { itemId: id, detail: 'accept' });
  resolve(state, lane, now);
  return accept(queue, id, superseded === undefined ? undefined : nameOf(superseded));
}

/**
 * It is kept on disk, unless the Submit asks for `memory`: then the queue is mixed from now on, and such an item can be
 * sent again with more durability (S49, S111). Its rank is its order of submission: the smallest is nearest to the
 * head.
 */
function store(changes: ChangeLog, item: Item, durability: Durability | undefined): void {
  if (durability === 'memory') {
    item.lane.queue.isMixed = true;
    return;
  }
  const content = contentOf(item);
  item.stored = new Stored(item.seq, contentHashOf(content), bytesOf(content));
  changes.item(item, durability);
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
