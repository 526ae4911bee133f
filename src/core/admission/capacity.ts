/**
 * Room for batches: counted before anything is accepted, and waited for in order (S30).
 *
 * Admission is in two passes. The first one ({@link needOf}, {@link lacks}) lets happen what is over by the
 * clock, adds up what the whole batch needs, and accepts nothing. The second one (`applySubmit` in `submit.ts`) accepts
 * it. So a batch is never refused after half of it was accepted. Both passes run in one step: nothing comes in between.
 *
 * Four things are bounded (S100): places in the queue (`max_waiting`), bytes (S33), busy lanes and dependencies. The
 * first belongs to the queue, the other three are shared by all queues.
 */

import type { NewItem, Refusal, Reply, SubmitAnswer, SubmitRequest } from '../contract/model.js';
import { badRequest, limitRefusal, memoryFull, queueFull, RETRY_SOON } from '../contract/refusals.js';
import { contentHashOf, contentHashOfItem, weightOf } from '../items/content.js';
import { recallKey } from '../items/idempotency.js';
import { itemById } from '../items/item-status.js';
import { tooSoon } from '../lane/arrivals.js';
import { catchUpItems } from '../lane/current-lanes.js';
import { isFull } from '../lane/room.js';
import type { Account } from '../state/accounts.js';
import { COSTS, keysOf, TURN_COST } from '../state/held.js';
import { roomKept } from '../state/kept-room.js';
import { STATES } from '../state/lane-states.js';
import { memoryLeft } from '../state/memory-budget.js';
import { Item, type Lack, type Lane, type Queue, RoomWaiter } from '../state/records.js';
import type { CoreState } from '../state/state.js';
import { mayNotWait, startWaiting, stopWaiting } from '../state/wait-list.js';
import { after } from '../structures/due.js';
import { OWN_ID } from '../structures/own-id.js';
import { DependencyCheck, isConcerned } from './dependency-check.js';

/** What a batch needs. Items that will be declined, or are known already, need nothing. */
export interface Need {
  /** Places in lines. An item that replaces another one takes over its place, and is not counted here. */
  entries: number;
  /** As `weightOf` charges them. What a replaced item gives back is not subtracted. */
  bytes: number;
  /** Of the keys of its items. */
  keyBytes: number;
  /** Keys that are busy by it, and were not before: at most, as long as there is room for as many. */
  lanes: number;
  /** Of `limits.memory_bytes`: what the call gives back itself that waits with it. */
  frees: number;
  /** Items whose ids are known already, or stand in the batch before. */
  known: number;
  /** What its items wait for, at most. */
  dependencies: number;
  /** Set: whatever room there is, nothing may be accepted for what its items want to wait for. */
  wrong?: Refusal;
}

/**
 * Counts what items of one queue need, all together. An Ack makes one plan for each queue of its follow-ups; all of
 * them share one {@link DependencyCheck}.
 *
 * Precondition: the keys of the items are up to date (`catchUpItems`, S91). Otherwise the plan counts a line or a turn
 * that is over by the clock.
 */
export class CapacityPlan {
  readonly need: Need = { entries: 0, bytes: 0, keyBytes: 0, frees: 0, lanes: 0, known: 0, dependencies: 0 };
  /** Places that the batch takes so far, by key. Kept only where `waiting_per_key` is a number. */
  #added: Map<string, number> | undefined;
  /** Items of the batch by the ids that the client chose. */
  #ids: Map<string, NewItem> | undefined;
  /** Keys that the batch makes busy, if that has to be known exactly. */
  readonly #lanes: Set<string> | undefined;

  constructor(
    private readonly queue: Queue,
    private readonly now: number,
    /** Of the whole batch; unset: nothing of it waits, or is waited for. */
    private readonly after: DependencyCheck | undefined,
    /** So few keys may become busy still that those of the batch have to be counted, not its items. */
    countsLanes: boolean,
    /** It comes free by the very call that brings the batch. */
    private readonly freed?: Lane | undefined,
    /** Ids with the prefix of the server's come from another partition of it. */
    private readonly takesOwnIds = false,
  ) {
    this.#lanes = countsLanes ? new Set() : undefined;
  }

