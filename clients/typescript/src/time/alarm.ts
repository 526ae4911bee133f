import type { Clock } from './clock.js';

/** One timer for everything that is due some time: it wakes at the earliest moment that was asked for, or a little later. */
export class Alarm {
  #at = Number.POSITIVE_INFINITY;
  #callOff: (() => void) | undefined;

  /** @param wake asks again for what is still to come */
  constructor(
    private readonly clock: Clock,
    private readonly wake: () => void,
  ) {}

  /** Cheap when it is set for an earlier moment already. */
  by(at: number): void {
    if (at >= this.#at) return;
    this.#callOff?.();
    this.#at = at;
    this.#callOff = this.clock.after(Math.max(0, at - this.clock.now()), this.#ring);
  }

  off(): void {
    this.#callOff?.();
    this.#clear();
  }

  readonly #ring = (): void => {
    this.#clear();
    this.wake();
  };

  #clear(): void {
    this.#at = Number.POSITIVE_INFINITY;
    this.#callOff = undefined;
  }
}
