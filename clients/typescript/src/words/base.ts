/** What everything above the raw calls stands on. Tests and simulations put their own in its place. */

import type { Random } from '../time/clock.js';
import type { Transport } from './calls.js';
import type { Logger } from './logger.js';
import type { Tracing } from './tracing.js';

export interface Base {
  readonly transport: Transport;
  readonly random: Random;
  /** A new id for a ticket or an item: never the same twice, in no process. */
  newId(): string;
  /** Unset: nobody is told. */
  readonly log?: Logger | undefined;
  /** Unset: nobody traces. */
  readonly tracing?: Tracing | undefined;
}
