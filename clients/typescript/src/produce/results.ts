import { patiently } from '../retry/patience.js';
import { pause } from '../time/pause.js';
import type { Base } from '../words/base.js';
import { GRACE_MS } from '../words/calls.js';
import { KeyturnError } from '../words/errors.js';
import { numberWithin, optionalSignal, optionsNeeded, textNeeded } from '../words/option-checks.js';
import type { AwaitAnswer, Bytes, ItemState } from '../words/worker-words.js';

export interface ResultOptions {
  /** How long to wait for the item's end, ms; Infinity: for ever. Unset: 5 min. */
  readonly timeout?: number | undefined;
  /** Aborting ends the waiting, not the item. */
  readonly signal?: AbortSignal | undefined;
}

/** How an item can end, or be, without a result to come. */
export type FailedState = Extract<ItemState, 'dead' | 'discarded' | 'superseded' | 'unknown'>;

/** The item has no result and gets none. */
export class ItemFailedError extends Error {
  override readonly name = 'ItemFailedError';

  /**
   * @param lastError what the worker said, if it failed
   * @param attempt how many attempts there were
   */
  constructor(
    readonly queue: string,
    readonly itemId: string,
    readonly state: FailedState,
    readonly lastError: string | undefined,
    readonly attempt: number,
  ) {
    super(`item ${itemId} of queue ${queue} ${WHAT_HAPPENED[state]}${lastError === undefined ? '' : `: ${lastError}`}`);
  }
}

const WHAT_HAPPENED: Readonly<Record<FailedState, string>> = {
  dead: 'is a dead letter',
  discarded: 'was discarded',
  superseded: 'was superseded by a newer one',
  unknown: 'is not known, or was forgotten',
};

/** What each state means for the caller. */
const STATES: Readonly<Record<ItemState, 'open' | 'done' | FailedState>> = {
  waiting: 'open',
  in_flight: 'open',
  done: 'done',
  dead: 'dead',
  superseded: 'superseded',
  discarded: 'discarded',
  unknown: 'unknown',
};

const OPTIONS: Readonly<Record<keyof ResultOptions, true>> = { timeout: true, signal: true };
const LONGEST_CALL = 300_000;
const DEFAULT_TIMEOUT = 300_000;
const LEAST_BETWEEN = 50;
/** For the answer that the time is over, on its way, ms. */
const ANSWERING = 100;
/** How long an answer may take when the caller asks without waiting, ms. */
const LEAST_CALL = 1_000;

/**
 * The result of an item, whoever submitted it and wherever it is worked on: a future across processes. Known for the
 * queue's `result_ttl` after its end. An item that nobody submitted yet is unknown, which is told at once.
 *
 * @returns the result of its Ack; undefined when that had none
 * @throws ItemFailedError when no result can come; KeyturnError, DEADLINE_EXCEEDED, when the time is over first; the reason
 * of `signal`
 */
export async function result(
  base: Base,
  queue: string,
  itemId: string,
  options: ResultOptions = {},
): Promise<Bytes | undefined> {
  textNeeded('the queue', queue);
  textNeeded('the item id', itemId);
  optionsNeeded('the options of result', options, OPTIONS);
  const { timeout = DEFAULT_TIMEOUT, signal } = options;
  optionalSignal('signal', signal);
  numberWithin('timeout', timeout, 0, Infinity);
  const { clock } = base.transport;
  const until = clock.now() + timeout;
  for (;;) {
    signal?.throwIfAborted();
    const asked = clock.now();
    const answer = await ask(base, { queue, itemId, until, signal });
    const state = STATES[answer.state];
    if (state === 'done') return answer.result;
    if (state !== 'open') throw new ItemFailedError(queue, itemId, state, answer.error, answer.attempt);
    if (clock.now() >= until) throw tooLate(queue, itemId, timeout, answer);
    // The sidecar may answer early; it is not asked in a busy loop.
    const early = asked + LEAST_BETWEEN - clock.now();
    if (early > 0) await pause(clock, early, signal);
  }
}

interface Question {
  readonly queue: string;
  readonly itemId: string;
  readonly until: number;
  readonly signal: AbortSignal | undefined;
}

/** One part of the wait. A sidecar that is away is asked again until the time is over. */
async function ask(base: Base, { queue, itemId, until, signal }: Question): Promise<AwaitAnswer> {
  const { clock } = base.transport;
  try {
    return await patiently(base, { until, signal, bears: ['away'] }, () => {
      const left = Math.max(0, until - clock.now());
      const wait = Math.ceil(Math.min(left, LONGEST_CALL));
      // An answer at the very end says that it is still open, or nothing at all: both come to the same.
      const timeout = Math.max(LEAST_CALL, Math.min(left + ANSWERING, wait + GRACE_MS));
      return base.transport.awaitItem({ queue, itemId, wait }, { timeout, signal });
    });
  } catch (error) {
    signal?.throwIfAborted();
    throw error;
  }
}

function tooLate(queue: string, itemId: string, timeout: number, { state }: AwaitAnswer): KeyturnError {
  const what = `item ${itemId} of queue ${queue} is still ${state} after ${timeout} ms`;
  return new KeyturnError(what, 'DEADLINE_EXCEEDED');
}
