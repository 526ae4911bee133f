import { type Clock, systemClock } from '../../../src/local/clock.js';

/** Deadlines of tests are as long as this, ms: none passes by itself, however busy the machine is. */
export const HELD = 600_000;

/** The clock of the machine, but deadlines pass when the test says so. */
export class HeldClock implements Clock {
  readonly #held = new Set<() => void>();

  now(): number {
    return systemClock.now();
  }

  wall(): number {
    return systemClock.wall();
  }

  after(ms: number, task: () => void): () => void {
    if (ms < HELD) return systemClock.after(ms, task);
    this.#held.add(task);
    return () => void this.#held.delete(task);
  }

  soon(task: () => void): void {
    systemClock.soon(task);
  }

  /** All deadlines that stand pass now. */
  expire(): void {
    const due = [...this.#held];
    this.#held.clear();
    for (const task of due) task();
  }
}
