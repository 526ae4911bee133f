import type { SlowTurn } from '../contract/views.js';
import type { Item, Turn } from './records.js';
import type { CoreState } from './state.js';

/** A turn may have thousands. */
const MOST_IDS = 10;

/** Tells of a turn that ends and was held for longer than its queue's `slow_hold`. Its items are still those that it had. */
export function tellSlow(state: CoreState, turn: Turn, how: Pick<SlowTurn, 'held' | 'slowHold' | 'how'>): void {
  const { lane, token, consumerId, assignment } = turn;
  const items: readonly Item[] = assignment.kind === 'items' ? assignment.items : [];
  const told: SlowTurn = {
    queue: lane.queue.name,
    key: lane.key,
    token,
    consumerId,
    ...how,
    itemIds: items.slice(0, MOST_IDS).map(({ id }) => id),
    items: items.length,
    traceparent: items.find(({ headers }) => headers?.has('traceparent'))?.headers?.get('traceparent'),
  };
  state.effects.push({ kind: 'slow', turn: told }, lane.queue.tellsLate);
}
