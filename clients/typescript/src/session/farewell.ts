/**
 * The last moments of a session. What was called off may have been answered already, so the stream stays until the outcome of
 * everything is known: a turn that crossed the cancelling is given back, and does not block its key for the `ttl`.
 */
import type { Clock } from '../clock.js';
import type { SessionStream } from './network.js';

/** How long outcomes are waited for, ms. */
const OUTCOMES_MS = 1_000;
/** How long the sidecar may take to end the stream of a client that was closed, ms. */
const FAREWELL_MS = 1_000;

export class Farewell {
  readonly over: Promise<void>;
  #callOff: () => void;
  #resolve: () => void = () => undefined;

  /** @param late outcomes are waited for no more */
  constructor(
    private readonly clock: Clock,
    private readonly stream: SessionStream,
    late: () => void,
  ) {
    this.over = new Promise((resolve) => {
      this.#resolve = resolve;
    });
    this.#callOff = clock.after(OUTCOMES_MS, late);
  }

  /** Every outcome is known, or nobody waits for it: the sidecar ends the stream. */
  end(): void {
    this.#callOff();
    this.#callOff = this.clock.after(FAREWELL_MS, () => this.gone());
    this.stream.end();
  }

  /** There is no stream any more. */
  gone(): void {
    this.#callOff();
    this.stream.destroy();
    this.#resolve();
  }
}
