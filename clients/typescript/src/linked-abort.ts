/**
 * A controller that also aborts when one of `signals` does, with the same reason, until it is let go. AbortSignal.any
 * would keep a listener on a signal that outlives thousands of turns until the garbage collector finds it.
 */
export class LinkedAbort {
  readonly #controller = new AbortController();
  readonly #links: (() => void)[] = [];

  constructor(signals: readonly (AbortSignal | undefined)[]) {
    for (const signal of signals) if (signal !== undefined) this.#follow(signal);
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  abort(reason: unknown): void {
    this.#controller.abort(reason);
  }

  /** Follows nobody any more. */
  letGo(): void {
    for (const unlink of this.#links.splice(0)) unlink();
  }

  #follow(signal: AbortSignal): void {
    const follow = (): void => this.#controller.abort(signal.reason);
    if (signal.aborted) return follow();
    signal.addEventListener('abort', follow, { once: true });
    this.#links.push(() => signal.removeEventListener('abort', follow));
  }
}
