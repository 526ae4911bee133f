/** Why the last attempt of an item failed: a text that is kept with it, and charged as what it carries is. */

import { markAllRoom } from '../state/marks.js';
import { giveLanes } from '../state/memory-budget.js';
import type { Item } from '../state/records.js';
import type { CoreState } from '../state/state.js';

/**
 * Notes why the attempt failed (S591). Precondition: the item is charged, so it waits, is in flight, or is dead.
 *
 * The error counts as payload memory in place of the one before. Where it does not fit, as much of it is kept as fits: no
 * settlement is refused for its error.
 *
 * @param isCut false: what does not fit whole is not kept. Of a name that is cut nobody knows who may see it (S632).
 */
export function noteError(state: CoreState, item: Item, error: string, isCut = true): void {
  const before = item.lastError?.length ?? 0;
  const used = state.payloadBytes + state.elsewhere.payloadBytes - before;
  const left = giveLanes(state, error.length - before);
  const room = Math.min(state.settings.limits.payloadMemoryBytes - used, left + before);
  const kept = isCut || error.length <= room ? beginningOf(error, Math.max(0, room)) : '';
  item.lastError = kept;
  state.payloadBytes += kept.length - before;
  item.account?.change(kept.length - before);
  // Submits that wait for room may fit now.
  if (kept.length < before) markAllRoom(state, 'memory');
}

/** A text of its own: a part of a string keeps the whole one alive. */
function beginningOf(error: string, most: number): string {
  if (error.length <= most) return error;
  return Array.from(error.slice(0, most))
    .join('')
    .replace(/[\ud800-\udbff]$/, '');
}
