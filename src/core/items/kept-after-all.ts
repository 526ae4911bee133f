/** An item that was kept in memory only comes again, and is to outlive a crash this time. */

import type { Durability } from '../contract/model.js';
import { type ChangeLog, type Entry, Item, type Queue } from '../state/records.js';
import type { CoreState } from '../state/state.js';
import { Stored } from '../state/stored.js';
import type { FinishedItem } from '../structures/retention-cache.js';
import { bytesOf, contentHashOf, contentOf } from './content.js';
import { bytesOfFinished } from './finish.js';

/**
 * Writes what was in memory only: the item where it stands, or its end with the result (S111). Nothing changes where
 * the queue is not durable, where all of its items are on disk already, or where `memory` is asked for.
 *
 * @param known what is known of this id
 * @param durability what whoever sends it again asks for; unset: the queue's
 */
export function keepAfterAll(
  state: CoreState,
  queue: Queue,
  id: string,
  known: Item | FinishedItem,
  durability: Durability | undefined,
): void {
  const { changes } = queue;
  if (changes === undefined || !queue.isMixed || durability === 'memory') return;
  if (!(known instanceof Item)) keepEnd(state, queue, changes, id, durability);
  else if (known.stored === undefined) keepOnDisk(state, changes, known, durability);
}

/** Wherever it is: in line, in a turn, or dead. Ends of which it has not learnt yet are written too (S112). */
export function keepOnDisk(state: CoreState, changes: ChangeLog, item: Item, asked?: Durability): void {
  const content = contentOf(item);
  const rank = rankOf(item);
  state.frontRank = Math.min(state.frontRank, rank);
  item.stored = new Stored(rank, contentHashOf(content), bytesOf(content));
  changes.item(item, asked);
  if (item.waits !== undefined) state.dependencies.isOnDisk(item.waits, (ended) => changes.end(ended));
}

/** It has finished: it must not be done once more after a crash. */
function keepEnd(state: CoreState, queue: Queue, changes: ChangeLog, id: string, asked?: Durability): void {
  const known = queue.finished.peek(id);
  if (known === undefined || known.value.seq !== undefined) return;
  state.itemSeq += 1;
  const seq = state.itemSeq;
  queue.finished.set(id, { ...known.value, seq }, known.until, bytesOfFinished(known.value));
  changes.finished(queue, id, seq, asked);
}

/**
 * Its place among the items of its lane that are on disk. One that never came back stands in the order of submission; of
 * one that did it is looked between which others it stands.
 */
function rankOf(item: Item): number {
  const { seq, takesRoom } = item;
  if (takesRoom) return seq;
  const before = rankFrom(item.before, (entry) => entry.before);
  const behind = rankFrom(item.behind, (entry) => entry.behind);
  if (before !== undefined && seq <= before) return behind === undefined ? before + 0.5 : (before + behind) / 2;
  if (behind !== undefined && seq >= behind) return before === undefined ? behind - 1 : (before + behind) / 2;
  return seq;
}

function rankFrom(first: Entry | undefined, next: (entry: Entry) => Entry | undefined): number | undefined {
  for (let entry = first; entry !== undefined; entry = next(entry))
    if (entry instanceof Item && entry.stored !== undefined) return entry.stored.rank;
  return undefined;
}
