import { constants } from 'node:os';
import { type Child, FORWARDED, type Forwarded } from './child.js';

/** While we wait these end us; the others have nobody to go to yet. */
const ENDING: ReadonlySet<Forwarded> = new Set(['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT']);

/** Our signals: until there is a command they stop the waiting, then they are its own. */
export class Forwarding {
  readonly #stop = new AbortController();
  readonly #handlers = new Map<Forwarded, () => void>();
  #first: Forwarded | undefined;
  #child: Child | undefined;

  constructor() {
    for (const signal of FORWARDED) {
      const handler = () => this.#receive(signal);
      this.#handlers.set(signal, handler);
      process.on(signal, handler);
    }
  }

  /** Aborted when a signal asks us to end before there is a command. */
  get stop(): AbortSignal {
    return this.#stop.signal;
  }

  /** 128 and the number of the signal that stopped the waiting. */
  get exitCode(): number {
    return 128 + (this.#first === undefined ? 0 : constants.signals[this.#first]);
  }

  /** From now on signals go to the command. */
  to(child: Child): void {
    this.#child = child;
  }

  /** The command has ended: from now on signals end us. */
  toNobody(): void {
    this.#child = undefined;
  }

  release(): void {
    for (const [signal, handler] of this.#handlers) process.off(signal, handler);
  }

  #receive(signal: Forwarded): void {
    if (this.#child !== undefined) {
      this.#child.forward(signal);
    } else if (ENDING.has(signal)) {
      this.#first ??= signal;
      this.#stop.abort();
    }
  }
}
