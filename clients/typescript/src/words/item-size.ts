import type { ItemCall, ItemHeaders } from './worker-words.js';

/** A message may have 4 MiB; what is added up here is never less than what travels. */
export const LARGEST_MESSAGE = 3_500_000;
/** The most items of one Submit. */
export const MOST_ITEMS = 1_000;

/** Tags, lengths and numbers of an item; tag and lengths of a header, or of another item that it waits for. */
const ITEM_OVERHEAD = 64;
const PAIR_OVERHEAD = 16;

/** Of a Map or a plain object. */
export function headerPairs(headers: ItemHeaders): Iterable<readonly [string, string]> {
  return headers instanceof Map ? headers : Object.entries(headers);
}

/** Bytes that an item takes in a message, at most. */
export function sizeOf(item: ItemCall): number {
  let size =
    ITEM_OVERHEAD + (item.payload?.length ?? 0) + utf8(item.key) + utf8(item.itemId) + utf8(item.idempotencyKey);
  for (const [name, value] of item.headers === undefined ? [] : headerPairs(item.headers))
    size += PAIR_OVERHEAD + utf8(name) + utf8(value);
  for (const ref of item.after ?? []) size += PAIR_OVERHEAD + utf8(ref.queue) + utf8(ref.itemId);
  return size;
}

/** A character of UTF-16 has at most three bytes in UTF-8. */
function utf8(text: string | undefined): number {
  return text === undefined ? 0 : 3 * text.length;
}
