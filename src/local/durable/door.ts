import type { Refusal } from '../../coordinator.js';

/** When it is worth trying again, ms. */
const RETRY_AFTER = 1_000;

export function storeUnavailable(description: string, retryAfter = RETRY_AFTER): Refusal {
  return { kind: 'store_unavailable', description, retryAfter };
}

/**
 * Where calls are refused before they change anything: all of them while the coordinator is not ready, and those that
 * touch a durable queue while the disk does not take what is written.
 */
export class Door {
  /** Set: nobody gets in. */
  closed: Refusal | undefined;
  /** Set: nobody gets in who asks for a durable queue. */
  durableClosed: Refusal | undefined;

  constructor(private readonly isDurable: (queue: string) => boolean) {}

  /** Why a call that touches this queue is not let in. */
  refusal(queue: string): Refusal | undefined {
    if (this.closed !== undefined) return this.closed;
    return this.durableClosed !== undefined && this.isDurable(queue) ? this.durableClosed : undefined;
  }

  /** The same of several. `queueOf`: the queue of each. */
  refusalOfAny<T>(all: readonly T[], queueOf: (one: T) => string): Refusal | undefined {
    if (this.closed !== undefined || this.durableClosed === undefined) return this.closed;
    return all.some((one) => this.isDurable(queueOf(one))) ? this.durableClosed : undefined;
  }
}
