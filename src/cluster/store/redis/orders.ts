/** What a person decided about partitions whose guards were gone: a hash, by partition. */
import type { RestoreOrder } from '../cluster-store.js';
import { orderOf } from '../restore-orders.js';

export function ordersKey(cluster: string): string {
  return `${cluster}:restore`;
}

/** @param answer of HGETALL */
export function ordersOf(answer: unknown): ReadonlyMap<number, RestoreOrder> {
  const orders = new Map<number, RestoreOrder>();
  const flat: readonly unknown[] = Array.isArray(answer) ? answer : [];
  for (let at = 0; at + 1 < flat.length; at += 2) orders.set(Number(flat[at]), orderOf(String(flat[at + 1])));
  return orders;
}
