/** The dumb reference: Submit and Await, and what would refuse a batch. */
import type {
  AwaitAnswer,
  AwaitRequest,
  FollowUp,
  NewItem,
  Refusal,
  Reply,
  SubmitAnswer,
  SubmitRequest,
  SubmitResult,
  Waiting,
} from '../../src/coordinator.js';
import { bytesOfPayload } from '../../src/core/contract/payload.js';
import { Arrived, type Wanted, waitsWrongly } from './reference-dependencies.js';
import { type Freed, lackOf, limit, mayNotWait, needOf, neverFits, weightOfRecord } from './reference-room.js';
import {
  delayedUntil,
  type ItemRecord,
  intervalEnds,
  isCounted,
  type Lane,
  type ModelQueue,
  nameOf,
  type WaitingAwait,
  type WaitingSubmit,
} from './reference-state.js';
import type { World } from './reference-world.js';

export function submit(world: World, request: SubmitRequest, reply: Reply<SubmitAnswer>): Waiting {
  return world.step(() => {
    const queue = world.queue(request.queue);
    const { items } = request;
    const need = () => needOf(world, wantedOf(world, queue, items));
    const isWrong = () => waitsWrongly(world, wantedOf(world, queue, items));
    if (changesContent(world, queue, items) || isWrong() || neverFits(world, need())) {
      reply.refuse(BAD);
      return undefined;
    }
    const attempt = () => {
      if (changesContent(world, queue, items)) reply.refuse(BAD);
      else if (lackOf(world, need()) !== undefined) return false;
      else if (isWrong()) reply.refuse(BAD);
      else reply.answer({ results: submitBatch(world, queue, items) });
      return true;
    };
    const needsNone = () => !need().places.has(queue);
    // Whoever needs no room overtakes nobody.
    const inOrder = needsNone() || !world.submits.some((one) => one.queue === queue);
    if (inOrder && attempt()) return undefined;
    const why = () => lackOf(world, need()) ?? world.queueFull(queue);
    if (request.waitForRoom > 0) return waitForRoom(world, queue, request, { attempt, needsNone, why }, reply);
    reply.refuse(why());
    return undefined;
  });
}

const BAD: Refusal = { kind: 'bad_request', violations: [{ field: 'items', description: '' }] };

function submitBatch(world: World, queue: ModelQueue, items: readonly NewItem[]): SubmitResult[] {
  const arrived = new Arrived(world);
  const results = submitAll(world, queue, items, arrived);
  arrived.complete();
  return results;
}

/** What would refuse an Ack: both or neither. What it ends makes room (S102). */
export function checkFollowUps(world: World, lane: Lane, followUps: readonly FollowUp[]): Refusal | undefined {
  const batches = new Map<ModelQueue, NewItem[]>();
  for (const { queue: name, item } of followUps) {
    const queue = world.queue(name);
    batches.set(queue, [...(batches.get(queue) ?? []), item]);
  }
  const each = [...batches];
  if (each.some(([queue, items]) => changesContent(world, queue, items))) return BAD;
  const wanted = new Map(each.map(([queue, items]) => [queue.name, wantedOf(world, queue, items)]));
  // In the order of the call, not queue by queue.
  const inOrder = followUps.flatMap(({ queue }) => wanted.get(queue)?.shift() ?? []);
  if (waitsWrongly(world, inOrder)) return BAD;
  if (followUps.length === 0) return undefined;
  const need = needOf(world, inOrder, freedBy(world, lane));
  return neverFits(world, need) ? BAD : lackOf(world, need);
}

function freedBy(world: World, lane: Lane): Freed {
  const ends = (lane.turn?.items ?? []).filter((item) => item.state === 'in_flight');
  const restsThen = lane.line.length === 0 && delayedUntil(lane) <= world.now;
  return { bytes: ends.reduce((sum, item) => sum + weightOfRecord(item), 0), lane: restsThen ? lane : undefined };
}

interface ForRoom {
  readonly attempt: () => boolean;
  readonly needsNone: () => boolean;
  readonly why: () => Refusal;
}

function waitForRoom(
  world: World,
  queue: ModelQueue,
  { items, waitForRoom: wait }: SubmitRequest,
  { attempt, needsNone, why }: ForRoom,
  reply: Reply<SubmitAnswer>,
): Waiting {
  const refusal = mayNotWait(world, items);
  if (refusal !== undefined) {
    reply.refuse(refusal);
    return undefined;
  }
  const submit: WaitingSubmit = { queue, items, attempt, timer: undefined };
  const leave = () => {
    world.cancel(submit.timer);
    world.submits = world.submits.filter((one) => one !== submit);
  };
  submit.timer = world.timer(world.now + wait, () => {
    // Whoever needs no room overtakes nobody.
    const isFirst = world.submits.find((one) => one.queue === queue) === submit;
    leave();
    const isNext = isFirst || needsNone();
    if (isNext && attempt()) return;
    reply.refuse(isNext ? why() : world.queueFull(queue));
  });
  world.submits.push(submit);
  return { cancel: () => world.step(leave) };
}

function changesContent(world: World, queue: ModelQueue, items: readonly NewItem[]): boolean {
  return items.some((item, index) => {
    if (item.itemId === undefined) return false;
    const before = items.slice(0, index).find((other) => other.itemId === item.itemId);
    const known = world.findItem(queue, item.itemId)?.content ?? before;
    return known !== undefined && !sameContent(known, item);
  });
}

