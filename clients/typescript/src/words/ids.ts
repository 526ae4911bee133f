import { randomBytes } from 'node:crypto';
import type { ItemCall } from './worker-words.js';

/**
 * Makes ids that are unique everywhere: 120 random bits that belong to the maker, and a count. A random id for each would
 * be no more unique, longer, and dearer.
 *
 * @param origin instead of random bits, for a simulation
 */
export function idMaker(origin: string = randomBytes(15).toString('base64url')): () => string {
  let count = 0;
  return () => {
    count += 1;
    return `${origin}.${count.toString(36)}`;
  };
}

/** A field of an item that is not named here must not be lost in silence: it does not compile. */
type Whole = Record<keyof ItemCall, unknown>;

/** The item with this id. Field by field: a spread costs several times as much. */
export function namedItem(item: ItemCall, itemId: string): ItemCall & { readonly itemId: string } {
  const { key, payload, headers, idempotencyKey, delay, after, afterUnknown } = item;
  return { key, payload, headers, itemId, idempotencyKey, delay, after, afterUnknown } satisfies Whole;
}
