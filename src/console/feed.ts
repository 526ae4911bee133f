/**
 * Events for one tab. What it does not read stays in the port's buffer, which is bounded and counts what it drops. Now and then
 * something is sent though nothing happened: so both sides, and whoever stands between them, see that the other is there.
 */
import type { CoordinatorEvent, Refusal, Result, Watch, Watcher } from '../coordinator.js';

interface Told {
  readonly events: readonly CoordinatorEvent[];
  readonly missed: number;
}

/** A message stays below what browsers parse in a few ms. */
const MOST_EVENTS = 500;
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
  }

  /** Whoever may not look any more is told so, and sees nothing further. */
  endRevoked(): void {
    if (!this.goesOn()) this.end(NOT_ANY_MORE);
  }

  /** The first one, with nothing in it, says that nothing escapes its reader from now on. Returns when it has ended. */
  async *told(): AsyncGenerator<Told, Refusal | undefined> {
    yield NOTHING;
    while (!this.#hasEnded) {
      const { events, missed } = this.#watch?.take() ?? NOTHING;
      if (events.length > 0 || missed > 0) yield* pieces(events, missed);
      else if (this.#isDue) {
        this.#isDue = false;
        yield NOTHING;
      } else await this.#untilWoken();
    }
    return this.#why;
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

function* pieces(events: readonly CoordinatorEvent[], missed: number): Generator<Told> {
  yield { events: events.slice(0, MOST_EVENTS), missed };
  for (let from = MOST_EVENTS; from < events.length; from += MOST_EVENTS)
    yield { events: events.slice(from, from + MOST_EVENTS), missed: 0 };
}
