import { Fifo } from './fifo.js';
import { hash } from './hash.js';
import type { Design, Stage } from './stage.js';

/**
 * Keys hashed to a fixed number of workers, each with a line of its own, as consumers of partitions: more partitions than
 * workers change nothing here, because a worker does one thing at a time.
 */
export class Hashed implements Design {
  readonly #workerOf: Uint32Array;
  readonly #lines: readonly Fifo[];
  readonly #works: Uint8Array;

  constructor(private readonly stage: Stage) {
    const { traffic, workers } = stage;
    this.#workerOf = Uint32Array.from(traffic.keys, (key) => hash(key) % workers);
    this.#lines = Array.from({ length: workers }, () => new Fifo());
    this.#works = new Uint8Array(workers);
  }

  arrive(message: number): void {
    const worker = this.#workerOf[this.stage.keyOf(message)] ?? 0;
    this.#lines[worker]?.push(message);
    if (this.#works[worker] === 0) this.#goOn(worker);
  }

  #goOn(worker: number): void {
    const message = this.#lines[worker]?.shift();
    this.#works[worker] = message === undefined ? 0 : 1;
    if (message !== undefined) this.stage.work(message, () => this.#goOn(worker));
  }
}
