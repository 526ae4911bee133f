/** What shall become of a turn's items: what the handler returned or threw, read as a settling call. */
import { TextDecoder, TextEncoder, toUSVString } from 'node:util';
import { copied } from '../words/copied.js';
import { messageOf } from '../words/failure.js';
import { checkItem } from '../words/item-check.js';
import { headerPairs, LARGEST_MESSAGE, sizeOf } from '../words/item-size.js';
import { optionsNeeded, textNeeded, wrongSetting } from '../words/option-checks.js';
import { shown } from '../words/values.js';
import type { Bytes, ItemCall, NackKind } from '../words/worker-words.js';

export interface FollowUp {
  readonly queue: string;
  /** It gets an id if it has none. */
  readonly item: ItemCall;
}

export interface DoneOptions {
  /** Up to 1,000 items, submitted in the same step: the end of this turn and they, or neither. */
  readonly followUps?: readonly FollowUp[] | undefined;
}

const DONE = Symbol.for('@keyturn/client done');

/** What a handler returns that has follow-ups: made by {@link done}. */
export class Done {
  /** An application may have the client twice. */
  readonly [DONE] = true;

  private constructor(
    readonly value: unknown,
    readonly followUps: readonly FollowUp[],
  ) {}

  /** @throws KeyturnError (INVALID_ARGUMENT) that names what is wrong */
  static of(value: unknown, options: DoneOptions): Done {
    optionsNeeded('the options of done', options, { followUps: true });
    const { followUps = [] } = options;
    if (!Array.isArray(followUps)) throw wrongSetting(`followUps is ${shown(followUps)}; needed is an array`);
    if (value instanceof Promise) throw wrongSetting('the value of done is a promise; needed is what it resolves to');
    for (const [at, { queue, item }] of followUps.entries()) {
      textNeeded(`followUps[${at}].queue`, queue);
      checkItem(item, 'followUps', at, '.item');
    }
    return new Done(value, followUps);
  }
}

/**
 * The work is done, with more than a result: `return done(value, { followUps })`.
 *
 * @param value the result, as a handler returns it: bytes as they are, nothing as none, everything else as JSON
 * @throws KeyturnError (INVALID_ARGUMENT) that names the follow-up that is wrong
 */
export function done(value?: unknown, options: DoneOptions = {}): Done {
  return Done.of(value, options);
}

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

/** What the contract allows for a result, and of follow-ups. */
const LARGEST_RESULT = 1_048_576;
const MOST_FOLLOW_UPS = 1_000;

/**
 * @param handled what the handler returned
 * @param ignored gets the reason why a value has no result: JSON cannot say it
 * @throws DeadLetter for what can never be sent: another attempt would return the same
 */
export function verdictOf(handled: unknown, newId: () => string, ignored: (why: string) => void): Verdict {
  const { value, followUps } = isDone(handled) ? handled : { value: handled, followUps: [] };
  if (followUps.length > MOST_FOLLOW_UPS)
    throw new DeadLetter(`there are ${followUps.length} follow-ups; at most ${MOST_FOLLOW_UPS}`);
  const result = resultOf(value, ignored);
  const bytes = followUps.reduce((sum, { item }) => sum + sizeOf(item), result?.length ?? 0);
  if (result !== undefined && result.length > LARGEST_RESULT)
    throw new DeadLetter(`the result takes ${result.length} bytes; at most ${LARGEST_RESULT}`);
  if (bytes > LARGEST_MESSAGE)
    throw new DeadLetter(
      `the result and the follow-ups take ${bytes} bytes; at most ${LARGEST_MESSAGE} fit into one Ack`,
    );
  const own = followUps.map(({ queue, item }) => ({
    queue,
    item: { ...ownItem(item), itemId: item.itemId || newId() },
  }));
  return { call: 'ack', result, followUps: own };
}

function isDone(value: unknown): value is Done {
  return typeof value === 'object' && value !== null && DONE in value;
}

function resultOf(value: unknown, ignored: (why: string) => void): Bytes | undefined {
  if (value === undefined) return undefined;
  if (value instanceof Uint8Array) return copied(value);
  if (value instanceof ArrayBuffer) return copied(new Uint8Array(value));
  if (ArrayBuffer.isView(value)) return copied(new Uint8Array(value.buffer, value.byteOffset, value.byteLength));
  try {
    // Of a function or a symbol it makes nothing, whatever its type says.
    const json: string | undefined = JSON.stringify(value);
    if (json !== undefined) return new TextEncoder().encode(json);
    ignored(`JSON cannot say a ${typeof value}`);
  } catch (error) {
    ignored(messageOf(error));
  }
  return undefined;
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
