/** What a lane is doing while nobody holds it. */

import type { DelayCause } from '../contract/views.js';

export interface Init {
  readonly at: 'INIT';
}

/** The head could start. The lane stands in a ready list of its queue. */
export interface Ready {
  readonly at: 'READY';
  readonly since: number;
  /** It was so before the start: `since` is the earliest moment at which it may have begun. */
  readonly fromBefore?: boolean;
  /** Order in which lanes became ready, over all queues. */
  readonly order: number;
  /** A caller waits for a gate, an item for a worker. */
  readonly waitsFor: 'gate' | 'worker';
}

/** Nobody may start before the lane's `due`. */
export interface Delay {
  readonly at: 'DELAY';
  readonly since: number;
  /** As that of {@link Ready}. */
  readonly fromBefore?: boolean;
  readonly because: DelayCause;
}

/** Stopped until somebody resumes it. */
export interface Park {
  readonly at: 'PARK';
  readonly since: number;
  readonly because: 'dead_letter' | 'no_room';
  readonly itemId: string;
}

export const INIT: Init = Object.freeze({ at: 'INIT' });
