import type { Limits } from './limits.js';
import type { Policy } from './policy.js';

/** What a coordinator is given at its start. */
export interface CoordinatorSettings {
  /** The policy of queues that are not named. */
  readonly defaultPolicy: Policy;
  /** The named queues, each with its whole policy. */
  readonly queues: ReadonlyMap<string, Policy>;
  /** Make a queue that is not named on first use; else NOT_FOUND. */
  readonly autoCreate: boolean;
  /** New turns are kept back for this long after the start, ms. */
  readonly startupHold: number;
  readonly limits: Limits;
  /** `undefined`: no principal has a bound. */
  readonly perClient?: HoldingBounds | undefined;
}

/** What one principal may hold at one sidecar (`auth.per_client`). `undefined`: without a bound. */
export interface HoldingBounds {
  readonly turns: number | undefined;
  readonly memoryBytes: number | undefined;
}

/** How a server finds a client that is silent though its connection stands. Durations in ms. */
export interface SessionKeepalive {
  readonly every: number;
  readonly timeout: number;
}

export const BUILT_IN_KEEPALIVE: SessionKeepalive = Object.freeze({ every: 5_000, timeout: 5_000 });
