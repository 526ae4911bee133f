/** What a person decided about partitions whose guards were gone, as it is written. */
import type { RestoreOrder } from './cluster-store.js';

export function orderText(order: RestoreOrder): string {
  return order.kind === 'core' ? `core ${order.epoch}` : order.kind;
}

/** What is no order is one to wait: nobody claims what somebody wanted to keep. */
export function orderOf(text: string): RestoreOrder {
  const [kind, epoch] = text.split(' ');
  if (kind === 'empty') return { kind };
  return kind === 'core' && Number(epoch) > 0 ? { kind, epoch: Number(epoch) } : { kind: 'wait' };
}
