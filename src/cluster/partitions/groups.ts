/** What one step may reach in a cluster: queues of one group (S254); and what goes to other groups after it (S520). */
import type { AckRequest, FollowUp, NewItem, Refusal } from '../../coordinator.js';
import { followUpId } from '../../core/structures/own-id.js';
import type { PartitionMap } from './partition-map.js';

/** What items of this queue wait for must be of its group; where a queue is spread, an id does not say where its item is. */
export function otherGroupOfItems(map: PartitionMap, queue: string, items: readonly NewItem[]): Refusal | undefined {
  for (let at = 0; at < items.length; at += 1) {
    const after = items[at]?.after;
    if (after === undefined) continue;
    const refusal = otherGroupOfAfter(map, queue, after, `items[${at}]`);
    if (refusal !== undefined) return refusal;
  }
  return undefined;
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
 */
export function placeFollowUps(map: PartitionMap, request: AckRequest): AckRequest | Refusal {
  const wrong = otherGroupOfAck(map, request);
  if (wrong !== undefined) return wrong;
  if (request.followUps.every((followUp) => isTogether(map, request, followUp))) return request;
  const followUps = request.followUps.map((followUp, at) => {
    if (isTogether(map, request, followUp)) return followUp;
    const { queue, item } = followUp;
    const itemId = item.itemId ?? followUpId(request.token, at);
    return { queue, item: { ...item, itemId }, target: map.of(queue, item.key, itemId) };
  });
  return { ...request, followUps };
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
    if (map.groupOf(queue) === map.groupOf(other) && !map.isSpread(queue) && !map.isSpread(other)) continue;
    return refusal(map, `${field}.after[${at}].queue`, queue, other);
  }
  return undefined;
}

type OtherGroup = Extract<Refusal, { readonly kind: 'other_group' }>;

function refusal(map: PartitionMap, field: string, queue: string, other: string): OtherGroup {
  return { kind: 'other_group', field, queue, group: map.groupOf(queue), other };
}
