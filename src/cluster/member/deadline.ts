import type { Clock } from '../../local/clock.js';

/** So much before the session of a member can end elsewhere its own time is over, ms: clocks drift, messages take time. */
export const MARGIN = 500;

/**
 * Until when this member may be the home of anything, by its own monotonic clock: the time *before sending* the last
 * renewal that succeeded, and likewise the last question to the store that was answered, plus `ttl`, less a margin. Nobody
 * else claims what is this member's before that.
 *
 * A deadline that has passed has passed, whether or not anybody looked: a renewal that succeeds afterwards opens nothing. What
 * was closed then is opened by a claim alone.
 */
export class LocalDeadline {
  #session = Number.NEGATIVE_INFINITY;
  #store = Number.NEGATIVE_INFINITY;
  #isLive = false;
  #disarm: (() => void) | undefined;

  /** @param lapsed called once each time it has passed, with the moment at which it had */
  constructor(
    private readonly clock: Clock,
    private readonly ttl: number,
    private readonly lapsed: (at: number) => void,
  ) {}

  get until(): number {
    return Math.min(this.#session, this.#store);
  }

  /** Looks at the clock, and tells if it has passed. */
  get isLive(): boolean {
    if (this.#isLive && this.clock.now() >= this.until) this.#lapse();
    return this.#isLive;
  }

  /** @param sentAt before it was sent */
  renewed(sentAt: number): void {
    this.#extend(() => {
      this.#session = Math.max(this.#session, this.#end(sentAt));
    });
  }

  /** The store answered. @param sentAt before it was asked */
  heard(sentAt: number): void {
    this.#extend(() => {
      this.#store = Math.max(this.#store, this.#end(sentAt));
    });
  }

  /** The session is known to be over, or is ended. */
  end(): void {
    if (this.#isLive) this.#lapse();
    this.#session = Number.NEGATIVE_INFINITY;
  }

  #end(sentAt: number): number {
    return sentAt + this.ttl - MARGIN;
  }

  #extend(extend: () => void): void {
    // First what has passed: it might look as if it never had.
    const { isLive } = this;
    extend();
    if (!isLive) this.#isLive = this.clock.now() < this.until;
    if (this.#isLive) this.#arm();
  }

  /** So that callers are refused soon after, though nothing else happens. Nothing rests on this timer. */
  #arm(): void {
    this.#disarm?.();
    this.#disarm = this.clock.after(Math.max(0, this.until - this.clock.now()), () => void this.isLive);
  }

  #lapse(): void {
    this.#isLive = false;
    this.#disarm?.();
    this.#disarm = undefined;
    this.lapsed(Math.min(this.until, this.clock.now()));
  }
}
