import type { Refusal } from '../../coordinator.js';
import type { Gate } from '../gate.js';

/** When it is worth trying again, ms. */
const RETRY_AFTER = 1_000;

export function storeUnavailable(description: string, retryAfter = RETRY_AFTER): Refusal {
  return { kind: 'store_unavailable', description, retryAfter };
}

/** Answers that wait for the disk. With more, a call that would add to them is refused. */
const MOST_HELD = 200_000;
const TOO_MUCH = storeUnavailable('the disk is behind: too many answers wait for it');

/**
 * Whether calls are taken. A call is refused before it changes anything: every call while the coordinator is not ready, and
 * one that touches a durable queue while the disk does not take what is written.
 */
export class Availability {
  /** Set: this is not the home now, and every call is refused with it. */
  shut: Refusal | undefined;
  #closed: Refusal | undefined;
  /** Set: calls that touch a durable queue are refused with it. */
  durableClosed: Refusal | undefined;

  /** @param count counts a call that is refused, by the durable queue that it names */
  constructor(
    private readonly isDurable: (queue: string) => boolean,
    private readonly count: (queue: string) => void,
    private readonly gate?: Gate,
  ) {}

  /**
   * Set: every call is refused with it. The gate is asked first: a deadline may have passed that nothing has noticed yet, and a
   * call that is let in then would be a step of a time that is over.
   */
  get closed(): Refusal | undefined {
    this.gate?.mayAnswer();
    return this.shut ?? this.#closed;
  }

  set closed(refusal: Refusal | undefined) {
    this.#closed = refusal;
  }

  /**
   * @param trouble why the disk takes nothing; unset: it takes what is written
   * @param held answers that wait for the disk
   */
  ofDurable(trouble: Refusal | undefined, held: number): void {
    this.durableClosed = trouble ?? (held > MOST_HELD ? TOO_MUCH : undefined);
  }

  /** Why a call that touches this queue is refused; undefined: it is taken. */
  refusal(queue: string): Refusal | undefined {
    const { closed } = this;
    if (closed !== undefined) return closed;
    if (this.durableClosed === undefined || !this.isDurable(queue)) return undefined;
    this.count(queue);
    return this.durableClosed;
  }

  /** The same for a call that touches several queues. `queueOf`: the queue of each. */
  refusalOfAny<T>(all: readonly T[], queueOf: (one: T) => string): Refusal | undefined {
    const { closed } = this;
    if (closed !== undefined || this.durableClosed === undefined) return closed;
    for (const one of all) {
      const queue = queueOf(one);
      if (this.isDurable(queue)) return this.refusal(queue);
    }
    return undefined;
  }
}
