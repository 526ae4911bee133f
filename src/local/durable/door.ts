import type { CoordinatorSettings, NewItem, Policy, Refusal } from '../../coordinator.js';

/** When it is worth trying again, ms. */
const RETRY_AFTER = 1_000;

export function storeUnavailable(description: string, retryAfter = RETRY_AFTER): Refusal {
  return { kind: 'store_unavailable', description, retryAfter };
}

/** Whether anything of a queue with this policy is written. */
export function isDurable({ durable, durability }: Pick<Policy, 'durable' | 'durability'>): boolean {
  return durable && durability !== 'memory';
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
  /** Bytes of payloads that were let in since they were last {@link takeBytes taken}. */
  #bytes = 0;

  constructor(private readonly settings: CoordinatorSettings) {}

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

  /** What these carry is in the heap until it is on the disk. */
  letIn(queue: string, items: readonly NewItem[]): void {
    if (!this.isDurable(queue)) return;
    for (const { payload } of items) this.#bytes += payload.length;
  }

  get bytes(): number {
    return this.#bytes;
  }

  takeBytes(): number {
    const bytes = this.#bytes;
    this.#bytes = 0;
    return bytes;
  }

  isDurable(queue: string): boolean {
    return isDurable(this.settings.queues.get(queue) ?? this.settings.defaultPolicy);
  }
}
