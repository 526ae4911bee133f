/** Logs which clients TLS refused: only here is it known why. */
import type { Log } from '../call/handler.js';

/** Any client that reaches the port could fill the log: refusals that come sooner after a line are counted in the next one. */
const BETWEEN_LINES_MS = 1_000;

export class RefusedHandshakes {
  #lineAt = Number.NEGATIVE_INFINITY;
  #untold = 0;

  constructor(
    private readonly log: Log,
    private readonly now: () => number = () => performance.now(),
  ) {}

  report(error: Error, peer: string | undefined): void {
    const now = this.now();
    if (now - this.#lineAt < BETWEEN_LINES_MS) {
      this.#untold += 1;
      return;
    }
    const more = this.#untold === 0 ? {} : { untold: this.#untold };
    this.log.warn({ peer, reason: reasonOf(error), ...more }, 'a connection was refused by TLS');
    this.#lineAt = now;
    this.#untold = 0;
  }
}

/** OpenSSL's text is its words between colons, with numbers before and the place in its sources after. */
function reasonOf({ message }: Error): string {
  return /SSL routines:[^:]*:([^:]+)/.exec(message)?.[1] ?? message.trim();
}
