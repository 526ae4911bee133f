/**
 * Events for one tab. What it does not read stays in the port's buffer, which is bounded and counts what it drops. Now and then
 * something is sent though nothing happened: so both sides, and whoever stands between them, see that the other is there.
 */
import type { CoordinatorEvent, Refusal, Result, Watch, Watcher } from '../coordinator.js';

interface Told {
  readonly events: readonly CoordinatorEvent[];
  readonly missed: number;
}

/**
 * What is told at once, and how often at most: nobody reads more, and to write it all down costs 40 % of a core at 50,000 events a second. The
 * rest is counted as missed, where it was. Over gRPC a reader gets all that it takes.
 */
const MOST_EVENTS = 100;
const EVERY_MS = 250;
/** Of one buffer. Each home of a cluster has one; whatever is left there is taken the next time. */
const MOST_TAKES = 16;
const SIGN_OF_LIFE_MS = 15_000;
export const NOT_ANY_MORE: Refusal = Object.freeze({
  kind: 'no_credentials',
  description: 'the login or the token with which this began does not hold any more; log in again',
});
const NOTHING: Told = Object.freeze({ events: [], missed: 0 });

export class Feed implements Watcher {
  #watch: Watch | undefined;
  #wake: (() => void) | undefined;
  #hasEnded = false;
  #why: Refusal | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isDue = false;
  /** After what was told last. */
  #missed = 0;
  #endPause: (() => void) | undefined;

  /**
   * @param open asks the port
   * @param goesOn its reader may still see what it asked for
   */
  constructor(
    private readonly open: (watcher: Watcher) => Result<Watch>,
    private readonly goesOn: () => boolean,
  ) {}

  /** Begins at once: what happens from now on is told. Unset: it does. */
  begin(): Refusal | undefined {
    const opened = this.open(this);
    if (!opened.ok) return opened.refusal;
    // It may have ended while it was opened.
    if (this.#hasEnded) opened.value.stop();
    else {
      this.#watch = opened.value;
      this.#timer = setInterval(() => this.#tick(), SIGN_OF_LIFE_MS).unref();
    }
    return undefined;
  }

  wake(): void {
    this.#wake?.();
  }

  end(why?: Refusal): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.#why = why;
    clearInterval(this.#timer);
    this.#watch?.stop();
    this.#wake?.();
    this.#endPause?.();
  }

  /** Whoever may not look any more is told so, and sees nothing further. */
  endRevoked(): void {
    if (!this.goesOn()) this.end(NOT_ANY_MORE);
  }

  /** The first one, with nothing in it, says that nothing escapes its reader from now on. Returns when it has ended. */
  async *told(): AsyncGenerator<Told, Refusal | undefined> {
    yield NOTHING;
    while (!this.#hasEnded) {
      const told = this.#take();
      if (told !== NOTHING) {
        yield told;
        await this.#untilNext();
      } else if (this.#isDue) {
        this.#isDue = false;
        yield NOTHING;
      } else await this.#untilWoken();
    }
    return this.#why;
  }

  /** The first of what there is. What comes after them is told, as a number, with those that follow it. */
  #take(): Told {
    const told: CoordinatorEvent[] = [];
    const missed = this.#missed;
    this.#missed = 0;
    for (let take = 0; take < MOST_TAKES; take++) {
      const taken = this.#watch?.take() ?? NOTHING;
      if (taken.events.length === 0 && taken.missed === 0) break;
      // After a gap nothing more is told at once: it would stand before the gap.
      const room = this.#missed === 0 ? MOST_EVENTS - told.length : 0;
      for (const event of taken.events.slice(0, room)) told.push(event);
      this.#missed += Math.max(0, taken.events.length - room) + taken.missed;
    }
    return told.length === 0 && missed === 0 && this.#missed === 0 ? NOTHING : { events: told, missed };
  }

  /** Whatever wakes it meanwhile; but for its end. */
  #untilNext(): Promise<void> {
    if (this.#hasEnded) return Promise.resolve();
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, EVERY_MS).unref();
      this.#endPause = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  #untilWoken(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = () => {
        this.#wake = undefined;
        resolve();
      };
    });
  }

  #tick(): void {
    this.endRevoked();
    this.#isDue = true;
    this.#wake?.();
  }
}
