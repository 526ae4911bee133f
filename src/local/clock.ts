import { performance } from 'node:perf_hooks';

/** Time as the loop sees it. The only source of time in the embedded coordinator; tests put their own in its place. */
export interface Clock {
  /** Monotonic, ms since an arbitrary origin, with fractions. */
  now(): number;
  /** The wall clock, ms since the Unix epoch. It may step; nothing is decided by it but the first token, and that a member of a cluster stays quiet. */
  wall(): number;
  /** Runs `task` once, not before `ms` have passed. Returns what calls it off. */
  after(ms: number, task: () => void): () => void;
  /** Runs `task` in the next turn of the event loop. */
  soon(task: () => void): void;
}

/** setTimeout overflows to "at once" above this. */
const LONGEST_TIMEOUT = 2_147_483_647;

export const systemClock: Clock = {
  now: () => performance.now(),
  wall: () => Date.now(),
  after(ms, task) {
    let left = Math.ceil(ms);
    let timer: NodeJS.Timeout;
    const arm = () => {
      const part = Math.min(left, LONGEST_TIMEOUT);
      left -= part;
      timer = setTimeout(left > 0 ? arm : task, part);
    };
    arm();
    return () => clearTimeout(timer);
  },
  soon: (task) => void setImmediate(task),
};

/** Resolves when the task has, or after so many ms: what never ends must not keep the process for ever. */
export function withinTime(clock: Clock, ms: number, task: Promise<unknown>): Promise<void> {
  return new Promise((resolve, reject) => {
    const callOff = clock.after(ms, resolve);
    task.then(() => resolve(), reject).finally(callOff);
  });
}
