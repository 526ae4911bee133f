import type { ItemRef } from '../contract/model.js';
import type { End } from '../state/records.js';
import type { CoreState } from '../state/state.js';

/** How an item stands, for one that waits for it: it has ended, or will, or nothing is known of it. */
export function standingOf(state: CoreState, { queue: name, itemId }: ItemRef, now: number): End | 'open' | 'unknown' {
  const queue = state.queues.get(name);
  if (queue === undefined) return 'unknown';
  if (queue.items.has(itemId)) return 'open';
  if (queue.deadLetters.has(itemId)) return 'dead';
  return queue.finished.get(itemId, now)?.state ?? 'unknown';
}
