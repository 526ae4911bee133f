import { Timer } from '../structures/timing-wheel.js';
import type { Queue } from './records.js';

/** Fires when nobody came for it: the partition has another home, or sends its parcel elsewhere. */
export class KeptRoom extends Timer {
  /** @param entries how many places the parcel needs @param source the partition from which it comes */
  constructor(
    readonly queue: Queue,
    readonly source: number,
    readonly entries: number,
  ) {
    super();
  }

  get kind(): 'kept_room' {
    return 'kept_room';
  }
}
