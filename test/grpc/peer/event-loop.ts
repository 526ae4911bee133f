import type { Scheduler } from '../../../src/grpc/session/flow.js';
import type { Clock } from '../../../src/local/clock.js';

/** The event loop of one of two processes: a test lets it turn once, and sees what was done by then. */
export class EventLoop implements Scheduler {
  #ends: (() => void)[] = [];
  #soon: (() => void)[] = [];

  constructor(private readonly clock: Clock) {}

  soon(task: () => void): void {
    this.#soon.push(task);
  }

  atEnd(task: () => void): void {
    this.#ends.push(task);
  }

  after(ms: number, task: () => void): () => void {
    return this.clock.after(ms, task);
  }

  get isIdle(): boolean {
    return this.#ends.length + this.#soon.length === 0;
  }

  /** What runs has ended: what was written leaves. */
  end(): void {
    for (let task = this.#ends.shift(); task !== undefined; task = this.#ends.shift()) task();
  }

  turn(): void {
    this.end();
    for (const task of this.#soon.splice(0)) {
      task();
      this.end();
    }
  }
}
