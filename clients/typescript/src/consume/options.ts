import {
  countWithin,
  functionNeeded,
  numberWithin,
  optionalSignal,
  optionalText,
  optionsNeeded,
  textNeeded,
  wrongSetting,
} from '../words/option-checks.js';
import { shown } from '../words/values.js';
import type { DeliveredItem } from '../words/worker-words.js';

/** A turn with its items, as a handler gets it. */
export interface Work {
  readonly queue: string;
  /** Empty for a keyless item. */
  readonly key: string;
  /** Grows with every turn of the key: let what you write to refuse a smaller one of the same key. */
  readonly token: number;
  /** Which try of the first item this is, from 1. */
  readonly attempt: number;
  /** Consecutive items of the key, in order; at least one. */
  readonly items: readonly DeliveredItem[];
  /** The first of them; with `maxItemsPerTurn: 1` the only one. */
  readonly item: DeliveredItem;
  /** Aborts when the turn is lost, after `maxHold`, and when a stop runs out of time. Stop then: hand it on to what you call. */
  readonly signal: AbortSignal;
}

/**
 * What it returns is the result of the items: bytes as they are, nothing (`undefined`) as none, everything else as JSON; with
 * follow-ups, `done(value, { followUps })`. A promise is waited for.
 */
export type WorkHandler = (work: Work) => unknown;

/** Where something went wrong. */
export type Stage =
  /** No turns could be taken; it is tried again. */
  | 'acquire'
  /** The handler threw; the items are given back. */
  | 'handler'
  /** The turn was lost before it could be settled: the items are somebody else's. */
  | 'turn_lost'
  /** The turn could not be settled: it ends with its lease or its session. */
  | 'settle'
  /** Items became dead letters: nobody works on them any more until they are redriven. */
  | 'dead_letter'
  /** A stop ran out of time and cut the handler off: its items go back without counting an attempt, unless its turn was lost. */
  | 'stop';

export interface Trouble {
  readonly stage: Stage;
  /** Of which work; unset for `acquire`. */
  readonly work: Work | undefined;
}

export interface ConsumeOptions {
  /** The most turns at once, 1 to 10,000. Default 1. */
  readonly concurrency?: number | undefined;
  /** The most items of one key in one turn, 1 to 1,000. Default 1. */
  readonly maxItemsPerTurn?: number | undefined;
  /** How long one Acquire waits for work, ms, 100 to 5 min. Default 30 s. */
  readonly wait?: number | undefined;
  /** How long turns live without being renewed, ms, 100 to 24 h. Unset: kept by the session, else the queue's `lease`. */
  readonly lease?: number | undefined;
  /** How long a handler may take before its signal aborts (TimeoutError), ms. Unset: no limit. */
  readonly maxHold?: number | undefined;
  /** How long Ack and Nack are tried again while the sidecar is away or full, ms. Default 30 s. */
  readonly settleTimeout?: number | undefined;
  /** Who asks, for people who look. Unset: the client's. */
  readonly consumerId?: string | undefined;
  /** Aborting is the same as {@link Consumer.stop}. */
  readonly signal?: AbortSignal | undefined;
  /** Called for everything that goes wrong and does not end the consumer. An error that it throws is a warning in the log. */
  readonly onError?: ((error: unknown, trouble: Trouble) => void) | undefined;
}

/** With every default filled in. */
export interface ConsumeSettings {
  readonly queues: readonly string[];
  readonly concurrency: number;
  readonly maxItemsPerTurn: number;
  readonly wait: number;
  readonly lease: number | undefined;
  readonly maxHold: number | undefined;
  readonly settleTimeout: number;
  readonly consumerId: string | undefined;
  readonly onError: (error: unknown, trouble: Trouble) => void;
}

const LONGEST_WAIT = 300_000;
const LONGEST_LEASE = 86_400_000;
const OPTIONS: Readonly<Record<keyof ConsumeOptions, true>> = {
  concurrency: true,
  maxItemsPerTurn: true,
  wait: true,
  lease: true,
  maxHold: true,
  settleTimeout: true,
  consumerId: true,
  signal: true,
  onError: true,
};

/** @throws KeyturnError (INVALID_ARGUMENT) naming what is wrong */
export function settingsOf(queues: string | readonly string[], options: ConsumeOptions): ConsumeSettings {
  const names = typeof queues === 'string' ? [queues] : queues;
  if (!Array.isArray(names))
    throw wrongSetting(`the queues are ${shown(names)}; needed is a name, or an array of names`);
  countWithin('the number of queues', names.length, 1, 100);
  for (const name of names) textNeeded('a queue', name);
  optionsNeeded('the options of consume', options, OPTIONS);
  const { concurrency = 1, maxItemsPerTurn = 1, wait = 30_000, settleTimeout = 30_000, lease, maxHold } = options;
  countWithin('concurrency', concurrency, 1, 10_000);
  countWithin('maxItemsPerTurn', maxItemsPerTurn, 1, 1_000);
  numberWithin('wait', wait, 100, LONGEST_WAIT);
  numberWithin('settleTimeout', settleTimeout, 1, LONGEST_LEASE);
  if (lease !== undefined) numberWithin('lease', lease, 100, LONGEST_LEASE);
  if (maxHold !== undefined) numberWithin('maxHold', maxHold, 1, Infinity);
  const { onError = () => undefined, consumerId } = options;
  functionNeeded('onError', onError);
  optionalText('consumerId', consumerId);
  optionalSignal('signal', options.signal);
  const common = { concurrency, maxItemsPerTurn, wait, lease, maxHold, settleTimeout, consumerId, onError };
  return { queues: [...new Set(names)], ...common };
}
