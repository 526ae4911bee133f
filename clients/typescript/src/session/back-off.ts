import type { Random } from '../clock.js';

export interface BackOffSettings {
  /** The longest pause after the first failure, ms. */
  readonly first: number;
  /** The longest pause ever, ms. */
  readonly max: number;
}

export const DEFAULT_BACK_OFF: BackOffSettings = { first: 50, max: 2_000 };

/**
 * Pauses between attempts to connect: exponential, with full jitter (each is drawn evenly from zero to its bound), so that
 * the workers of a sidecar that restarts do not come back all at once.
 */
export class BackOff {
  #failures = 0;

  constructor(
    private readonly settings: BackOffSettings,
    private readonly random: Random,
  ) {}

  /** ms until the next attempt. */
  next(): number {
    const { first, max } = this.settings;
    // 2^30 times the first is beyond every bound, and below what a number can count.
    const bound = Math.min(max, first * 2 ** Math.min(this.#failures, 30));
    this.#failures += 1;
    return this.random() * bound;
  }

  /** An attempt led to a stream that stood for this long: one that fails at once again and again is not a success. */
  stood(ms: number): void {
    if (ms >= this.settings.max) this.#failures = 0;
  }
}
