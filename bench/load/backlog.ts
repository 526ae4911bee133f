/** Items on the disk as a sidecar leaves them, written through its journal: faster than submitting them. */
import type { ItemRow } from '../../src/core/contract/rows.js';
import { openJournal } from '../../src/local/journal/lmdb/lmdb-journal.js';
import { keyOf, QUEUE } from '../coordinator.js';
import type { Say } from '../row.js';

/** What an item carries. */
export const PAYLOAD = Buffer.alloc(200, 'x');
/** Of items that come and go. */
export const KEYS = 10_000;
/** Rows of a batch. */
const BATCH = 20_000;
export const ITEMS_PER_KEY = 10;

/** An item that waits, with an id as a sidecar makes it. */
export function itemRow(seq: number, key: string, payload: Uint8Array): ItemRow {
  return {
    table: 'items',
    seq,
    state: 'open',
    queue: QUEUE,
    key,
    id: `~bench-0-${seq.toString(36)}`,
    idempotencyKey: undefined,
    contentHash: seq,
    submittedAt: Date.now(),
    notBefore: 0,
    takesRoom: true,
    after: [],
    contentBytes: payload.length,
    content: { payload, headers: undefined },
  };
}

/** This many items that wait, {@link ITEMS_PER_KEY} to a key, in a new directory. */
export async function writeBacklog(directory: string, items: number, say: Say): Promise<void> {
  const journal = await openJournal(directory);
  for (let from = 0; from < items; from += BATCH) {
    say(`${from.toLocaleString('en-US')} items are on the disk`);
    const changes = Array.from({ length: Math.min(BATCH, items - from) }, (_, index) => ({
      put: itemRow(from + index, keyOf(Math.floor((from + index) / ITEMS_PER_KEY)), PAYLOAD),
    }));
    await journal.write(changes, Date.now());
  }
  await journal.close();
}
