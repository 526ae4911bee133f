import type { Random } from '../time/clock.js';

export interface BackOffSettings {
  /** The longest pause after the first failure, ms. */
  readonly first: number;
  /** The longest pause ever, ms. */
  readonly max: number;
}

const OF_CALLS: BackOffSettings = { first: 50, max: 5_000 };

/**
 * How long to wait before the next try: exponential with full jitter (each pause is drawn evenly from zero to its bound), so
 * that the clients of a sidecar that comes back do not come together (M. Brooker, "Exponential Backoff And Jitter", 2015).
 */
export class BackOff {
  readonly #settings: BackOffSettings;
  #bound: number;

  constructor(
    private readonly random: Random,
    settings = OF_CALLS,
  ) {
    this.#settings = settings;
    this.#bound = settings.first;
  }

  /** @param atLeast what the sidecar asked for, ms: the jitter comes on top of it */
  next(atLeast = 0): number {
    const jitter = this.random() * this.#bound;
    this.#bound = Math.min(2 * this.#bound, this.#settings.max);
    // Never 0: a failure that comes at once must not make a busy loop.
    return atLeast + Math.max(1, jitter);
  }

  /** After a success. */
  reset(): void {
    this.#bound = this.#settings.first;
  }

  /** A stream stood for this long: one that fails at once again and again is not a success. */
  stood(ms: number): void {
    if (ms >= this.#settings.max) this.reset();
  }
}
