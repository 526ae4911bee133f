import { patiently } from '../retry/patience.js';
import type { Base } from '../words/base.js';
import { GRACE_MS } from '../words/calls.js';
import { KeyturnError } from '../words/errors.js';
import type { Failure } from '../words/failure.js';
import { messageOf } from '../words/failure.js';
import { namedItem } from '../words/ids.js';
import { checkedSize, itemNeeded } from '../words/item-check.js';
import { LARGEST_MESSAGE, MOST_ITEMS } from '../words/item-size.js';
import {
  numberWithin,
  optionalSignal,
  optionsNeeded,
  textNeeded,
  wordWithin,
  wrongSetting,
} from '../words/option-checks.js';
import { shown } from '../words/values.js';
import { DURABILITIES, type Durability, type ItemCall, type SubmitResult } from '../words/worker-words.js';

export interface SubmitOptions {
  /** How long to wait for room in a full queue, ms, up to 5 min. Unset: 0. */
  readonly waitForRoom?: number | undefined;
  /** What has happened when an item is accepted. Unset: as the queue has it. Refused if the queue cannot give it. */
  readonly durability?: Durability | undefined;
  /**
   * How long to go on trying when the sidecar is away, ms, for each message of up to 1,000 items. Unset: 10 s and
   * `waitForRoom`.
   */
  readonly timeout?: number | undefined;
  /** Aborting ends the call; what was sent by then may have been accepted. */
  readonly signal?: AbortSignal | undefined;
}

/** Some messages of a {@link submitMany} were accepted before one failed, `cause`. */
export class SubmitManyError extends Error {
  override readonly name = 'SubmitManyError';

  /**
   * @param results of the first items, in order: these are settled
   * @param rest the items after them, with their ids, of which a first part may have been accepted: sending them again is safe
   */
  constructor(
    cause: unknown,
    readonly results: readonly SubmitResult[],
    readonly rest: readonly ItemCall[],
  ) {
    super(`${results.length} items were handed over, ${rest.length} were not: ${messageOf(cause)}`, { cause });
  }
}

/** A Submit that failed so may be sent again. */
const BEARS: readonly Failure[] = ['away'];
const LONGEST_WAIT = 300_000;
const OPTIONS: Readonly<Record<keyof SubmitOptions, true>> = {
  waitForRoom: true,
  durability: true,
  timeout: true,
  signal: true,
};

/**
 * Hands one item over. It gets an id if it has none, the same on every try, so that a lost answer makes no second item.
 *
 * @throws KeyturnError; the reason of `signal`
 */
export async function submit(
  base: Base,
  queue: string,
  item: ItemCall,
  options: SubmitOptions = {},
): Promise<SubmitResult> {
  check(queue, options);
  const named = withId(base, item);
  checkedSize(named, 0);
  const [result] = await send(base, queue, [named], options);
  if (result === undefined) throw new KeyturnError('the answer has no result', 'INTERNAL', 'BAD_ANSWER');
  return result;
}

/**
 * Hands items over in order, in as many messages as it takes. Each message is accepted as a whole or not at all, and none
 * is sent before the one before it was.
 *
 * @returns one result per item, in order
 * @throws SubmitManyError
 */
export async function submitMany(
  base: Base,
  queue: string,
  items: Iterable<ItemCall>,
  options: SubmitOptions = {},
): Promise<readonly SubmitResult[]> {
  check(queue, options);
  const named = Array.from(iterable(items), (item, at) => withId(base, item, at));
  const results: SubmitResult[] = [];
  try {
    for (const message of messagesOf(named)) {
      options.signal?.throwIfAborted();
      for (const result of await send(base, queue, message, options)) results.push(result);
    }
  } catch (error) {
    throw new SubmitManyError(error, results, named.slice(results.length));
  }
  return results;
}

/** @throws KeyturnError when it is no item */
export function withId(base: Base, item: ItemCall, index = 0): ItemCall & { readonly itemId: string } {
  itemNeeded(item, index);
  // An empty one is none: the sidecar would make one, another for each try.
  const named = namedItem(item, item.itemId || base.newId());
  return base.tracing === undefined ? named : base.tracing.stamped(named);
}

function check(queue: string, options: SubmitOptions): void {
  textNeeded('the queue', queue);
  optionsNeeded('the options of submit', options, OPTIONS);
  const { waitForRoom, durability, timeout, signal } = options;
  optionalSignal('signal', signal);
  wordWithin('durability', durability, DURABILITIES);
  if (waitForRoom !== undefined) numberWithin('waitForRoom', waitForRoom, 0, LONGEST_WAIT);
  if (timeout !== undefined) numberWithin('timeout', timeout, 1, Infinity);
}

/** A text can be gone through too, character by character. */
function iterable(items: Iterable<ItemCall>): Iterable<ItemCall> {
  if (typeof items === 'object' && items !== null && Symbol.iterator in items) return items;
  throw wrongSetting(`the items are ${shown(items)}; needed is an array, or something else to go through`);
}

/** Cuts at 1,000 items and below the size of a message. All items are looked at before the first is sent. */
function messagesOf(items: readonly ItemCall[]): readonly (readonly ItemCall[])[] {
  const messages: ItemCall[][] = [];
  let open: ItemCall[] | undefined;
  let bytes = 0;
  for (const [index, item] of items.entries()) {
    const size = checkedSize(item, index);
    if (open === undefined || open.length === MOST_ITEMS || bytes + size > LARGEST_MESSAGE) {
      open = [];
      messages.push(open);
      bytes = 0;
    }
    open.push(item);
    bytes += size;
  }
  return messages;
}

async function send(
  base: Base,
  queue: string,
  items: readonly ItemCall[],
  { waitForRoom = 0, durability, timeout, signal }: SubmitOptions,
): Promise<readonly SubmitResult[]> {
  const until = base.transport.clock.now() + (timeout ?? waitForRoom + GRACE_MS);
  const { results } = await patiently(base, { until, signal, bears: BEARS }, (left) =>
    base.transport.submit({ queue, items, waitForRoom, durability }, { timeout: left, signal }),
  ).catch((error: unknown) => {
    signal?.throwIfAborted();
    throw error;
  });
  if (results.length === items.length) return results;
  const what = `the answer has ${results.length} results for ${items.length} items`;
  throw new KeyturnError(what, 'INTERNAL', 'BAD_ANSWER');
}
