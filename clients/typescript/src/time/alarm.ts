import type { Clock } from './clock.js';

/** One timer for everything that is due some time: it wakes at the earliest moment that was asked for, or a little later. */
export class Alarm {
  #at = Number.POSITIVE_INFINITY;
  #callOff: (() => void) | undefined;

  /** @param wake asks again for what is still to come; `late`: how long after the moment that was asked for, ms */
  constructor(
    private readonly clock: Clock,
    private readonly wake: (late: number) => void,
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
    const late = this.clock.now() - this.#at;
    this.#clear();
    this.wake(late);
  };

  #clear(): void {
    this.#at = Number.POSITIVE_INFINITY;
    this.#callOff = undefined;
  }
}
