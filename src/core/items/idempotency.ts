/**
 * Idempotency keys that are done, remembered for each pair of key and idempotency key for `idempotency_ttl`; with 0
 * nothing is remembered. At most `max_remembered` are kept in a queue, the least recently used goes first.
 */

import type { Queue } from '../state/records.js';
import type { CoreState } from '../state/state.js';
import type { DoneKey } from '../structures/retention-cache.js';

/** S634: one warning for keys that do nothing. To be called where callers and items arrive. */
export function noteUnusedKey(state: CoreState, queue: Queue, idempotencyKey: string | undefined): void {
  if (idempotencyKey === undefined || queue.policy.idempotencyTtl > 0 || queue.toldUnusedKey) return;
  queue.toldUnusedKey = true;
  state.effects.push({ kind: 'unused_key', queue: queue.name }, false);
}

/** What is remembered of an idempotency key of (queue, key), if it is done. It counts as a use. */
export function recallKey(
  queue: Queue,
  key: string,
  idempotencyKey: string | undefined,
  now: number,
): DoneKey | undefined {
  if (idempotencyKey === undefined || queue.policy.idempotencyTtl === 0) return undefined;
  return queue.doneKeys.recall(name(key, idempotencyKey), now);
}

/** The key is done from now on, or again: its time starts anew, and its result is the new one. */
export function markKeyDone(queue: Queue, key: string, idempotencyKey: string, done: DoneKey, now: number): void {
  const { idempotencyTtl } = queue.policy;
  if (idempotencyTtl === 0) return;
  const id = name(key, idempotencyKey);
  queue.doneKeys.set(id, done, now + idempotencyTtl, done.result?.length ?? 0);
  queue.changes?.keyDone(queue, id);
}

/** As {@link markKeyDone}, of an item that did the key before. What another item did since keeps its own result. */
export function amendKey(
  queue: Queue,
  key: string,
  idempotencyKey: string,
  done: DoneKey & { readonly by: number },
  now: number,
): void {
  const known = recallKey(queue, key, idempotencyKey, now);
  if ((known?.by ?? done.by) === done.by) markKeyDone(queue, key, idempotencyKey, done, now);
}

/** It turned out not to be done after all: the worker never got the item. What another item did stays done. */
export function unmarkKeyDone(queue: Queue, key: string, idempotencyKey: string, by: number): void {
  const id = name(key, idempotencyKey);
  if ((queue.doneKeys.peek(id)?.value.by ?? by) === by) queue.doneKeys.delete(id);
}

/** The length keeps pairs apart that read the same when joined. */
export function name(key: string, idempotencyKey: string): string {
  return `${key.length}:${key}${idempotencyKey}`;
}

/** The pair again. */
export function partsOf(id: string): { readonly key: string; readonly idempotencyKey: string } {
  const colon = id.indexOf(':');
  const end = colon + 1 + Number(id.slice(0, colon));
  return { key: id.slice(colon + 1, end), idempotencyKey: id.slice(end) };
}
