import type { Clock } from './clock.js';
import { follow } from './follow.js';

/** Resolves after `ms`, or as soon as `signal` aborts: the caller looks at the signal itself. */
export function pause(clock: Clock, ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve();
    const end = (): void => {
      callOff();
      unfollow?.();
      resolve();
    };
    const callOff = clock.after(ms, end);
    const unfollow = signal && follow(signal, end);
  });
}
