/**
 * A follow-up to another group that can never be an item: its Ack was answered long ago, so nobody could be told. It becomes a
 * dead letter of its queue, or of that of its Ack if there is no such queue, for a person to see.
 */
import type { NewItem } from '../contract/model.js';
import type { Destination } from '../contract/parcels.js';
import { makeDeadLetter } from '../items/dead-letter.js';
import { lineUp } from '../items/item-phase.js';
import { itemById } from '../items/item-status.js';
import { keepOnDisk } from '../items/kept-after-all.js';
import { noteError } from '../items/last-error.js';
import { currentOrNewLane } from '../lane/current-lanes.js';
import { restIfNew } from '../lane/phase.js';
import type { Account } from '../state/accounts.js';
import { nameKeyless } from '../state/lane.js';
import { Item, type Queue } from '../state/records.js';
import type { CoreState } from '../state/state.js';
import { NO_NUMBER } from '../structures/own-id.js';

/**
 * Its key does not stop for it, whatever `on_dead_letter` says: nothing that stands in the line came behind it.
 *
 * @param why for people
 * @param id under which it is kept if another item has its own
 * @param destination where Redrive sends it; unset: into this queue
 * @param account what it is charged to; unset: nobody
 */
export function keepAsLetter(
  state: CoreState,
  queue: Queue,
  newItem: NewItem,
  why: string,
  id: string,
  now: number,
  destination?: Destination,
  account?: Account,
): void {
  const { key, payload, headers, idempotencyKey, itemId = id } = newItem;
  const own = itemById(queue, itemId, now) === undefined ? itemId : id;
  const lane = currentOrNewLane(state, queue, key, now);
  // Idle ones may give way to the error.
  if (lane.rests !== undefined) state.idle.delete(lane);
  state.itemSeq += 1;
  const item = new Item(lane, own, payload, headers, idempotencyKey, now, state.itemSeq, 0, NO_NUMBER);
  item.account = account;
  nameKeyless(lane, item);
  lineUp(state, item, undefined);
  noteError(state, item, why.slice(0, state.settings.limits.errorBytes), false);
  if (queue.changes !== undefined) keepOnDisk(state, queue.changes, item);
  queue.counters.submitted += 1;
  makeDeadLetter(state, item, 'refused', now, destination);
  restIfNew(state, lane);
}
