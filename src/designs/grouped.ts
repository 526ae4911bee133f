import { Fifo } from './fifo.js';
import { hash } from './hash.js';
import type { Design, Stage } from './stage.js';

/**
 * Keys hashed to groups, a queue per group, of which one message is worked on at a time; all workers serve all queues, and
 * those that have work take turns.
 */
export class Grouped implements Design {
  readonly #groupOf: Uint32Array;
  readonly #lines: readonly Fifo[];
  /** 1: it stands in `#ready`, or is worked on. */
  readonly #taken: Uint8Array;
  readonly #ready = new Fifo();
  #idle: number;

  constructor(
    private readonly stage: Stage,
    groups: number,
  ) {
    this.#groupOf = Uint32Array.from(stage.traffic.keys, (key) => hash(key) % groups);
    this.#lines = Array.from({ length: groups }, () => new Fifo());
    this.#taken = new Uint8Array(groups);
    this.#idle = stage.workers;
  }

  arrive(message: number): void {
    const group = this.#groupOf[this.stage.keyOf(message)] ?? 0;
    this.#lines[group]?.push(message);
    this.#offer(group);
  }

  #offer(group: number): void {
    if (this.#taken[group] === 1 || this.#lines[group]?.isEmpty === true) return;
    this.#taken[group] = 1;
    this.#ready.push(group);
    this.#serve();
  }

  #serve(): void {
    if (this.#idle === 0) return;
    const group = this.#ready.shift();
    const message = group === undefined ? undefined : this.#lines[group]?.shift();
    if (group === undefined || message === undefined) return;
    this.#idle -= 1;
    this.stage.work(message, () => {
      this.#idle += 1;
      this.#taken[group] = 0;
      this.#offer(group);
      this.#serve();
    });
  }
}