  /**
   * Adds one item. A known id is looked at first, as when the batch is applied: a resend needs nothing (S31).
   *
   * @param field path of the item in the request; a refusal names it
   * @returns a refusal if this item can never be accepted
   */
  add(item: NewItem, field: string): Refusal | undefined {
    const { itemId } = item;
    const { need } = this;
    if (itemId !== undefined) {
      const known = this.#known(itemId, item);
      if (known === 'other') return badRequest(`${field}.item_id`, otherContent(itemId));
      if (known === 'same') {
        need.known += 1;
        return undefined;
      }
      this.#ids ??= new Map();
      this.#ids.set(itemId, item);
    }
    const place = this.#placeOf(item);
    this.after?.add(this.queue, item, place, field);
    if (place === 'taken') {
      need.entries += 1;
      need.lanes += this.#lanesFor(item.key);
    }
    if (place !== 'none') {
      need.bytes += weightOf(item, itemId?.length ?? 0);
      need.keyBytes += item.key.length;
    }
    return undefined;
  }

  /** A lane that `freed` names counts as idle: the Ack that brings the batch ends its turn first (S102). */
  #lanesFor(key: string): 0 | 1 {
    const lanes = this.#lanes;
    if (lanes === undefined || key === '') return 1;
    const lane = this.queue.lanes.get(key);
    if (lanes.has(key) || (lane !== undefined && lane.counted !== STATES.INIT && lane !== this.freed)) return 0;
    lanes.add(key);
    return 1;
  }

  /**
   * Whether the id is known with the same content, or with another content (S31). The content hash decides; contents
   * are not compared. An id with the prefix of server ids that nobody knows is refused as `other`: clients cannot
   * choose one.
   */
  #known(id: string, item: NewItem): 'same' | 'other' | undefined {
    const inBatch = this.#ids?.get(id);
    if (inBatch !== undefined) return contentHashOf(inBatch) === contentHashOf(item) ? 'same' : 'other';
    const known = itemById(this.queue, id, this.now);
    if (known === undefined) return id.startsWith(OWN_ID) && !this.takesOwnIds ? 'other' : undefined;
    const hash = known instanceof Item ? contentHashOfItem(known) : known.contentHash;
    return hash === contentHashOf(item) ? 'same' : 'other';
  }

  /**
   * Whether a line grows by the item (`taken`), or it takes the place of another (`replaced`), or it is declined
   * (`none`). Comes to the same as `decide` in `submit.ts`. What the batch itself puts in a line counts as being there
   * already.
   */
  #placeOf(item: NewItem): 'taken' | 'replaced' | 'none' {
    const { policy } = this.queue;
    const { waitingPerKey } = policy;
    if (recallKey(this.queue, item.key, item.idempotencyKey, this.now) !== undefined) return 'none';
    const mayBeFull = typeof waitingPerKey === 'number';
    // The usual queue turns nothing away: its lanes are not even looked at.
    if (item.key === '' || (!mayBeFull && policy.whenTooSoon === 'wait')) return 'taken';
    const lane = this.queue.lanes.get(item.key);
    if (lane !== undefined && tooSoon(lane, this.now) !== undefined) return 'none';
    if (!mayBeFull) return 'taken';
    this.#added ??= new Map();
    const added = this.#added.get(item.key) ?? 0;
    const line = lane?.line;
    const full = line === undefined ? added >= waitingPerKey : isFull(line, waitingPerKey - added, policy.whenFull);
    if (full) return policy.whenFull === 'replace' ? 'replaced' : 'none';
    this.#added.set(item.key, added + 1);
    return 'taken';
  }
}

/** Why a client cannot choose it. */
export function madeByServer(id: string): string {
  return `"${id}" begins with "${OWN_ID}": such ids are made by the server`;
}

function otherContent(id: string): string {
  if (id.startsWith(OWN_ID)) return madeByServer(id);
  return `"${id}" is the id of another item: an id may be sent again only with the same content`;
}

/**
 * Whether the keys of a batch of so many items have to be counted one by one. Where there is room for a busy lane for
 * each item, the plan assumes that all keys are new and looks up none.
 */
export function countsLanes(state: CoreState, items: number): boolean {
  return state.busyLanes + state.elsewhere.busyLanes + items > state.settings.limits.busyLanes;
}

/** What it needs of `limits.memory_bytes`: each key as if it were new. */
export function memoryOf({ bytes, keyBytes, lanes, frees }: Need): number {
  return bytes + keyBytes + lanes * TURN_COST - frees;
}

/**
 * What the need lacks now; of several lacks the first in the order of the checks. What needs none of something does not
 * lack it, even where the limit is exceeded: what came back, or was restored, may exceed it, and a resend must still be
 * answered (S100, I10). What other cores of the process use counts too (S273).
 *
 * @param kept how many places of the queue are kept for others
 * @param beyond which part of the limits of memory it may use beyond them
 * @param reserve which part of `limits.memory_bytes` besides
 */
