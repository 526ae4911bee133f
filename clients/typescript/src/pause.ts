import type { Clock } from './clock.js';

/** Resolves after `ms`, or as soon as `signal` aborts: whoever waits looks at it himself. */
export function pause(clock: Clock, ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve();
    const end = (): void => {
      callOff();
      signal?.removeEventListener('abort', end);
      resolve();
    };
    const callOff = clock.after(ms, end);
    signal?.addEventListener('abort', end, { once: true });
  });
}
