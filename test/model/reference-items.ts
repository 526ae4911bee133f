/** The dumb reference: Submit and Await. */
import type {
  AwaitAnswer,
  AwaitRequest,
  NewItem,
  Refusal,
  Reply,
  SubmitAnswer,
  SubmitRequest,
  SubmitResult,
  Waiting,
} from '../../src/coordinator.js';
import type { ItemRecord, Lane, ModelQueue, WaitingAwait, WaitingSubmit } from './reference-state.js';
import { nameOf } from './reference-state.js';
import type { World } from './reference-world.js';

export function submit(world: World, request: SubmitRequest, reply: Reply<SubmitAnswer>): Waiting {
  return world.step(() => {
    const queue = world.queue(request.queue);
    const attempt = () => {
      const refusal = checkBatch(world, new Map([[request.queue, request.items]]), 'items');
      if (refusal?.kind === 'queue_full') return false;
      if (refusal !== undefined) reply.refuse(refusal);
      else reply.answer({ results: submitAll(world, queue, request.items) });
      return true;
    };
    // Whoever needs no room overtakes nobody.
    const inOrder =
      placesNeeded(world, queue, request.items) === 0 || !world.submits.some((one) => one.queue === queue);
    if ((inOrder || isBad(world, queue, request.items)) && attempt()) return undefined;
    if (request.waitForRoom > 0) return waitForRoom(world, queue, request.waitForRoom, attempt, reply);
    reply.refuse(world.queueFull(queue));
    return undefined;
  });
}

function isBad(world: World, queue: ModelQueue, items: readonly NewItem[]): boolean {
  return placesNeeded(world, queue, items) > queue.policy.maxWaiting || changesContent(world, queue, items);
}

function waitForRoom(
  world: World,
  queue: ModelQueue,
  wait: number,
  attempt: () => boolean,
  reply: Reply<SubmitAnswer>,
): Waiting {
  const submit: WaitingSubmit = { queue, attempt, timer: undefined };
  const leave = () => {
    world.cancel(submit.timer);
    world.submits = world.submits.filter((one) => one !== submit);
  };
  submit.timer = world.timer(world.now + wait, () => {
    leave();
    reply.refuse(world.queueFull(queue));
  });
  world.submits.push(submit);
  return { cancel: () => world.step(leave) };
}

/** What would refuse the whole batch; S30 counts the room that it needs before anything is accepted. */
export function checkBatch(
  world: World,
  batches: ReadonlyMap<string, readonly NewItem[]>,
  field: string,
): Refusal | undefined {
  for (const [name, items] of batches) {
    const queue = world.queue(name);
    if (isBad(world, queue, items)) {
      return { kind: 'bad_request', violations: [{ field, description: '' }] };
    }
    if (world.waiting(queue) + placesNeeded(world, queue, items) > queue.policy.maxWaiting)
      return world.queueFull(queue);
  }
  return undefined;
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
  const content = ({ key, payload, headers, idempotencyKey }: NewItem) =>
    JSON.stringify([key, [...payload], [...(headers ?? [])].sort(), idempotencyKey ?? null]);
  return content(one) === content(other);
}

function placesNeeded(world: World, queue: ModelQueue, items: readonly NewItem[]): number {
  let needed = 0;
  const added = new Map<string, number>();
  const ids = new Set<string>();
  for (const item of items) {
    const lane = item.key === '' ? undefined : world.lane(queue, item.key);
    const done = item.idempotencyKey !== undefined && world.done({ queue, key: item.key }, item.idempotencyKey);
    const known =
      item.itemId !== undefined && (ids.has(item.itemId) || world.findItem(queue, item.itemId) !== undefined);
    if (known || done || (lane !== undefined && !takesPlace(world, lane, item, added.get(item.key) ?? 0))) continue;
    needed += 1;
    added.set(item.key, (added.get(item.key) ?? 0) + 1);
    if (item.itemId !== undefined) ids.add(item.itemId);
  }
  return needed;
}

function takesPlace(world: World, lane: Lane, item: NewItem, before: number): boolean {
  const { waitingPerKey, whenFull } = lane.queue.policy;
  if (item.idempotencyKey !== undefined && world.done(lane, item.idempotencyKey) !== undefined) return false;
  if (tooSoon(world, lane) > 0) return false;
  if (typeof waitingPerKey !== 'number') return true;
  const place = world.placeFor(lane, 'item');
  const counted = lane.line.filter((entry) => (entry.kind === 'item' ? !entry.cameBack : entry.counted)).length;
  if (counted + before < waitingPerKey) return true;
  return whenFull === 'replace' && before === 0 && place.full && place.victim === undefined;
}

function tooSoon(world: World, lane: Lane): number {
  const { minInterval, whenTooSoon } = lane.queue.policy;
  if (lane.key === '' || whenTooSoon === 'wait') return 0;
  return Math.max(0, lane.lastStart + minInterval - world.now);
}

export function submitAll(world: World, queue: ModelQueue, items: readonly NewItem[]): SubmitResult[] {
  return items.map((item) => {
    const known = item.itemId === undefined ? undefined : world.findItem(queue, item.itemId);
    // Whose place it took is told once.
    if (known !== undefined) return { decision: 'accept', itemId: known.id, supersededId: undefined };
    const lane = item.key === '' ? world.newLane(queue, '') : world.lane(queue, item.key);
    return arrival(world, lane, item);
  });
}

function arrival(world: World, lane: Lane, item: NewItem): SubmitResult {
  const id = item.itemId ?? `made-${world.serial}`;
  const decline = { decision: 'decline', itemId: id, survivorId: undefined, retryAfter: undefined } as const;
  if (item.idempotencyKey !== undefined && world.done(lane, item.idempotencyKey) !== undefined) {
    return { ...decline, reason: 'already_done' };
  }
  const place = world.placeFor(lane, 'item');
  if (place.full && lane.queue.policy.whenFull === 'decline') {
    const newest = lane.line.at(-1);
    return { ...decline, reason: 'waiter_exists', survivorId: newest && nameOf(newest) };
  }
  const soon = tooSoon(world, lane);
  if (soon > 0) return { ...decline, reason: 'too_soon', retryAfter: soon };
  const victim = place.full ? place.victim : undefined;
  const record = newRecord(world, item, id);
  if (victim === undefined) world.append(lane, record);
  else world.replace(lane, victim, record);
  lane.queue.items.push(record);
  return { decision: 'accept', itemId: id, supersededId: victim && nameOf(victim) };
}

function newRecord(world: World, content: NewItem, id: string): ItemRecord {
  return {
    kind: 'item',
    id,
    content,
    submittedAt: world.now,
    serial: ++world.serial,
    state: 'waiting',
    attempts: 0,
    notBefore: world.now + content.delay,
    cameBack: false,
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
