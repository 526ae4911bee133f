/** One Submit of a batch, and what it means for each item. */
import type { Base } from '../words/base.js';
import { KeyturnError } from '../words/errors.js';
import { failureOf } from '../words/failure.js';
import type { Durability, SubmitResult } from '../words/worker-words.js';
import type { NamedItem } from './spool/item-record.js';

export type HandedOver =
  /** One result for each, in order. */
  | { readonly kind: 'answered'; readonly results: readonly SubmitResult[] }
  /** These, by their index, will never be accepted; nothing of the others was. */
  | { readonly kind: 'some_refused'; readonly errors: ReadonlyMap<number, KeyturnError> }
  /** More than the queue can ever hold together. */
  | { readonly kind: 'too_many' }
  | { readonly kind: 'refused'; readonly error: unknown }
  /** Another try may do: nobody answered, and it may have been accepted; or there is no room now. */
  | { readonly kind: 'again'; readonly error: unknown };

interface HandOverSettings {
  /** ms until the sidecar is taken to be away, the wait for room not counted. */
  readonly timeout: number;
  /** ms, whole. */
  readonly waitForRoom: number;
  /** Unset: the queue's. */
  readonly durability: Durability | undefined;
  readonly signal?: AbortSignal | undefined;
}

/**
 * How long a Submit waits for room, ms: in a queue that is full for a moment room is told as soon as it is there. When it is
 * full for longer the sidecar says when to come again.
 */
export const WAIT_FOR_ROOM = 1_000;

export async function handOver(
  base: Base,
  queue: string,
  items: readonly NamedItem[],
  { timeout, waitForRoom, durability, signal }: HandOverSettings,
): Promise<HandedOver> {
  try {
    const { results } = await base.transport.submit(
      { queue, items, waitForRoom, durability },
      { timeout: timeout + waitForRoom, signal },
    );
    if (results.length === items.length) return { kind: 'answered', results };
    const what = `the answer has ${results.length} results for ${items.length} items`;
    return { kind: 'refused', error: new KeyturnError(what, 'INTERNAL', 'BAD_ANSWER') };
  } catch (error) {
    const failure = failureOf(error);
    if (failure === 'refused') return refusal(error, items.length);
    return { kind: 'again', error };
  }
}

const ITEM_FIELD = /^items\[(\d+)\]/;

function refusal(error: unknown, count: number): HandedOver {
  if (!(error instanceof KeyturnError) || error.code !== 'INVALID_ARGUMENT') return { kind: 'refused', error };
  const errors = new Map<number, KeyturnError>();
  for (const { field } of error.violations) {
    const index = Number(ITEM_FIELD.exec(field)?.[1] ?? Number.NaN);
    if (index < count) errors.set(index, forItem(error, index));
  }
  if (errors.size > 0) return { kind: 'some_refused', errors };
  const isTooMany = error.violations.some(({ field }) => field === 'items') && count > 1;
  return isTooMany ? { kind: 'too_many' } : { kind: 'refused', error };
}

/** Of a batch that was refused, what concerns one item. */
function forItem(error: KeyturnError, index: number): KeyturnError {
  const violations = error.violations.filter(({ field }) => Number(ITEM_FIELD.exec(field)?.[1]) === index);
  const told = violations.map(({ field, description }) => `${field}: ${description}`).join('; ');
  return new KeyturnError(told, error.code, error.reason, { ...error.details, violations });
}
