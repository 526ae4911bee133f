import { Timer } from '../structures/timing-wheel.js';
import type { Queue } from './records.js';

/** Fires when nobody came for it: the partition has another home, or sends its parcel elsewhere. */
export class KeptRoom extends Timer {
  /** How many places the parcel needs in each queue. */
  entries: ReadonlyMap<Queue, number> = new Map();

  /** @param source the partition from which it comes */
  constructor(readonly source: number) {
    super();
  }

  get kind(): 'kept_room' {
    return 'kept_room';
  }
}
