import type { Clock } from '../../local/clock.js';

/** The clock of a home: the wall clock of its rows is the store's, as it was at the claim and has gone on here since (S52). */
export class PartitionClock implements Clock {
  readonly #wallMinusNow: number;

  /** @param storeNow what the store's clock showed at the claim, ms since the Unix epoch */
  constructor(
    private readonly clock: Clock,
    storeNow: number,
  ) {
    this.#wallMinusNow = storeNow - clock.now();
  }

  now(): number {
    return this.clock.now();
  }

  wall(): number {
    return this.clock.now() + this.#wallMinusNow;
  }

  after(ms: number, task: () => void): () => void {
    return this.clock.after(ms, task);
  }

  soon(task: () => void): void {
    this.clock.soon(task);
  }
}
