import { performance } from 'node:perf_hooks';

/** Time and chance as the client sees them: this file is the only source of both, so that a simulation can put its own in their place. */
export interface Clock {
  /** Monotonic, ms since an arbitrary origin, with fractions. */
  now(): number;
  /** Runs `task` once, not before `ms` have passed. Returns what calls it off. */
  after(ms: number, task: () => void): () => void;
  /** Runs `task` at the end of this turn of the event loop, when everything that is ready now has run. */
  soon(task: () => void): void;
  /**
   * Runs `task` when what runs now has ended, with all that its promises set off, before the event loop goes on. What is
   * written to HTTP/2 by then leaves at the end of this turn of the loop; what is written in setImmediate leaves at the
   * end of the next one, after the messages that are read there.
   */
  atEnd(task: () => void): void;
}

/** From 0 to below 1, evenly. */
export type Random = () => number;

/** A longer time-out, in setTimeout and in grpc-js, overflows and is over at once. */
export const LONGEST_TIMEOUT_MS = 2_147_483_647;

export const systemClock: Clock = {
  now: () => performance.now(),
  after(ms, task) {
    let left = Math.ceil(ms);
    let timer: NodeJS.Timeout;
    const arm = () => {
      const part = Math.min(left, LONGEST_TIMEOUT_MS);
      left -= part;
      timer = setTimeout(left > 0 ? arm : task, part);
    };
    arm();
    return () => clearTimeout(timer);
  },
  soon: (task) => void setImmediate(task),
  atEnd: (task) => process.nextTick(task),
};

export const systemRandom: Random = () => Math.random();

/** For grpc-js, which takes deadlines as instants of the wall clock and turns them back into durations at once. */
export function deadlineAfter(ms: number): number {
  return Date.now() + ms;
}