export function lacks(
  state: CoreState,
  queue: Queue,
  need: Need,
  kept = roomKept(state, queue),
  beyond = 0,
  reserve = 0,
): Lack | undefined {
  const { elsewhere } = state;
  const { payloadMemoryBytes, memoryBytes, busyLanes, dependencies } = state.settings.limits;
  const taken = need.entries === 0 ? 0 : queue.waiting + need.entries + kept;
  if (taken > queue.policy.maxWaiting) return 'queue';
  const payloads = state.payloadBytes + elsewhere.payloadBytes + need.bytes;
  if (need.bytes > 0 && payloads > payloadMemoryBytes * (1 + beyond)) return 'memory';
  const memory = memoryOf(need);
  if (memory > 0 && memory > memoryLeft(state) + memoryBytes * (beyond + reserve)) return 'all_memory';
  if (need.lanes > 0 && state.busyLanes + elsewhere.busyLanes + need.lanes > busyLanes) return 'lanes';
  const linked = state.dependencies.size + elsewhere.dependencies;
  if (need.dependencies > 0 && linked + need.dependencies > dependencies) return 'dependencies';
  return undefined;
}

/**
 * QUEUE_FULL, MEMORY_FULL or LIMIT, with the limit that was reached. All of them tell when to try again.
 *
 * @param kept how many places of the queue are kept for others
 */
export function lackRefusal(state: CoreState, queue: Queue, lack: Lack, kept = roomKept(state, queue)): Refusal {
  const { payloadMemoryBytes, memoryBytes, busyLanes, dependencies } = state.settings.limits;
  switch (lack) {
    case 'queue':
      return queueFull(queue.name, queue.policy.maxWaiting, Math.min(kept, queue.policy.maxWaiting - queue.waiting));
    case 'memory':
      return memoryFull(payloadMemoryBytes);
    case 'all_memory':
      return memoryFull(memoryBytes, 'memory_bytes');
    case 'lanes':
      return limitRefusal('busy_lanes', busyLanes);
    case 'dependencies':
      return limitRefusal('dependencies', dependencies);
  }
}

/**
 * Waiting would not help: the batch alone exceeds a limit. That is a bad request, not a lack of room: a retry of the
 * same call could never succeed.
 *
 * @param field of the request, which the refusal names
 */
export function neverFits(
  state: CoreState,
  queue: Queue,
  need: Need,
  field: 'items' | 'follow_ups' = 'items',
): Refusal | undefined {
  const { maxWaiting } = queue.policy;
  const { payloadMemoryBytes, memoryBytes, busyLanes, dependencies } = state.settings.limits;
  if (need.entries > maxWaiting)
    return badRequest(field, `${need.entries} items, but max_waiting of queue ${queue.name} is ${maxWaiting}`);
  if (need.bytes > payloadMemoryBytes)
    return badRequest(field, `${need.bytes} bytes, but limits.payload_memory_bytes is ${payloadMemoryBytes}`);
  if (memoryOf(need) > memoryBytes)
    return badRequest(field, `${memoryOf(need)} bytes with their keys, but limits.memory_bytes is ${memoryBytes}`);
  if (need.lanes > busyLanes)
    return badRequest(field, `${need.lanes} keys to be busy, but limits.busy_lanes is ${busyLanes}`);
  if (need.dependencies > dependencies)
    return badRequest(field, `${need.dependencies} to wait for, but limits.dependencies is ${dependencies}`);
  return undefined;
}

/** What a principal is charged with for a batch: its items with their keys (S659). */
export function ownBytesOf({ bytes, keyBytes }: Need): number {
  return bytes + keyBytes;
}

/** As {@link neverFits}, of what one principal may hold. */
export function neverFitsOwn(state: CoreState, account: Account | undefined, need: Need): Refusal | undefined {
  const limit = state.settings.perClient?.memoryBytes;
  const bytes = ownBytesOf(need);
  if (limit === undefined || account === undefined || bytes <= limit) return undefined;
  return badRequest('items', `${bytes} bytes with their keys, but auth.per_client.memory_bytes is ${limit}`);
}

/**
 * Lets a Submit wait for room, for `waitForRoom` ms. It is refused at once where too many wait already, or hold too
 * much (LIMIT `waiting_submits`, MEMORY_FULL; S101).
 *
 * @returns the waiter; unset: the call was refused
 */
