/** Items by their ids: what is known of one, wherever it is. Nothing else asks the indexes of a queue one by one. */

import type { ItemRef, ItemState } from '../contract/model.js';
import { type End, Item, type Queue } from '../state/records.js';
import type { CoreState } from '../state/state.js';
import type { FinishedItem } from '../structures/retention-cache.js';

/** Open or dead: itself. Finished: what is remembered of it, which counts as a use. Unset: nothing is known of this id. */
type KnownItem = Item | FinishedItem | undefined;

/** An open or dead item comes before what is remembered. */
export function itemById(queue: Queue, id: string, now: number): KnownItem {
  return keptItem(queue, id) ?? queue.finished.recall(id, now);
}

/** The item of this id that waits, is in flight, or is dead. */
export function keptItem({ items, deadLetters }: Queue, id: string): Item | undefined {
  // Hardly ever is any dead: nothing is hashed for that.
  return items.get(id) ?? (deadLetters.size === 0 ? undefined : deadLetters.get(id)?.item);
}

/** It waits or is in flight. */
export function isOpen({ phase }: Item): boolean {
  return phase.at === 'waiting' || phase.at === 'in_flight';
}

/** It waits, is in flight, or is dead: what it carries counts as payload memory. */
export function isKept(item: Item): boolean {
  return isOpen(item) || item.phase.at === 'dead';
}

/** How clients are told of it. */
export function stateOfItem({ phase }: Item): ItemState {
  switch (phase.at) {
    case 'waiting':
    case 'in_flight':
    case 'dead':
      return phase.at;
    case 'handed_out':
      return 'done';
    case 'gone':
      return 'unknown';
  }
}

/** The tries that failed, and the one that is going on. */
export function attemptOf({ attempts, phase }: Item): number {
  return phase.at === 'in_flight' || phase.at === 'handed_out' ? attempts + 1 : attempts;
}

/**
 * How an item stands, for one that waits for it: it has ended, or will, or nothing is known of it (S63). A dead letter
 * counts as ended at once, though it may be redriven later (S67).
 */
export function standingOf(state: CoreState, { queue: name, itemId }: ItemRef, now: number): End | 'open' | 'unknown' {
  const queue = state.queues.get(name);
  const known = queue && itemById(queue, itemId, now);
  if (known instanceof Item) return known.phase.at === 'dead' ? 'dead' : 'open';
  return known?.state ?? 'unknown';
}
