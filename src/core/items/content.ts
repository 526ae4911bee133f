/**
 * What an item carries: what that weighs, and by what it is told from another.
 *
 * Two weights, both in bytes: what an item is charged against payload memory (`weightOf`, S33), and what it adds to an
 * answer (`sizeOfItem`). They differ for an item whose payload is on disk alone.
 */

import type { FollowUp, ItemRef, Payload } from '../contract/model.js';
import { COSTS, TURN_COST } from '../state/held.js';
import type { Item } from '../state/records.js';
import { contentHash } from './content-hash.js';

/** What an item costs beside its payload, headers and ids (S33). */
const ITEM_OVERHEAD = 256;
/** The same for each item that it waits for (S66). */
const AFTER_OVERHEAD = 256;

export interface Content {
  readonly key: string;
  readonly payload: Payload;
  readonly headers: ReadonlyMap<string, string> | undefined;
  readonly idempotencyKey: string | undefined;
  readonly after?: readonly ItemRef[] | undefined;
}

/** Bytes charged against payload memory. Strings by their length: keys and ids are mostly ASCII. */
export function weightOf(content: Content, idLength: number): number {
  let bytes = ITEM_OVERHEAD + bytesOf(content) + idLength + (content.idempotencyKey?.length ?? 0);
  if (content.headers !== undefined) bytes += content.headers.size * COSTS.mapEntry;
  if (content.after !== undefined)
    for (const { queue, itemId } of content.after) bytes += AFTER_OVERHEAD + queue.length + itemId.length;
  return bytes;
}

/** What those are charged with that go to another partition, until they are there. */
export function bytesAway(followUps: readonly FollowUp[]): number {
  let bytes = 0;
  for (const { item, target } of followUps) if (target !== undefined) bytes += weightOf(item, item.itemId?.length ?? 0);
  return bytes;
}

/** What those will need of `limits.memory_bytes` where they go, besides: each a key that is new there. */
export function lanesAway(followUps: readonly FollowUp[]): number {
  let bytes = 0;
  for (const { item, target } of followUps) if (target !== undefined) bytes += item.key.length + TURN_COST;
  return bytes;
}

/** What follow-ups may need of `limits.memory_bytes` at most: a key each, and all of them new. */
export function mostMemoryOf(followUps: readonly FollowUp[]): number {
  let bytes = 0;
  for (const { item } of followUps) bytes += weightOf(item, item.itemId?.length ?? 0) + item.key.length + TURN_COST;
  return bytes;
}

/** Bytes of payload and headers; those of a text by its length. */
export function bytesOf({ payload, headers }: Pick<Content, 'payload' | 'headers'>): number {
  let bytes = payload.length;
  if (headers !== undefined) for (const [name, value] of headers) bytes += name.length + value.length;
  return bytes;
}

/**
 * What an item is charged against payload memory, with the error of its last attempt (S591). A payload on disk alone weighs nothing
 * (S57). The weight is computed again when the item leaves: code that changes it meanwhile changes `payloadBytes` too.
 */
export function weightOfItem(item: Item): number {
  return weightOf(contentOf(item), item.idLength) + (item.lastError?.length ?? 0);
}

/** What its principal is charged with: without the error, which the worker writes, perhaps for another principal (S659). */
export function ownWeightOfItem(item: Item): number {
  return weightOf(contentOf(item), item.idLength) + item.lane.key.length;
}

/** What it adds to an answer: as `weightOfItem`, wherever it is. */
export function sizeOfItem(item: Item): number {
  const { stored } = item;
  return stored?.where === 'away' ? weightOfItem(item) + stored.bytes : weightOfItem(item);
}

/** An item on disk keeps its hash in memory: its payload may be away. */
export function contentHashOfItem(item: Item): number {
  return item.stored?.contentHash ?? contentHashOf(contentOf(item));
}

export function contentOf(item: Item): Content {
  const { payload, headers, idempotencyKey, waits } = item;
  return { key: item.lane.key, payload, headers, idempotencyKey, after: waits?.after };
}

/**
 * The content hash by which a resend is known (S31): of key, idempotency key, headers in the order of their names, what
 * it waits for, and payload; not of the delay. It must stay the same in all versions, because it is on disk (S170).
 */
export function contentHashOf(content: Content): number {
  const { key, idempotencyKey, headers, payload, after } = content;
  const texts = [key, idempotencyKey ?? ''];
  if (headers !== undefined && headers.size > 0) {
    for (const [name, value] of [...headers].sort(([a], [b]) => (a < b ? -1 : 1))) texts.push(name, value);
  }
  if (after !== undefined) texts.push(...afterTexts(after));
  return contentHash(texts, payload);
}

/** In whatever order they were named. They begin with what is the name of no header, so they are not taken for one. */
function afterTexts(after: readonly ItemRef[]): string[] {
  return ['\0after', ...after.map(({ queue, itemId }) => `${queue} ${itemId}`).sort()];
}
