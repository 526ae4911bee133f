import { AsyncLocalStorage } from 'node:async_hooks';

/** One run of code of the application for whose end a part of the client waits. */
export interface Run {
  readonly of: Insiders;
  readonly hasEnded: boolean;
}

/** From this version on AsyncContextFrame is the default of Node: before, hooks of every promise of the process pay for a store. */
const FIRST_CHEAP_NODE = 24;
const IS_CHEAP = Number.parseInt(process.versions.node, 10) >= FIRST_CHEAP_NODE;

/** The run that began the current task. Tasks may outlive their run. */
const RUN = new AsyncLocalStorage<Run>();

/**
 * Code of the application for whose end a part of the client waits: a wait for that part in this code would never be over.
 * The stack of a call is no evidence: it also shows handlers that race against a shutdown that began elsewhere.
 */
export class Insiders {
  /** The run whose synchronous part runs now. */
  #current: Run | undefined;

  /** @param followsTasks also knows what a run calls after its first `await`, at the price of a store */
  constructor(private readonly followsTasks = IS_CHEAP) {}

  async run<T>(work: () => T | PromiseLike<T>): Promise<T> {
    const run: { of: Insiders; hasEnded: boolean } = { of: this, hasEnded: false };
    try {
      return await this.#begin(run, work);
    } finally {
      run.hasEnded = true;
    }
  }

  #begin<T>(run: Run, work: () => T): T {
    const outer = this.#current;
    this.#current = run;
    try {
      return this.followsTasks ? RUN.run(run, work) : work();
    } finally {
      this.#current = outer;
    }
  }

  /** The run that calls this and has not ended. `undefined` on Node 20 and 22 after an `await`, unless tasks are followed. */
  get caller(): Run | undefined {
    if (this.#current !== undefined) return this.#current;
    const run = RUN.getStore();
    return run?.of === this && !run.hasEnded ? run : undefined;
  }
}

/** Runs shared parts of the client, whose callbacks come later and belong to no run. */
export function outside<T>(work: () => T): T {
  return RUN.exit(work);
}
