/** The policy of a queue (contract, sections 2 and 7): durations in ms, counts as numbers. */
import type { Durability } from './model.js';

export interface RatePolicy {
  /** Turns per second, above 0. */
  readonly perSecond: number;
  /** Turns that may start at once after a pause, at least 1. */
  readonly burst: number;
}

export interface RetryPolicy {
  readonly maxAttempts: number;
  /** Attempts that ended because the worker or its stream was silent. Unset: only `maxAttempts` bounds them. */
  readonly maxCrashes?: number | undefined;
  readonly initial: number;
  readonly factor: number;
  readonly max: number;
  readonly jitter: 'full' | 'none';
}

export interface Policy {
  /** Unset: a caller finds room only in an empty line, an item always. */
  readonly waitingPerKey: number | 'unlimited' | undefined;
  readonly whenFull: 'decline' | 'replace';
  readonly lease: number;
  readonly maxHold: number | undefined;
  /** A turn that is held for longer is told in the log; nothing else comes of it. */
  readonly slowHold: number | undefined;
  readonly wait: number;
  readonly onWaitTimeout: 'block' | 'take_over';
  readonly ticketTtl: number;
  readonly minInterval: number;
  readonly whenTooSoon: 'wait' | 'decline';
  readonly rate: RatePolicy | undefined;
  readonly maxInFlight: number | undefined;
  readonly retry: RetryPolicy;
  readonly onDeadLetter: 'skip' | 'park';
  readonly delivery: 'at_least_once' | 'at_most_once';
  /** 0: off. */
  readonly idempotencyTtl: number;
  readonly resultTtl: number;
  readonly maxWaiting: number;
  readonly maxDeadLetters: number;
  readonly maxRemembered: number;
  /** What is kept outlives a crash. Needs a data directory. */
  readonly durable: boolean;
  /** Means nothing unless `durable`; `memory` is as if it were not durable. */
  readonly durability: Durability;
  /** For `interval` and `count`: how long a change may wait to be written. */
  readonly flushInterval: number;
  /** For `count`: how many changes may wait to be written. */
  readonly flushCount: number;
  /** An item waits for one that became a dead letter: it becomes one too, or waits for it no more. */
  readonly onDependencyDead: 'dead' | 'run';
  /** In a cluster: queues of one group are decided about in one place. Unset: the queue's name. */
  readonly group: string | undefined;
  /** In a cluster: over so many partitions the queue is spread, by key. */
  readonly spread: number;
}

/** The built-in values. */
export const BUILT_IN_POLICY: Policy = Object.freeze({
  waitingPerKey: undefined,
  whenFull: 'decline',
  lease: 20_000,
  maxHold: undefined,
  slowHold: undefined,
  wait: 3_000,
  onWaitTimeout: 'block',
  ticketTtl: 10_000,
  minInterval: 0,
  whenTooSoon: 'wait',
  rate: undefined,
  maxInFlight: undefined,
  retry: Object.freeze({
    maxAttempts: 10,
    maxCrashes: undefined,
    initial: 1_000,
    factor: 2,
    max: 300_000,
    jitter: 'full',
  }),
  onDeadLetter: 'skip',
  delivery: 'at_least_once',
  idempotencyTtl: 0,
  resultTtl: 600_000,
  maxWaiting: 1_000_000,
  maxDeadLetters: 10_000,
  maxRemembered: 100_000,
  durable: false,
  durability: 'on_flush',
  flushInterval: 50,
  flushCount: 1_000,
  onDependencyDead: 'dead',
  group: undefined,
  spread: 1,
});

/** Whether a queue of this policy is kept on disk, if there is one to keep it on. */
export function isDurable({ durable, durability }: Policy): boolean {
  return durable && durability !== 'memory';
}