export function waitForRoom(
  state: CoreState,
  queue: Queue,
  request: SubmitRequest,
  reply: Reply<SubmitAnswer>,
  now: number,
): RoomWaiter | undefined {
  const bytes = heldBy(request);
  const refusal = mayNotWait(state, 'room', keysOf(request.items), bytes);
  if (refusal !== undefined) {
    countRejected(queue, refusal);
    state.effects.push({ kind: 'refuse', to: reply, refusal }, queue.tellsLate);
    return undefined;
  }
  const waiter = new RoomWaiter(queue, request, reply, bytes, state.accounts.of(request.principal));
  startWaiting(state, waiter, after(now, request.waitForRoom));
  // The end of the step notes what the first one lacks.
  if (queue.roomWaiters.size === 1) state.roomDirty.add(queue);
  return waiter;
}

/** Bytes that a waiting Submit holds: all of its items, whatever is decided of them later (S101). */
function heldBy({ items }: SubmitRequest): number {
  return items.reduce((sum, item) => sum + weightOf(item, item.itemId?.length ?? 0), 0);
}

/** There may be room, but other Submits of the queue wait before this one. `waiter` unset: it does not wait yet. */
export function behindOthers(queue: Queue, waiter?: RoomWaiter): Refusal {
  const before = countBefore(queue, waiter);
  const calls = before > COUNTED ? `more than ${COUNTED}` : before;
  const description = `${calls} calls wait for room in queue ${queue.name} before this one`;
  const { maxWaiting } = queue.policy;
  return { kind: 'queue_full', subject: queue.name, limit: maxWaiting, description, retryAfter: RETRY_SOON };
}

/** So many calls before one are counted, then `more than`: thousands of waits may end at once. */
const COUNTED = 1_000;

function countBefore({ roomWaiters }: Queue, waiter: RoomWaiter | undefined): number {
  if (waiter === undefined) return roomWaiters.size;
  let before = 0;
  for (const one of roomWaiters) {
    if (one === waiter || before > COUNTED) break;
    before += 1;
  }
  return before;
}

/** Its wait ends with a refusal, if it still waits. */
export function refuseWaiter(state: CoreState, waiter: RoomWaiter, refusal: Refusal): void {
  const { queue, reply } = waiter;
  if (!stopWaiting(state, waiter)) return;
  countRejected(queue, refusal);
  state.effects.push({ kind: 'refuse', to: reply, refusal }, queue.tellsLate);
}

/** Counts a refusal for the metrics of the queue; `no_such_queue` and others without a counter are not counted. */
export function countRejected(queue: Queue, refusal: Refusal): void {
  const { kind } = refusal;
  if (kind in queue.counters.rejected) queue.counters.rejected[rejectionOf(refusal)] += 1;
}

function rejectionOf(refusal: Refusal): keyof Queue['counters']['rejected'] {
  switch (refusal.kind) {
    case 'queue_full':
    case 'memory_full':
    case 'draining':
    case 'use_ack':
    case 'at_most_once':
    case 'bad_request':
      return refusal.kind;
    default:
      return 'limit';
  }
}

/** As {@link needOf}, of a batch that waits for room: what it holds meanwhile comes free when it is let in. */
export function needOfWaiter(state: CoreState, waiter: RoomWaiter, now: number): Need | Refusal {
  const need = needOf(state, waiter.queue, waiter.request, now);
  if ('entries' in need) need.frees = COSTS.room + waiter.bytes + keysOf(waiter.request.items);
  return need;
}

/**
 * What a batch needs now, or why it can never be accepted. What is over by the clock for its keys ends first (S91).
 *
 * A batch that waits for room is planned anew at every look: the ids, the lines and the dependencies it meets change.
 * An error in its dependencies is kept in `need.wrong`, apart from the refusals: of a batch that waits it is told only
 * once the batch fits.
 */
export function needOf(state: CoreState, queue: Queue, request: SubmitRequest, now: number): Need | Refusal {
  catchUpItems(state, queue, request.items, now);
  const concerned = request.items.some((item) => isConcerned(state, queue.name, item));
  const after = concerned ? new DependencyCheck(state, now) : undefined;
  const plan = new CapacityPlan(queue, now, after, countsLanes(state, request.items.length));
  const { need } = plan;
  let index = 0;
  for (const item of request.items) {
    const refusal = plan.add(item, `items[${index}]`);
    if (refusal !== undefined) return refusal;
    index += 1;
  }
  if (after === undefined) return need;
  const found = after.check();
  if (typeof found === 'number') need.dependencies = found;
  else need.wrong = found;
  return need;
}
