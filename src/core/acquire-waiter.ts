import type { DispatchTicket } from './dispatch-tickets.js';
import type { DeliveryAsker } from './effects.js';
import type { AcquireRequest, Delivery } from './model.js';
import type { Queue } from './queue.js';
import { Timer } from './timing-wheel.js';

/** A dispatch call that waits for its first turn. Its timer ends its wait. */
export class AcquireWaiter extends Timer {
  /** What this step gave it; empty between steps. */
  readonly basket: Delivery[] = [];
  constructor(
    readonly asker: DeliveryAsker,
    readonly request: AcquireRequest,
    /** It stands among the waiters of each of them. */
    readonly queues: readonly Queue[],
    readonly ticket: DispatchTicket | undefined,
    /** What the answer may still grow by. */
    public bytesLeft: number,
  ) {
    super();
  }
}
