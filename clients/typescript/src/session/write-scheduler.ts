import type { Clock } from '../time/clock.js';

/**
 * When a session writes what was asked: two messages a turn of the event loop at most. The first leaves at once, so that
 * the sidecar works on it while more is asked here. The second takes everything else of that turn along: with a message
 * for every callback in which something is asked, a busy application would spend its time on messages.
 */
export class WriteScheduler {
  #isScheduled = false;
  /** The first message of this turn has left. */
  #rests = false;

  /** @param write writes all that was asked until then */
  constructor(
    private readonly clock: Pick<Clock, 'soon' | 'atEnd'>,
    private readonly write: () => void,
  ) {}

  schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    if (this.#rests) return this.clock.soon(this.#run);
    this.#rests = true;
    this.clock.soon(this.#goOn);
    this.clock.atEnd(this.#run);
  }

  readonly #run = (): void => {
    this.#isScheduled = false;
    this.write();
  };

  readonly #goOn = (): void => {
    this.#rests = false;
  };
}
