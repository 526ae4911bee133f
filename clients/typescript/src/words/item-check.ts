/**
 * What can be said of an item before it is sent. The sidecar names each item that it refuses; but what cannot even be
 * written into a message would fail the whole batch, and it would not be known which item it was.
 */

import { ITEM } from './call-names.js';
import type { KeyturnError } from './errors.js';
import { LARGEST_MESSAGE, sizeOf } from './item-size.js';
import { noSuchName, unknownName } from './names.js';
import { badRequest, isText, shown } from './values.js';
import type { ItemCall } from './worker-words.js';

/**
 * @param index where it stands among those that are handed over with it
 * @returns the bytes that it takes in a message, at most
 * @throws KeyturnError as the sidecar would: INVALID_ARGUMENT, naming each wrong field
 */
export function checkedSize(item: ItemCall, index: number): number {
  checkItem(item, 'items', index);
  const size = sizeOf(item);
  if (size <= LARGEST_MESSAGE) return size;
  throw badRequest([['', `takes ${size} bytes, allowed are ${LARGEST_MESSAGE} with everything`]], `items[${index}]`);
}

/**
 * @param list the field of the call in which it stands, at `index`, `within` a field of that
 * @throws KeyturnError
 */
export function checkItem(item: ItemCall, list: string, index: number, within = ''): void {
  if (!isItem(item)) throw noItem(item, `${list}[${index}]${within}`);
  const wrong = wrongFields(item);
  if (wrong.length > 0) throw badRequest(wrong, `${list}[${index}]${within}`);
}

/** @throws KeyturnError when it is none, or has a name that there is not; its fields are not looked at */
export function itemNeeded(item: ItemCall, index: number): void {
  if (!isItem(item)) throw noItem(item, `items[${index}]`);
  const unknown = unknownName(item, ITEM);
  if (unknown !== undefined) throw badRequest([[`.${unknown}`, noSuchName(unknown, ITEM)]], `items[${index}]`);
}

/** A text, an array or bytes have nothing that an item has: each would be an empty one. */
function isItem(item: unknown): boolean {
  return typeof item === 'object' && item !== null && !Array.isArray(item) && !ArrayBuffer.isView(item);
}

function noItem(item: unknown, path: string): KeyturnError {
  return badRequest([['', `${shown(item)} is no item`]], path);
}

/** The types say the same; programs in JavaScript have none. */
function wrongFields(item: ItemCall): [string, string][] {
  const { key, itemId, idempotencyKey, payload, headers, delay, after, afterUnknown } = item;
  const wrong: [string, string][] = [];
  const unknown = unknownName(item, ITEM);
  if (unknown !== undefined) wrong.push([`.${unknown}`, noSuchName(unknown, ITEM)]);
  if (!isOptionalText(key)) wrong.push(['.key', noText(key)]);
  if (!isOptionalText(itemId)) wrong.push(['.item_id', noText(itemId)]);
  if (!isOptionalText(idempotencyKey)) wrong.push(['.idempotency_key', noText(idempotencyKey)]);
  if (payload !== undefined && !(payload instanceof Uint8Array))
    wrong.push(['.payload', `${shown(payload)} is no Uint8Array`]);
  if (!isHeaders(headers)) wrong.push(['.headers', 'is no Map and no plain object of texts']);
  if (delay !== undefined && !(Number.isFinite(delay) && delay >= 0))
    wrong.push(['.delay', `${shown(delay)} is no number of ms`]);
  if (!isRefs(after)) wrong.push(['.after', 'is no list of { queue, itemId }']);
  if (!AFTER_UNKNOWN.includes(afterUnknown))
    wrong.push(['.after_unknown', `${shown(afterUnknown)} is not refuse or wait`]);
  return wrong;
}

const AFTER_UNKNOWN: readonly unknown[] = [undefined, 'refuse', 'wait'] satisfies ItemCall['afterUnknown'][];

function isOptionalText(value: unknown): boolean {
  return value === undefined || isText(value);
}

function noText(value: unknown): string {
  return `${shown(value)} is no text in Unicode`;
}

export function isHeaders(headers: unknown): boolean {
  if (headers === undefined) return true;
  if (headers instanceof Map) return [...headers].every(([name, value]) => isText(name) && isText(value));
  return isPlain(headers) && Object.entries(headers).every(([name, value]) => isText(name) && isText(value));
}

/** An array, a Headers of fetch, or a class of somebody would be empty headers. */
function isPlain(value: unknown): value is object {
  if (typeof value !== 'object' || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

function isRefs(refs: unknown): boolean {
  return refs === undefined || (Array.isArray(refs) && refs.every(isRef));
}

function isRef(ref: unknown): boolean {
  if (typeof ref !== 'object' || ref === null) return false;
  const { queue, itemId }: { queue?: unknown; itemId?: unknown } = ref;
  return isText(queue) && isText(itemId);
}
