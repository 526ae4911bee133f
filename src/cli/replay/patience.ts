import { setTimeout as sleep } from 'node:timers/promises';
import { isAway } from '../sidecar.js';

/** How long a replay that has reached the sidecar before tries again when it does not answer, ms. */
const LONGEST = 10_000;
const FIRST_PAUSE = 50;

/**
 * Calls that may be repeated (a ticket, an item id or a token goes with each) and survive a connection that breaks or a
 * sidecar that restarts. A sidecar that has never answered is not waited for.
 */
export class Patience {
  #reached = false;

  async call<T>(ask: () => Promise<T>, stop?: AbortSignal): Promise<T> {
    const until = performance.now() + LONGEST;
    for (let pause = FIRST_PAUSE; ; pause = Math.min(2 * pause, 1_000)) {
      try {
        const answer = await ask();
        this.#reached = true;
        return answer;
      } catch (error) {
        const over = performance.now() + pause > until || stop?.aborted === true;
        if (!this.#reached || !isAway(error) || over) throw error;
      }
      await sleep(pause);
    }
  }
}
