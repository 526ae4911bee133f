/** Follow-ups on their way to another partition. */
import type { FollowUp, NewItem } from '../../../core/contract/model.js';
import type { OutboxRow } from '../../../core/contract/rows.js';
import type { ByteReader } from './byte-reader.js';
import type { ByteWriter } from './byte-writer.js';
import { readContentFields, readRefs, writeContentFields, writeRefs } from './item-codec.js';

const HAS = { itemId: 1, idempotencyKey: 2, after: 4, waitsForUnknown: 8 } as const;

export function writeParcel(to: ByteWriter, { target, from, followUps, principal }: OutboxRow): void {
  to.whole(target);
  to.text(from);
  to.whole(followUps.length);
  for (const { queue, item } of followUps) {
    to.text(queue);
    writeNewItem(to, item);
  }
  // Last, and only where there is one: other rows are as they were, and versions that do not know it pass it over.
  if (principal !== undefined) to.text(principal);
}

/** @throws NotAValue */
export function readParcel(from: ByteReader, stamp: number): OutboxRow {
  const target = from.whole();
  const queue = from.queue();
  const followUps: FollowUp[] = [];
  for (let left = from.whole(); left > 0; left -= 1)
    followUps.push({ queue: from.text(), item: readNewItem(from), target });
  const row: OutboxRow = { table: 'outbox', stamp, target, from: queue, followUps };
  return from.hasMore ? { ...row, principal: from.text() } : row;
}

function writeNewItem(to: ByteWriter, item: NewItem): void {
  const { key, itemId, idempotencyKey, delay, after, afterUnknown } = item;
  to.byte(
    (itemId === undefined ? 0 : HAS.itemId) |
      (idempotencyKey === undefined ? 0 : HAS.idempotencyKey) |
      (after === undefined ? 0 : HAS.after) |
      (afterUnknown === 'wait' ? HAS.waitsForUnknown : 0),
  );
  to.text(key);
  writeContentFields(to, item);
  if (itemId !== undefined) to.text(itemId);
  if (idempotencyKey !== undefined) to.text(idempotencyKey);
  to.number(delay);
  if (after !== undefined) writeRefs(to, after);
}

function readNewItem(from: ByteReader): NewItem {
  const has = from.byte();
  const key = from.text();
  const content = readContentFields(from);
  const itemId = (has & HAS.itemId) === 0 ? undefined : from.text();
  const idempotencyKey = (has & HAS.idempotencyKey) === 0 ? undefined : from.text();
  const delay = from.number();
  const after = (has & HAS.after) === 0 ? undefined : readRefs(from);
  const afterUnknown = (has & HAS.waitsForUnknown) === 0 ? 'refuse' : 'wait';
  return { key, ...content, itemId, idempotencyKey, delay, after, afterUnknown };
}
