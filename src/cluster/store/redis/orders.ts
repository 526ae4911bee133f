/** What a person decided about partitions whose guards were gone: a hash, by partition. */
import type { RestoreOrder } from '../cluster-store.js';

export function ordersKey(cluster: string): string {
  return `${cluster}:restore`;
}

export function orderText(order: RestoreOrder): string {
  return order.kind === 'core' ? `core ${order.epoch}` : order.kind;
}

/** @param answer of HGETALL; what is no order is one to wait: nobody claims what somebody wanted to keep */
export function ordersOf(answer: unknown): ReadonlyMap<number, RestoreOrder> {
  const orders = new Map<number, RestoreOrder>();
  const flat: readonly unknown[] = Array.isArray(answer) ? answer : [];
  for (let at = 0; at + 1 < flat.length; at += 2) orders.set(Number(flat[at]), orderOf(String(flat[at + 1])));
  return orders;
}

function orderOf(text: string): RestoreOrder {
  const [kind, epoch] = text.split(' ');
  if (kind === 'empty') return { kind };
  return kind === 'core' && Number(epoch) > 0 ? { kind, epoch: Number(epoch) } : { kind: 'wait' };
}
