/** Where that stands in Redis which is of no partition alone. */
import type { RestoreOrder } from '../cluster-store.js';
import { orderOf } from '../restore-orders.js';

export interface RecordKeys {
  readonly record: string;
  /** What a person decided about partitions whose guards were gone: a hash, by partition. */
  readonly orders: string;
  readonly import: string;
}

/** @param isSpread over the slots of a Redis Cluster: there all of it is in the slot of members and homes */
export function recordKeys(cluster: string, isSpread: boolean): RecordKeys {
  const tag = isSpread ? `{${cluster}.members}:` : `${cluster}:`;
  return { record: `${tag}record`, orders: `${tag}restore`, import: `${tag}import` };
}

/** @param answer of HGETALL */
export function ordersOf(answer: unknown): ReadonlyMap<number, RestoreOrder> {
  const orders = new Map<number, RestoreOrder>();
  const flat: readonly unknown[] = Array.isArray(answer) ? answer : [];
  for (let at = 0; at + 1 < flat.length; at += 2) orders.set(Number(flat[at]), orderOf(String(flat[at + 1])));
  return orders;
}
