/**
 * What no sidecar ever accepts, whatever its state and settings: the bounds of the contract, which settings can only lower.
 * Looked at where a promise is given before a sidecar has seen the item: what a spool confirms must be something that can be
 * handed over.
 */
import { Buffer } from 'node:buffer';
import { headerPairs } from './item-size.js';
import { wrongSetting } from './option-checks.js';
import { badRequest, shown } from './values.js';
import type { ItemCall } from './worker-words.js';

const QUEUE_NAME = /^[A-Za-z0-9._:/-]{1,128}$/;
const KEY_BYTES = 1_024;
const ID_BYTES = 256;
const PAYLOAD_BYTES = 1_048_576;
const HEADERS = 64;
const HEADER_BYTES = 8_192;
const AFTER = 100;
const LONGEST_DELAY = 2_592_000_000;

type Wrong = [field: string, description: string][];

/** @throws KeyturnError (INVALID_ARGUMENT) unless a queue can be called so */
export function possibleQueue(name: string): void {
  if (!QUEUE_NAME.test(name))
    throw wrongSetting(`the queue is ${shown(name)}; allowed are 1 to 128 characters of A-Z a-z 0-9 . _ : / -`);
}

/** @throws KeyturnError as the sidecar would: INVALID_ARGUMENT, naming each wrong field */
export function checkPossible(item: ItemCall, index: number): void {
  const { key, itemId, idempotencyKey, payload, headers, delay, after } = item;
  const wrong: Wrong = [];
  checkText(wrong, '.key', key, 0, KEY_BYTES);
  checkText(wrong, '.item_id', itemId, 0, ID_BYTES);
  checkText(wrong, '.idempotency_key', idempotencyKey, 0, ID_BYTES);
  if (payload !== undefined && payload.length > PAYLOAD_BYTES)
    wrong.push(['.payload', `${payload.length} bytes is not allowed; allowed: up to ${PAYLOAD_BYTES} bytes`]);
  if (headers !== undefined) checkHeaders(wrong, [...headerPairs(headers)]);
  if (delay !== undefined && delay > LONGEST_DELAY)
    wrong.push(['.delay', `${delay} ms is not allowed; allowed: 0 ms to ${LONGEST_DELAY} ms`]);
  if (after !== undefined && after.length > AFTER)
    wrong.push(['.after', `${after.length} entries is not allowed; allowed: 0 to ${AFTER}`]);
  for (const [at, ref] of (after ?? []).entries()) {
    if (!QUEUE_NAME.test(ref.queue)) wrong.push([`.after[${at}].queue`, `${shown(ref.queue)} is no name of a queue`]);
    checkText(wrong, `.after[${at}].item_id`, ref.itemId, 1, ID_BYTES);
  }
  if (wrong.length > 0) throw badRequest(wrong, `items[${index}]`);
}

function checkText(wrong: Wrong, field: string, text: string | undefined, least: number, most: number): void {
  const bytes = text === undefined ? least : Buffer.byteLength(text);
  if (bytes < least || bytes > most)
    wrong.push([field, `${bytes} bytes is not allowed; allowed: ${least} to ${most} bytes of UTF-8`]);
}

function checkHeaders(wrong: Wrong, headers: readonly (readonly [string, string])[]): void {
  if (headers.length > HEADERS)
    wrong.push(['.headers', `${headers.length} headers is not allowed; allowed: up to ${HEADERS}`]);
  let bytes = 0;
  for (const [name, value] of headers) bytes += Buffer.byteLength(name) + Buffer.byteLength(value);
  if (bytes > HEADER_BYTES)
    wrong.push(['.headers', `${bytes} bytes is not allowed; allowed: up to ${HEADER_BYTES} bytes together`]);
}
