import { Timer } from '../structures/timing-wheel.js';
import type { Queue } from './records.js';

/** What a partition is kept. Fires when nobody came for it, or when it has rested. */
export class KeptRoom extends Timer {
  /** Unset: it rests, and stands in no line. */
  claim: { readonly queue: Queue; readonly places: number; readonly since: number } | undefined = undefined;

  /** @param source the partition from which the parcel comes */
  constructor(readonly source: number) {
    super();
  }

  get kind(): 'kept_room' {
    return 'kept_room';
  }
}