function sameContent(one: NewItem, other: NewItem): boolean {
  const content = ({ key, payload, headers, idempotencyKey, after = [] }: NewItem) => {
    const awaited = after.map(({ queue, itemId }) => `${queue}/${itemId}`).sort();
    return JSON.stringify([
      key,
      [...bytesOfPayload(payload)],
      [...(headers ?? [])].sort(),
      idempotencyKey ?? null,
      awaited,
    ]);
  };
  return content(one) === content(other);
}

function wantedOf(world: World, queue: ModelQueue, items: readonly NewItem[]): Wanted[] {
  const added = new Map<string, number>();
  const ids = new Set<string>();
  return items.map((item) => {
    const { itemId, key } = item;
    const known = itemId !== undefined && (ids.has(itemId) || world.findItem(queue, itemId) !== undefined);
    if (itemId !== undefined) ids.add(itemId);
    const place = known ? 'known' : placeOf(world, queue, item, added.get(key) ?? 0);
    if (place === 'taken') added.set(key, (added.get(key) ?? 0) + 1);
    return { queue: queue.name, item, place };
  });
}

function placeOf(world: World, queue: ModelQueue, item: NewItem, before: number): Wanted['place'] {
  const { key, idempotencyKey } = item;
  if (idempotencyKey !== undefined && world.done({ queue, key }, idempotencyKey) !== undefined) return 'none';
  if (key === '') return 'taken';
  const lane = world.lane(queue, key);
  if (tooSoon(world, lane) > 0) return 'none';
  const { waitingPerKey, whenFull } = queue.policy;
  if (typeof waitingPerKey !== 'number' || lane.line.filter(isCounted).length + before < waitingPerKey) return 'taken';
  return whenFull === 'replace' ? 'replaced' : 'none';
}

function tooSoon(world: World, lane: Lane): number {
  if (lane.queue.policy.whenTooSoon === 'wait') return 0;
  return Math.max(0, intervalEnds(lane) - world.now);
}

export function submitAll(
  world: World,
  queue: ModelQueue,
  items: readonly NewItem[],
  arrived: Arrived,
): SubmitResult[] {
  return items.map((item) => {
    const known = item.itemId === undefined ? undefined : world.findItem(queue, item.itemId);
    // Whose place it took is told once.
    if (known !== undefined) return { decision: 'accept', itemId: known.id, supersededId: undefined };
    const lane = item.key === '' ? world.newLane(queue, '') : world.lane(queue, item.key);
    const result = arrival(world, lane, item, arrived);
    arrived.declined(queue, result);
    return result;
  });
}

function arrival(world: World, lane: Lane, item: NewItem, arrived: Arrived): SubmitResult {
  const id = item.itemId ?? `made-${world.serial}`;
  const decline = { decision: 'decline', itemId: id, survivorId: undefined, retryAfter: undefined } as const;
  if (item.idempotencyKey !== undefined && world.done(lane, item.idempotencyKey) !== undefined) {
    return { ...decline, reason: 'already_done' };
  }
  const place = world.placeFor(lane, 'item');
  if (place.full && lane.queue.policy.whenFull === 'decline') {
    const { survivor } = place;
    return { ...decline, reason: 'waiter_exists', survivorId: survivor && nameOf(survivor) };
  }
  const soon = tooSoon(world, lane);
  if (soon > 0) return { ...decline, reason: 'too_soon', retryAfter: soon };
  const victim = place.full ? place.victim : undefined;
  const record = newRecord(world, lane.queue, item, id);
  if (victim === undefined) world.insert(lane, record, place.full ? lane.line.length : place.index);
  else world.replace(lane, victim, record);
  lane.queue.items.push(record);
  arrived.kept(record);
  return { decision: 'accept', itemId: id, supersededId: victim && nameOf(victim) };
}

function newRecord(world: World, queue: ModelQueue, content: NewItem, id: string): ItemRecord {
  return {
    kind: 'item',
    id,
    queue,
    content,
    submittedAt: world.now,
    serial: ++world.serial,
    state: 'waiting',
    attempts: 0,
    crashes: 0,
    notBefore: content.delay === 0 ? 0 : Math.ceil(world.now + content.delay),
    cameBack: false,
    after: [...(content.after ?? [])],
    doomed: false,
    lastError: undefined,
    result: undefined,
    forgetAt: undefined,
    deathCause: undefined,
    diedAt: 0,
  };
}

export function awaitItem(world: World, request: AwaitRequest, reply: Reply<AwaitAnswer>): Waiting {
  return world.step(() => {
    const item = world.findItem(world.queue(request.queue), request.itemId);
    const answer = () => void reply.answer(stateOfItem(item));
    if (request.wait === 0 || (item?.state !== 'waiting' && item?.state !== 'in_flight')) {
      answer();
      return undefined;
    }
    const { waitingAwaits } = world.settings.limits;
    if (world.awaits.length >= waitingAwaits) {
      reply.refuse(limit('waiting_awaits', waitingAwaits));
      return undefined;
    }
    const waiting: WaitingAwait = { item, answer, timer: undefined };
    const leave = () => {
      world.cancel(waiting.timer);
      world.awaits = world.awaits.filter((one) => one !== waiting);
    };
    waiting.timer = world.timer(world.now + request.wait, () => {
      leave();
      answer();
    });
    world.awaits.push(waiting);
    return { cancel: () => world.step(leave) };
  });
}

export function stateOfItem(item: ItemRecord | undefined): AwaitAnswer {
  if (item === undefined) return { state: 'unknown', result: undefined, error: undefined, attempt: 0 };
  const { state, result, lastError: error, attempts: attempt } = item;
  return { state, result, error, attempt };
}
