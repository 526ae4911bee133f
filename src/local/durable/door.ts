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

  /** @param count told of every call that is turned away, by the durable queue that it names */
  constructor(
    private readonly isDurable: (queue: string) => boolean,
    private readonly count: (queue: string) => void,
  ) {}

  /** Why a call that touches this queue is not let in. */
  refusal(queue: string): Refusal | undefined {
    if (this.closed !== undefined) return this.closed;
    if (this.durableClosed === undefined || !this.isDurable(queue)) return undefined;
    this.count(queue);
    return this.durableClosed;
  }

  /** The same of several. `queueOf`: the queue of each. */
  refusalOfAny<T>(all: readonly T[], queueOf: (one: T) => string): Refusal | undefined {
    if (this.closed !== undefined || this.durableClosed === undefined) return this.closed;
    for (const one of all) {
      const queue = queueOf(one);
      if (this.isDurable(queue)) return this.refusal(queue);
    }
    return undefined;
  }
}
