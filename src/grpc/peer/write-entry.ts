import type { WireWriter } from '../session/codec/wire-writer.js';
import type { Lane } from './lane.js';
import { LARGE_BYTES } from './limits.js';

interface Lanes {
  readonly small: Lane;
  readonly large: Lane;
}

/**
 * Writes an entry: what is large takes the large lane. To be followed by `schedule` of the lane that is returned.
 * @throws as `write` does; then nothing is written
 */
export function writeEntry(lanes: Lanes, lane: Lane, write: (out: WireWriter) => void): Lane {
  const before = lane.out.length;
  try {
    write(lane.out);
  } catch (error) {
    lane.out.rewind(before);
    throw error;
  }
  return placed(lanes, lane, before);
}

/** The same for an entry that was written already. @param before how much had been written before it */
export function placed({ large }: Lanes, lane: Lane, before: number): Lane {
  if (lane === large || lane.out.length - before <= LARGE_BYTES) {
    lane.keepApart(before);
    return lane;
  }
  const entry = lane.out.cut(before);
  const start = large.out.length;
  large.out.append(entry);
  large.keepApart(start);
  return large;
}
