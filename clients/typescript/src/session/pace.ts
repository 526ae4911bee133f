import type { Clock } from '../time/clock.js';

/**
 * When a session writes what was asked: two messages a turn of the event loop at most. The first leaves at once, so that
 * the sidecar works on it while more is asked here. The second takes everything else of that turn along: with a message
 * for every callback in which something is asked, a busy application would spend its time on messages.
 */
export class Pace {
  #rests = false;

  constructor(private readonly clock: Pick<Clock, 'soon' | 'atEnd'>) {}

  write(task: () => void): void {
    if (this.#rests) return this.clock.soon(task);
    this.#rests = true;
    this.clock.soon(this.#goOn);
    this.clock.atEnd(task);
  }

  readonly #goOn = (): void => {
    this.#rests = false;
  };
}
