import { EXIT } from '../exit-codes.js';
import { CommandFailure } from '../failure.js';
import type { ReplayProgress } from '../replay/run-replay.js';

/** A replay whose lines do not end any more is stuck. Far above any wait that the demo can see. */
const LONGEST_STALL = 60_000;
const EVERY = 1_000;

/** Aborts when a replay gets nowhere, so that the demo ends in all cases. */
export class StallWatch {
  readonly #controller = new AbortController();
  #timer: NodeJS.Timeout | undefined;

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  start(progress: () => ReplayProgress): void {
    let seen = -1;
    let since = performance.now();
    this.#timer = setInterval(() => {
      const { lines } = progress();
      if (lines !== seen) since = performance.now();
      seen = lines;
      if (performance.now() - since > LONGEST_STALL) this.#controller.abort(stalled());
    }, EVERY);
  }

  stop(): void {
    clearInterval(this.#timer);
  }
}

function stalled(): CommandFailure {
  return new CommandFailure(`nothing was processed for ${LONGEST_STALL / 1_000} s`, EXIT.failure);
}
