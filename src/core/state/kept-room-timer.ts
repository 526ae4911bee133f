import { Timer } from '../structures/timing-wheel.js';
import type { Queue } from './records.js';

/** A partition whose parcel was refused, because the queue is full. */
interface Claim {
  /** That the parcel needs. */
  readonly places: number;
  /** When it was refused last. */
  readonly at: number;
}

/** A partition for which places were kept in vain. */
interface Failure {
  readonly times: number;
  /** It stands in no line until then. */
  readonly until: number;
}

/**
 * Who comes again to one queue, and what is kept for the first of them. Fires when that one was silent for too long, at the end of a
 * rest, and when nobody has come for a while.
 */
export class KeptRoom extends Timer {
  /** By the partitions they come from; the first one is the one for which places are kept. */
  readonly line = new Map<number, Claim>();
  readonly failed = new Map<number, Failure>();
  /** Places that are kept. 0 while it rests, and when nobody is in the line. */
  places = 0;
  /** Places that came free for those who wait here for room: no parcel takes them. 0 while it rests. */
  others = 0;
  /** The next place that comes free is theirs who ask all the time. */
  isTurnOfOthers = false;
  /** What comes free next has somebody already. */
  isReplaced = false;
  /** A place came free since {@link movedAt}, and was needed. */
  hasMoved = false;
  /** When that was last seen. */
  movedAt = 0;
  /** Nothing is kept: it led to nothing. */
  rests = false;

  constructor(readonly queue: Queue) {
    super();
  }

  get kind(): 'kept_room' {
    return 'kept_room';
  }

  get first(): number | undefined {
    return this.line.keys().next().value;
  }
}
