/** What shall become of a turn's items: what the handler returned or threw, read as a settling call. */
import { TextDecoder, TextEncoder, toUSVString } from 'node:util';
import { copied } from '../words/copied.js';
import { messageOf } from '../words/failure.js';
import { checkItem } from '../words/item-check.js';
import { headerPairs } from '../words/item-size.js';
import { shown as shownValue } from '../words/values.js';
import type { Bytes, ItemCall, NackKind } from '../words/worker-words.js';

export interface FollowUp {
  readonly queue: string;
  /** It gets an id if it has none. */
  readonly item: ItemCall;
}

/** More than a result. */
export interface Outcome {
  /** For Await and for the items' idempotency keys, up to 1 MiB. */
  readonly result?: Bytes | undefined;
  /** Up to 1,000 items, submitted in the same step: the end of this turn and they, or neither. */
  readonly followUps?: readonly FollowUp[] | undefined;
}

/** What a handler may return: nothing, the result of the items, or more. */
// biome-ignore lint/suspicious/noConfusingVoidType: a function that is declared to return nothing is a handler too
export type Handled = Bytes | Outcome | undefined | void;

export interface GivenBackOptions extends ErrorOptions {
  /** How many items from the first are finished nevertheless. Unset: none. */
  readonly done?: number | undefined;
}

/** Thrown by a handler: what {@link consume} shall do with the items. Anything else that is thrown is a retry with the queue's back-off. */
abstract class GivenBack extends Error {
  abstract readonly kind: NackKind;
  readonly delay: number | undefined;
  readonly done: number;

  constructor(message: string, options: GivenBackOptions | undefined, delay?: number) {
    super(message, options);
    this.done = options?.done ?? 0;
    this.delay = delay;
  }
}

/** Try again, the attempt counts. */
export class RetryLater extends GivenBack {
  override readonly name = 'RetryLater';
  override readonly kind = 'retry';

  /** @param delay ms until then, up to 30 days; undefined: the queue's back-off */
  constructor(delay?: number, message = 'the handler asked for a retry', options?: GivenBackOptions) {
    super(message, options, delay);
  }
}

/** Never try again: the items become dead letters. */
export class DeadLetter extends GivenBack {
  override readonly name = 'DeadLetter';
  override readonly kind = 'dead_letter';

  constructor(message = 'the handler refused the item', options?: GivenBackOptions) {
    super(message, options);
  }
}

/** Give the items back for another worker: no attempt is counted, and there is no back-off. */
export class Release extends GivenBack {
  override readonly name = 'Release';
  override readonly kind = 'release';

  constructor(message = 'the handler released the item', options?: GivenBackOptions) {
    super(message, options);
  }
}

export type Verdict =
  | { readonly call: 'ack'; readonly result: Bytes | undefined; readonly followUps: readonly FollowUp[] }
  | {
      readonly call: 'nack';
      readonly kind: NackKind;
      readonly delay: number | undefined;
      readonly done: number;
      readonly error: string;
    };

/** @throws TypeError, or KeyturnError for an item, for what a handler may not return */
export function verdictOf(handled: Handled, newId: () => string): Verdict {
  if (handled === undefined) return { call: 'ack', result: undefined, followUps: [] };
  if (handled instanceof Uint8Array) return { call: 'ack', result: copied(handled), followUps: [] };
  if (!isOutcome(handled)) throw new TypeError(`the handler returned ${shown(handled)}; ${ALLOWED}`);
  if (handled.result !== undefined && !(handled.result instanceof Uint8Array))
    throw new TypeError(`the handler returned a result that is ${shownValue(handled.result)}; allowed are bytes`);
  const followUps = (handled.followUps ?? []).map(({ queue, item }, at) => {
    checkItem(item, 'followUps', at, '.item');
    return { queue, item: { ...ownItem(item), itemId: item.itemId || newId() } };
  });
  return { call: 'ack', result: handled.result && copied(handled.result), followUps };
}

/** The handler has ended, and may use again what it returned; the Ack may be sent once more. */
function ownItem({ payload, headers, after, ...rest }: ItemCall): ItemCall {
  return {
    ...rest,
    ...(payload === undefined ? {} : { payload: copied(payload) }),
    ...(headers === undefined ? {} : { headers: new Map(headerPairs(headers)) }),
    ...(after === undefined ? {} : { after: after.map((ref) => ({ ...ref })) }),
  };
}

const ALLOWED = 'allowed are nothing, bytes (the result), or an object of result and followUps';

/** A misspelt name would lose what it names. */
function isOutcome(value: unknown): value is Outcome {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  return Object.keys(value).every((name) => name === 'result' || name === 'followUps');
}

function shown(value: unknown): string {
  if (typeof value !== 'object' || value === null) return `${typeof value} ${String(value)}`;
  return Array.isArray(value) ? 'an array' : `an object of ${Object.keys(value).join(', ')}`;
}

/** @param items how many the turn has: `done` is never more */
export function verdictOnError(error: unknown, items: number): Verdict {
  if (error instanceof GivenBack) {
    const { kind, delay } = error;
    const done = Number.isSafeInteger(error.done) ? Math.min(Math.max(0, error.done), items) : 0;
    return { call: 'nack', kind, delay, done, error: shortened(messageOf(error)) };
  }
  return { call: 'nack', kind: 'retry', delay: undefined, done: 0, error: shortened(messageOf(error)) };
}

/** What a Nack may say, bytes of UTF-8. */
const LONGEST_ERROR = 8_192;

/** @param told any text; the sidecar would refuse one that is no Unicode */
export function shortened(told: string): string {
  const text = toUSVString(told);
  const bytes = new TextEncoder().encode(text);
  if (bytes.length <= LONGEST_ERROR) return text;
  // A character that is cut in two becomes a replacement character, which may be longer than what it replaces.
  const short = new TextDecoder().decode(bytes.subarray(0, LONGEST_ERROR - 2));
  return short.replace(/\uFFFD$/, '');
}
