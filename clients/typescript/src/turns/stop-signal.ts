import { follow } from '../time/follow.js';
import type { HeldTurn } from '../words/calls.js';

/**
 * What tells a handler to stop: its turn is lost, one of `others` aborts, or {@link abort} is called. The signal is made when
 * somebody looks at it: most handlers never do, and a signal costs more than a turn.
 */
export class StopSignal {
  readonly #held: HeldTurn;
  readonly #others: readonly (AbortSignal | undefined)[];
  readonly #links: (() => void)[] = [];
  #controller: AbortController | undefined;
  #called: { readonly reason: unknown } | undefined;
  #isOver = false;

  constructor(held: HeldTurn, others: readonly (AbortSignal | undefined)[] = []) {
    this.#held = held;
    this.#others = others;
  }

  get signal(): AbortSignal {
    if (this.#controller !== undefined) return this.#controller.signal;
    this.#controller = new AbortController();
    if (this.#called !== undefined) this.#controller.abort(this.#called.reason);
    for (const signal of [this.#held.signal, ...this.#others]) if (signal !== undefined) this.#follow(signal);
    return this.#controller.signal;
  }

  abort(reason: unknown): void {
    this.#called ??= { reason };
    this.#controller?.abort(reason);
  }

  /**
   * The handler has ended: no signal is followed any more. (AbortSignal.any would keep a listener on a signal that outlives
   * thousands of turns until the garbage collector finds it.)
   */
  end(): void {
    this.#isOver = true;
    for (const unlink of this.#links.splice(0)) unlink();
  }

  #follow(signal: AbortSignal): void {
    const stop = (): void => this.#controller?.abort(signal.reason);
    if (signal.aborted) return stop();
    if (!this.#isOver) this.#links.push(follow(signal, stop));
  }
}
