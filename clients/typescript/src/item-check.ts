/**
 * What can be said of an item before it is sent. The sidecar names each item that it refuses; but what cannot even be
 * written into a message would take the whole batch down, and nobody could say which item it was.
 */
import { toUSVString } from 'node:util';
import { type FieldViolation, KeyturnError, NO_DETAILS } from './errors.js';
import { LARGEST_MESSAGE, sizeOf } from './item-size.js';
import type { ItemCall } from './words.js';

/**
 * @param index where it stands among those that are handed over with it
 * @returns the bytes that it takes in a message, at most
 * @throws KeyturnError as the sidecar would: INVALID_ARGUMENT, naming each wrong field
 */
export function checkedSize(item: ItemCall, index: number): number {
  const wrong = wrongFields(item);
  const size = wrong.length > 0 ? 0 : sizeOf(item);
  if (size > LARGEST_MESSAGE) wrong.push(['', `takes ${size} bytes, allowed are ${LARGEST_MESSAGE} with everything`]);
  if (wrong.length === 0) return size;
  const violations: readonly FieldViolation[] = wrong.map(([field, description]) => ({
    field: `items[${index}]${field}`,
    description,
  }));
  const told = violations.map(({ field, description }) => `${field}: ${description}`).join('; ');
  throw new KeyturnError(told, 'INVALID_ARGUMENT', 'BAD_REQUEST', { ...NO_DETAILS, violations });
}

/** The types say the same; programs in JavaScript have none. */
function wrongFields(item: ItemCall): [string, string][] {
  const { key, itemId, idempotencyKey, payload, headers, delay, after, afterUnknown } = item;
  const wrong: [string, string][] = [];
  if (!isText(key)) wrong.push(['.key', noText(key)]);
  if (!isText(itemId)) wrong.push(['.item_id', noText(itemId)]);
  if (!isText(idempotencyKey)) wrong.push(['.idempotency_key', noText(idempotencyKey)]);
  if (payload !== undefined && !(payload instanceof Uint8Array))
    wrong.push(['.payload', `${shown(payload)} is no Uint8Array`]);
  if (!isHeaders(headers)) wrong.push(['.headers', 'is no Map of texts']);
  if (delay !== undefined && !(Number.isFinite(delay) && delay >= 0))
    wrong.push(['.delay', `${shown(delay)} is no number of ms`]);
  if (!isRefs(after)) wrong.push(['.after', 'is no list of { queue, itemId }']);
  if (!AFTER_UNKNOWN.includes(afterUnknown))
    wrong.push(['.after_unknown', `${shown(afterUnknown)} is not refuse or wait`]);
  return wrong;
}

const AFTER_UNKNOWN: readonly unknown[] = [undefined, 'refuse', 'wait'] satisfies ItemCall['afterUnknown'][];

/** Half of a surrogate pair would be replaced on the way, and different keys would become equal. */
function isText(text: unknown): boolean {
  return text === undefined || (typeof text === 'string' && toUSVString(text) === text);
}

function noText(value: unknown): string {
  return `${shown(value)} is no text in Unicode`;
}

function isHeaders(headers: unknown): boolean {
  if (headers === undefined) return true;
  return (
    headers instanceof Map &&
    [...headers].every(
      ([name, value]) => typeof name === 'string' && typeof value === 'string' && isText(name) && isText(value),
    )
  );
}

function isRefs(refs: unknown): boolean {
  return refs === undefined || (Array.isArray(refs) && refs.every(isRef));
}

function isRef(ref: unknown): boolean {
  if (typeof ref !== 'object' || ref === null) return false;
  const { queue, itemId }: { queue?: unknown; itemId?: unknown } = ref;
  return typeof queue === 'string' && typeof itemId === 'string' && isText(queue) && isText(itemId);
}

function shown(value: unknown): string {
  return typeof value === 'string' || typeof value === 'number' ? JSON.stringify(value) : `of type ${typeof value}`;
}
