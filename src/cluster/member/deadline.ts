import type { Clock } from '../../local/clock.js';

/** So much before the session of a member can end elsewhere its own time is over, ms: clocks drift, messages take time. */
export const MARGIN = 500;

/** Before something was sent, by both clocks, ms. */
export interface Sent {
  readonly at: number;
  readonly wall: number;
}

/**
 * Until when this member may be the home of anything: the time *before sending* the last renewal that succeeded, and likewise the
 * last question to the store that was answered, plus `ttl`, less a margin. Nobody else claims what is this member's before that.
 *
 * It counts by the monotonic clock, which stands still while a machine is suspended. So it has passed, too, when so much time has
 * gone by on the wall clock. A wall clock that was set forward looks the same: then nothing is told until registry and store have
 * answered once more, which costs less than a second. One that was set back changes nothing.
 *
 * A deadline that has passed has passed, whether or not anybody looked: a renewal that succeeds afterwards opens nothing. What
 * was closed then is opened by a claim alone.
 */
export class LocalDeadline {
  #session: Sent | undefined;
  #store: Sent | undefined;
  #isLive = false;
  #disarm: (() => void) | undefined;

  /** @param lapsed called once each time it has passed, with the moment at which it had, by the monotonic clock */
  constructor(
    private readonly clock: Clock,
    private readonly ttl: number,
    private readonly lapsed: (at: number) => void,
  ) {}

  /** By the monotonic clock. */
  get until(): number {
    const { NEGATIVE_INFINITY } = Number;
    return this.of(Math.min(this.#session?.at ?? NEGATIVE_INFINITY, this.#store?.at ?? NEGATIVE_INFINITY));
  }

  /** What was sent at that moment, and answered, counts until then. */
  of(sent: number): number {
    return sent + this.ttl - MARGIN;
  }

  /** Looks at the clocks, and tells if it has passed. */
  get isLive(): boolean {
    if (this.#isLive && this.#hasPassed) this.#lapse();
    return this.#isLive;
  }

  /** What is sent now. */
  get now(): Sent {
    // In this order: a pause in between counts as time that passed.
    const wall = this.clock.wall();
    return { at: this.clock.now(), wall };
  }

  renewed(sent: Sent): void {
    this.#extend(() => {
      this.#session = later(this.#session, sent);
    });
  }

  /** The store answered. */
  heard(sent: Sent): void {
    this.#extend(() => {
      this.#store = later(this.#store, sent);
    });
  }

  /** The session is known to be over, or is ended. */
  end(): void {
    if (this.#isLive) this.#lapse();
    this.#session = undefined;
  }

  get #hasPassed(): boolean {
    const { clock } = this;
    if (clock.now() >= this.until) return true;
    const oldest = clock.wall() - this.ttl + MARGIN;
    return this.#session === undefined || this.#session.wall <= oldest || (this.#store?.wall ?? oldest) <= oldest;
  }

  #extend(extend: () => void): void {
    // First what has passed: it might look as if it never had.
    const { isLive } = this;
    extend();
    if (!isLive) this.#isLive = !this.#hasPassed;
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

function later(known: Sent | undefined, sent: Sent): Sent {
  return known === undefined || sent.at >= known.at ? sent : known;
}
