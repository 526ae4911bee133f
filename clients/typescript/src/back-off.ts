import type { Random } from './clock.js';

const FIRST = 50;
const LONGEST = 5_000;

/**
 * How long to wait before the next try: exponential with full jitter, so that many clients of a sidecar that comes back do
 * not come together (M. Brooker, "Exponential Backoff And Jitter", 2015).
 */
export class BackOff {
  #ceiling = FIRST;

  constructor(
    readonly random: Random,
    readonly longest = LONGEST,
  ) {}

  /** @param atLeast what the sidecar asked for, ms: the jitter comes on top of it */
  next(atLeast = 0): number {
    const jitter = this.random() * this.#ceiling;
    this.#ceiling = Math.min(2 * this.#ceiling, this.longest);
    // Never 0: a failure that comes at once must not make a busy loop.
    return atLeast + Math.max(1, jitter);
  }

  /** After a success. */
  reset(): void {
    this.#ceiling = FIRST;
  }
}
