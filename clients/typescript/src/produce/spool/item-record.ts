/** Items as bodies of records: the length of a description in JSON, the description, the payload. */
import { Buffer } from 'node:buffer';
import { headerPairs } from '../../words/item-size.js';
import type { ItemCall, ItemRef } from '../../words/worker-words.js';

export type NamedItem = ItemCall & { readonly itemId: string };

interface Description {
  readonly key?: string | undefined;
  readonly itemId: string;
  readonly idempotencyKey?: string | undefined;
  readonly delay?: number | undefined;
  readonly headers?: readonly (readonly [string, string])[] | undefined;
  readonly after?: readonly ItemRef[] | undefined;
  readonly afterUnknown?: ItemCall['afterUnknown'];
}

const DESCRIPTION_AT = 4;

export function encodeItem({ headers, payload, ...rest }: NamedItem): Buffer {
  const { key, itemId, idempotencyKey, delay, after, afterUnknown } = rest;
  const pairs = headers === undefined ? undefined : [...headerPairs(headers)];
  const description: Description = { key, itemId, idempotencyKey, delay, headers: pairs, after, afterUnknown };
  const text = Buffer.from(JSON.stringify(description));
  const length = Buffer.allocUnsafe(DESCRIPTION_AT);
  length.writeUInt32LE(text.length);
  return Buffer.concat([length, text, payload ?? Buffer.alloc(0)]);
}

/** @throws Error when the body is not one of {@link encodeItem} */
export function decodeItem(body: Buffer): NamedItem {
  const end = DESCRIPTION_AT + body.readUInt32LE();
  const description: unknown = JSON.parse(body.toString('utf8', DESCRIPTION_AT, end));
  if (!isDescription(description)) throw new Error('a record has no description of an item');
  const { key, itemId, idempotencyKey, delay, headers, after, afterUnknown } = description;
  const item: NamedItem = { key, itemId, idempotencyKey, delay, headers: headers && new Map(headers) };
  return { ...item, after, afterUnknown, payload: body.subarray(end) };
}

/** The CRC says that it is what was written; this, that it was written by a version that we can read. */
function isDescription(value: unknown): value is Description {
  if (typeof value !== 'object' || value === null) return false;
  const { key, itemId, idempotencyKey, delay, headers, after }: Record<keyof Description, unknown> = {
    key: undefined,
    itemId: undefined,
    idempotencyKey: undefined,
    delay: undefined,
    headers: undefined,
    after: undefined,
    afterUnknown: undefined,
    ...value,
  };
  const texts = [key, idempotencyKey].every((text) => text === undefined || typeof text === 'string');
  const isDelay = delay === undefined || typeof delay === 'number';
  const lists = [headers, after].every((list) => list === undefined || Array.isArray(list));
  return typeof itemId === 'string' && texts && isDelay && lists;
}
