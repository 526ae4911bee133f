import type { Clock } from '../../local/clock.js';

/**
 * After the start, and after a failover of the store, nobody claims for one ttl what that touched: a claim that the store lost just now
 * is put back by its home within that time.
 */
export class Quiet {
  /** By partition, monotonic, ms. */
  readonly #until: number[];

  constructor(
    private readonly clock: Pick<Clock, 'now'>,
    private readonly ttl: number,
    partitions: number,
  ) {
    this.#until = new Array<number>(partitions).fill(Number.NEGATIVE_INFINITY);
  }

  begin(touches: (partition: number) => boolean = () => true): void {
    const until = this.clock.now() + this.ttl;
    for (const [partition, before] of this.#until.entries())
      if (touches(partition)) this.#until[partition] = Math.max(before, until);
  }

  isOn(partition: number): boolean {
    return this.clock.now() < (this.#until[partition] ?? Number.NEGATIVE_INFINITY);
  }

  get isOnAnywhere(): boolean {
    const now = this.clock.now();
    return this.#until.some((until) => now < until);
  }
}
