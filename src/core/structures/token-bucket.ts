import type { RatePolicy } from '../contract/policy.js';
import { wholeMs } from './due.js';

/** Rounding in the refill must not cost a turn its start. */
const ENOUGH = 1 - 1e-9;

/**
 * A rate limit: turns per second with a burst. Full at the start.
 *
 * Source: the token bucket as in J. Turner, "New Directions in Communications", 1986; refilled by arithmetic when
 * somebody looks, not by a timer.
 */
export class TokenBucket {
  #tokens: number;
  #at: number;

  constructor(
    readonly rate: RatePolicy,
    now: number,
  ) {
    this.#tokens = rate.burst;
    this.#at = now;
  }

  /** The moment from which a turn may start; not after `now` if it may start now. */
  opensAt(now: number): number {
    this.#refill(now);
    return this.#tokens >= ENOUGH ? now : now + ((1 - this.#tokens) * 1_000) / this.rate.perSecond;
  }

  /**
   * When the turn starts that comes as the `nth` from now on, if each starts as soon as it may: on whole milliseconds, so
   * that what a full bucket has gathered on the way to the next one is lost each time. O(nth).
   */
  startOf(nth: number, now: number): number {
    this.#refill(now);
    const { perSecond, burst } = this.rate;
    let tokens = this.#tokens;
    let at = now;
    for (let left = nth; left > 0; left--) {
      if (tokens < ENOUGH) {
        const start = wholeMs(at + ((1 - tokens) * 1_000) / perSecond);
        tokens = Math.min(burst, tokens + ((start - at) * perSecond) / 1_000);
        at = start;
      }
      tokens = Math.max(0, tokens - 1);
    }
    return at;
  }

  /** Nothing is lost by making a new one. */
  isFull(now: number): boolean {
    this.#refill(now);
    return this.#tokens >= this.rate.burst;
  }

  /** Precondition: a turn may start now. */
  take(now: number): void {
    this.#refill(now);
    this.#tokens = Math.max(0, this.#tokens - 1);
  }

  #refill(now: number): void {
    const passed = Math.max(0, now - this.#at);
    this.#tokens = Math.min(this.rate.burst, this.#tokens + (passed * this.rate.perSecond) / 1_000);
    this.#at = Math.max(this.#at, now);
  }
}
