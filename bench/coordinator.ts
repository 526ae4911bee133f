import type { CoordinatorSettings, EnQueueAnswer, EnQueueRequest, NewItem, Policy, Reply } from '../src/coordinator.js';
import { DEFAULT_LIMITS } from '../src/core/contract/limits.js';
import { BUILT_IN_POLICY } from '../src/core/contract/policy.js';
import { LocalCoordinator } from '../src/local/coordinator.js';

/** A coordinator as a server makes it, with the built-in values but for `policy`. */
export function startCoordinator(policy: Partial<Policy> = {}): LocalCoordinator {
  const settings: CoordinatorSettings = {
    defaultPolicy: { ...BUILT_IN_POLICY, ...policy },
    queues: new Map(),
    autoCreate: true,
    startupHold: 0,
    limits: DEFAULT_LIMITS,
  };
  return new LocalCoordinator(settings);
}

export const QUEUE = 'bench';

/** A lease that does not end during a row, ms. */
export const HOUR = 3_600_000;

/** A new request each time, as from a wire. */
export function enQueueRequest(key: string, lease?: number): EnQueueRequest {
  return {
    queue: QUEUE,
    key,
    consumerId: 'worker-1',
    ticket: undefined,
    wait: 0,
    maxWait: undefined,
    lease,
    idempotencyKey: undefined,
  };
}

const PAYLOAD = new Uint8Array(0);

/** An item without payload, whose id the server makes. */
export function newItem(key: string): NewItem {
  return {
    key,
    payload: PAYLOAD,
    headers: undefined,
    itemId: undefined,
    idempotencyKey: undefined,
    delay: 0,
    after: undefined,
    afterUnknown: 'refuse',
  };
}

/** Keeps the token of the last turn it was given; anything else fails the row. */
export class TokenReply implements Reply<EnQueueAnswer> {
  token = 0;

  answer(value: EnQueueAnswer): boolean {
    if (value.decision !== 'accept') throw new Error(`expected a turn, got ${value.decision}`);
    this.token = value.turn.token;
    return true;
  }

  refuse(refusal: { readonly kind: string }): void {
    throw new Error(`refused: ${refusal.kind}`);
  }
}

/** Does nothing with its answer. A refusal fails the row. */
export const IGNORE: Reply<unknown> = {
  answer: () => true,
  refuse(refusal) {
    throw new Error(`refused: ${refusal.kind}`);
  },
};

export function makeKeys(count: number): string[] {
  return Array.from({ length: count }, (_, index) => keyOf(index));
}

/** A string in one piece: a concatenation would be flattened, and change its size, on its first use as a key. */
export function keyOf(index: number): string {
  return Buffer.from(`customer-${index}`).toString('latin1');
}
