/** What tests leave out when they make requests, items and settings: the same defaults as the calls on the wire. */

import type {
  AckRequest,
  AcquireRequest,
  CoordinatorSettings,
  DeQueueRequest,
  EnQueueRequest,
  HoldingBounds,
  Limits,
  ListQueuesRequest,
  NackRequest,
  NewItem,
  Policy,
} from '../../src/coordinator.js';
import { DEFAULT_LIMITS } from '../../src/core/contract/limits.js';
import { BUILT_IN_POLICY } from '../../src/core/contract/policy.js';

/** In one page. */
export const ALL_QUEUES: ListQueuesRequest = { nameContains: '', after: '', most: Number.POSITIVE_INFINITY };

export const QUEUE = 'q';
export const KEY = 'k';

/** The built-in policy with what the test is about; back-offs without chance, so that they can be compared. */
export function policy(change: Partial<Policy> = {}): Policy {
  return { ...BUILT_IN_POLICY, retry: { ...BUILT_IN_POLICY.retry, jitter: 'none' }, ...change };
}

export interface SettingsChange {
  readonly queues?: Readonly<Record<string, Partial<Policy>>>;
  /** Of the queues that are not named. */
  readonly defaultPolicy?: Partial<Policy>;
  readonly limits?: Partial<Limits>;
  readonly autoCreate?: boolean;
  readonly startupHold?: number;
  readonly perClient?: Partial<HoldingBounds>;
}

/** `q` is named unless the test names its own queues. */
export function settings(change: SettingsChange = {}): CoordinatorSettings {
  const queues = change.queues ?? { [QUEUE]: {} };
  return {
    defaultPolicy: policy(change.defaultPolicy),
    queues: new Map(Object.entries(queues).map(([name, part]) => [name, policy(part)])),
    autoCreate: change.autoCreate ?? true,
    startupHold: change.startupHold ?? 0,
    limits: { ...DEFAULT_LIMITS, ...change.limits },
    ...(change.perClient && { perClient: { turns: undefined, memoryBytes: undefined, ...change.perClient } }),
  };
}

export function enQueueRequest(change: Partial<EnQueueRequest> = {}): EnQueueRequest {
  return {
    queue: QUEUE,
    key: KEY,
    consumerId: 'worker',
    ticket: undefined,
    wait: undefined,
    maxWait: undefined,
    lease: undefined,
    idempotencyKey: undefined,
    ...change,
  };
}

export function deQueueRequest(change: Partial<DeQueueRequest> & Pick<DeQueueRequest, 'holder'>): DeQueueRequest {
  return { queue: QUEUE, key: KEY, abandoned: false, result: undefined, ...change };
}

export function newItem(change: Partial<NewItem> = {}): NewItem {
  return {
    key: KEY,
    payload: new Uint8Array(),
    headers: undefined,
    itemId: undefined,
    idempotencyKey: undefined,
    delay: 0,
    after: undefined,
    afterUnknown: 'refuse',
    ...change,
  };
}

export function acquireRequest(change: Partial<AcquireRequest> = {}): AcquireRequest {
  return {
    queues: [QUEUE],
    key: undefined,
    consumerId: 'worker',
    ticket: undefined,
    maxTurns: 1,
    maxItemsPerTurn: 1,
    wait: 0,
    lease: undefined,
    ...change,
  };
}

export function ackRequest(change: Partial<AckRequest> & Pick<AckRequest, 'token'>): AckRequest {
  return { queue: QUEUE, key: KEY, result: undefined, followUps: [], next: undefined, ...change };
}

export function nackRequest(change: Partial<NackRequest> & Pick<NackRequest, 'token'>): NackRequest {
  return { queue: QUEUE, key: KEY, kind: 'retry', delay: undefined, error: '', done: 0, ...change };
}

export function bytes(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}
