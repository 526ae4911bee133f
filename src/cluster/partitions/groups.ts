/** What one step may reach in a cluster: queues of one group (S254); and what goes to other groups after it (S520). */
import type { AckRequest, FollowUp, ItemRef, NewItem, Refusal, SubmitRequest } from '../../coordinator.js';
import type { Policy } from '../../core/contract/policy.js';
import { badRequest } from '../../core/contract/refusals.js';
import { followUpId } from '../../core/structures/own-id.js';
import type { PartitionMap } from './partition-map.js';

/** One of `after` that is not decided about together with the item that names it. */
export interface FarAfter {
  /** Of the item in the request. */
  readonly at: number;
  readonly field: string;
  readonly ref: ItemRef;
}

/**
 * What items of a Submit wait for in other groups, or in queues that are spread: their homes are asked. That is written with the
 * item, so rows of a newer format are needed.
 *
 * An id that nobody knows yet cannot be waited for there: it might come to wait for this one, and nobody would see that circle.
 */
export function farOf(map: PartitionMap, queue: string, items: readonly NewItem[]): readonly FarAfter[] | Refusal {
  let far: FarAfter[] | undefined;
  for (let at = 0; at < items.length; at += 1) {
    const item = items[at];
    if (item?.after === undefined) continue;
    for (const [nth, ref] of item.after.entries()) {
      if (areTogether(map, queue, ref.queue)) continue;
      const field = `items[${at}].after[${nth}]`;
      if (!map.keepsOutbox) return { ...refusal(map, `${field}.queue`, queue, ref.queue), unfixed: true };
      if (item.afterUnknown === 'wait') return badRequest(`items[${at}].after_unknown`, NO_WAIT);
      far ??= [];
      far.push({ at, field, ref });
    }
  }
  return far ?? NONE;
}

const NONE: readonly FarAfter[] = Object.freeze([]);
const NO_WAIT =
  'wait is not allowed, after names an item of another group or of a queue that is spread: it has to be known; allowed: refuse, or unset';

/** At the home that decides about the Submit: says which items it has to ask for elsewhere. */
export function placeAfter(map: PartitionMap, request: SubmitRequest): SubmitRequest | Refusal {
  const { queue } = request;
  const far = farOf(map, queue, request.items);
  if ('kind' in far) return far;
  if (far.length === 0) return request;
  const refs = new Set(far.map(({ ref }) => ref));
  const items = request.items.map((item) => {
    const { after } = item;
    if (after?.some((ref) => refs.has(ref)) !== true) return item;
    return { ...item, after: after.map((ref) => (refs.has(ref) ? { ...ref, isFar: true } : ref)) };
  });
  return { ...request, items };
}

/** Of a queue that is spread no id says where its item is. */
function areTogether(map: PartitionMap, queue: string, other: string): boolean {
  return map.groupOf(queue) === map.groupOf(other) && !map.isSpread(queue) && !map.isSpread(other);
}

/**
 * Follow-ups are accepted in the step that ends the turn, if they belong where that is decided. Others are kept there and go to
 * their own partitions later; for that rows of a newer format are needed, which has to be fixed.
 */
export function otherGroupOfAck(map: PartitionMap, request: AckRequest): OtherGroup | undefined {
  const { queue } = request;
  for (const [at, followUp] of request.followUps.entries()) {
    const { queue: other, item } = followUp;
    if (!map.keepsOutbox && !isTogether(map, request, followUp))
      return { ...refusal(map, `follow_ups[${at}].queue`, queue, other), unfixed: true };
    if (item.after === undefined) continue;
    const wrong = otherGroupOfAfter(map, other, item.after, `follow_ups[${at}].item`);
    if (wrong !== undefined) return wrong;
  }
  return undefined;
}

/**
 * At the home that decides about the Ack: says of each follow-up to another group which partition it goes to. The group decides, not
 * the partition: two groups that have one partition by chance are as any two. One that has no id gets it here, because the Ack tells
 * it, and it may say which part of a queue is meant.
 *
 * @param policyOf a queue in a partition; unset: there is no such queue. All sidecars have the same settings
 */
export function placeFollowUps(
  map: PartitionMap,
  request: AckRequest,
  policyOf: (queue: string, target: number) => Policy | undefined,
): AckRequest | Refusal {
  const wrong = otherGroupOfAck(map, request);
  if (wrong !== undefined) return wrong;
  if (request.followUps.every((followUp) => isTogether(map, request, followUp))) return request;
  const followUps = request.followUps.map((followUp, at) => {
    if (isTogether(map, request, followUp)) return followUp;
    const { queue, item } = followUp;
    const itemId = item.itemId ?? followUpId(request.token, at);
    return { queue, item: { ...item, itemId }, target: map.of(queue, item.key, itemId) };
  });
  return { ...request, followUps, wrong: neverAccepted(followUps, policyOf) };
}

/** S620, S622: not even an empty queue would accept them. */
function neverAccepted(
  followUps: readonly FollowUp[],
  policyOf: (queue: string, target: number) => Policy | undefined,
): Refusal | undefined {
  const places = new Map<string, EmptyQueue>();
  for (const { queue, item, target } of followUps) {
    if (target === undefined) continue;
    const policy = policyOf(queue, target);
    if (policy === undefined) return { kind: 'no_such_queue', queue };
    const name = `${target} ${queue}`;
    const taken = places.get(name) ?? new EmptyQueue(policy);
    places.set(name, taken);
    taken.add(item);
    if (taken.isOverFull) return badRequest('follow_ups', tooMany(queue, policy));
  }
  return undefined;
}

function tooMany(queue: string, { maxWaiting }: Policy): string {
  return `more items for queue ${queue} than its max_waiting, which is ${maxWaiting} where they go`;
}

/** Counts the places that items need in a queue in which nothing waits. */
class EmptyQueue {
  #places = 0;
  readonly #ids = new Set<string>();
  readonly #keys = new Map<string, number>();

  constructor(private readonly policy: Policy) {}

  get isOverFull(): boolean {
    return this.#places > this.policy.maxWaiting;
  }

  add({ key, itemId }: NewItem): void {
    // The second one of an id needs no place.
    if (itemId !== undefined && this.#ids.has(itemId)) return;
    if (itemId !== undefined) this.#ids.add(itemId);
    const { waitingPerKey } = this.policy;
    const ofKey = this.#keys.get(key) ?? 0;
    if (key !== '' && typeof waitingPerKey === 'number' && ofKey >= waitingPerKey) return;
    this.#keys.set(key, ofKey + 1);
    this.#places += 1;
  }
}

/** Of a queue that is spread only what has the same key is surely in the same part. */
function isTogether(map: PartitionMap, { queue, key }: AckRequest, { queue: other, item }: FollowUp): boolean {
  if (map.groupOf(queue) !== map.groupOf(other)) return false;
  return map.isSpread(queue) || map.isSpread(other) ? other === queue && key !== '' && item.key === key : true;
}

function otherGroupOfAfter(
  map: PartitionMap,
  queue: string,
  after: NonNullable<NewItem['after']>,
  field: string,
): OtherGroup | undefined {
  for (const [at, { queue: other }] of after.entries()) {
    if (areTogether(map, queue, other)) continue;
    return refusal(map, `${field}.after[${at}].queue`, queue, other);
  }
  return undefined;
}

type OtherGroup = Extract<Refusal, { readonly kind: 'other_group' }>;

function refusal(map: PartitionMap, field: string, queue: string, other: string): OtherGroup {
  return { kind: 'other_group', field, queue, group: map.groupOf(queue), other };
}
