import type { AcquireRequest } from '../contract/model.js';
import { Timer } from '../structures/timing-wheel.js';
import type { DispatchTicket } from './dispatch-tickets.js';
import type { DeliveryAsker } from './effects.js';
import type { Queue } from './queue.js';

/** A dispatch call that waits for its first turn. Its timer ends its wait. */
export class AcquireWaiter extends Timer {
  constructor(
    readonly asker: DeliveryAsker,
    readonly request: AcquireRequest,
    /** It stands among the waiters of each of them. */
    readonly queues: readonly Queue[],
    readonly ticket: DispatchTicket | undefined,
  ) {
    super();
  }
}
