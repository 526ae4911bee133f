/** What waited for others before the restart waits for them again. */

import { keepUntold } from '../admission/dependants.js';
import type { AfterRef } from '../contract/model.js';
import type { ProgressRow } from '../contract/rows.js';
import { standingOf } from '../items/item-status.js';
import { type Item, Waits } from '../state/records.js';
import type { CoreState } from '../state/state.js';
import { wholeMs } from '../structures/due.js';

/**
 * After a restart: the item waits for these again, whatever became of them. To be called before it is weighed and its
 * lane resolved; of what ended {@link checkAwaited} finds out when all items are there.
 *
 * @param after what it came after, as its row says
 * @param progress unset: nothing became of it since
 */
export function waitAgain(
  state: CoreState,
  item: Item,
  after: readonly AfterRef[],
  progress: Pick<ProgressRow, 'after' | 'dependencyFailed' | 'dead'> | undefined,
): void {
  if (after.length === 0 && progress?.dependencyFailed !== true) return;
  // A dead letter waits for nothing, whoever wrote its row.
  const left = progress?.dead === undefined ? (progress?.after ?? after) : [];
  // All of it, for a redrive of the item.
  item.waits = new Waits(after);
  // What is written of it from now on has to say so too.
  item.waits.changed = left !== after;
  item.waits.dependencyFailed = progress?.dependencyFailed === true;
  state.dependencies.add(item, item.waits, left);
}

/**
 * After a restart, when all items are there: items that wait for what has ended are notified in the first steps. It
 * stops after each that is waited for.
 */
export function* checkAwaited(state: CoreState, clock: () => number): Generator<undefined> {
  for (const awaited of state.dependencies.all()) {
    const standing = standingOf(state, awaited, clock());
    if (standing !== 'open' && standing !== 'unknown') state.dependencies.end(awaited.queue, awaited.itemId, standing);
    yield;
  }
  keepUntold(state);
  // It must not take a call to wake them.
  if (state.dependencies.hasNews) state.wheel.schedule(state.newsTimer, wholeMs(clock()));
}
