/** What one step may reach in a cluster: queues of one group (S254). */
import type { AckRequest, NewItem, Refusal } from '../../coordinator.js';
import type { PartitionMap } from '../partitions/partition-map.js';

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

/** Follow-ups are accepted in the step that ends the turn, so they belong where that is decided. */
export function otherGroupOfAck(map: PartitionMap, { queue, key, followUps }: AckRequest): Refusal | undefined {
  for (const [at, { queue: other, item }] of followUps.entries()) {
    const isHere =
      map.isSpread(queue) || map.isSpread(other) ? other === queue && key !== '' && item.key === key : true;
    if (!isHere || map.groupOf(queue) !== map.groupOf(other))
      return refusal(map, `follow_ups[${at}].queue`, queue, other);
    if (item.after === undefined) continue;
    const wrong = otherGroupOfAfter(map, other, item.after, `follow_ups[${at}].item`);
    if (wrong !== undefined) return wrong;
  }
  return undefined;
}

function otherGroupOfAfter(
  map: PartitionMap,
  queue: string,
  after: NonNullable<NewItem['after']>,
  field: string,
): Refusal | undefined {
  for (const [at, { queue: other }] of after.entries()) {
    if (map.groupOf(queue) === map.groupOf(other) && !map.isSpread(queue) && !map.isSpread(other)) continue;
    return refusal(map, `${field}.after[${at}].queue`, queue, other);
  }
  return undefined;
}

function refusal(map: PartitionMap, field: string, queue: string, other: string): Refusal {
  return { kind: 'other_group', field, queue, group: map.groupOf(queue), other };
}
