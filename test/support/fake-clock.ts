import type { Clock } from '../../src/local/clock.js';

interface Timer {
  readonly due: number;
  readonly task: () => void;
}

/** Stops a loop of tasks that make each other for ever: no honest test comes near it. */
const MOST_TASKS_PER_STEP = 1_000_000;

/** 2026-01-01T00:00:00Z. */
export const FIRST_WALL = Date.UTC(2026, 0, 1);

/**
 * Time that stands still until a test moves it. Timers run when {@link advance} passes their moment, in the order of
 * their moments and, within one, in the order in which they were set. The wall clock goes along and can be stepped on
 * its own, as people and time servers do.
 */
export class FakeClock implements Clock {
  /** In the order in which they run. */
  readonly #timers: Timer[] = [];
  #soon: (() => void)[] = [];
  #now: number;
  #wallMinusNow: number;

  constructor(start = { now: 5_000, wall: FIRST_WALL }) {
    this.#now = start.now;
    this.#wallMinusNow = start.wall - start.now;
  }

  now(): number {
    return this.#now;
  }

  wall(): number {
    return this.#now + this.#wallMinusNow;
  }

  after(ms: number, task: () => void): () => void {
    const timer = { due: this.#now + Math.max(0, ms), task };
    let at = this.#timers.length;
    while (at > 0 && (this.#timers[at - 1]?.due ?? 0) > timer.due) at -= 1;
    this.#timers.splice(at, 0, timer);
    return () => {
      const index = this.#timers.indexOf(timer);
      if (index >= 0) this.#timers.splice(index, 1);
    };
  }

  soon(task: () => void): void {
    this.#soon.push(task);
  }

  /** No later than that: a task of a test ends before the clock turns. */
  atEnd(task: () => void): void {
    this.#soon.push(task);
  }

  /** Moves the wall clock alone, back if negative. */
  stepWall(ms: number): void {
    this.#wallMinusNow += ms;
  }

  /** Lets `ms` pass in which the process does not run: no timer does, they are late afterwards. */
  skip(ms: number): void {
    this.#now += ms;
  }

  /** Lets `ms` pass: first what is due `soon`, then every timer at its moment, each followed by what it wants soon. */
  advance(ms: number): void {
    const end = this.#now + ms;
    let left = this.#runSoon(MOST_TASKS_PER_STEP);
    for (let next = this.#timers[0]; next !== undefined && next.due <= end; next = this.#timers[0]) {
      this.#timers.shift();
      this.#now = Math.max(this.#now, next.due);
      next.task();
      left = this.#runSoon(left - 1);
    }
    this.#now = end;
  }

  /** Lets the event loop turn without time passing. */
  turn(): void {
    this.advance(0);
  }

  /** Timers and tasks that still stand. */
  get pending(): number {
    return this.#timers.length + this.#soon.length;
  }

  #runSoon(budget: number): number {
    let left = budget;
    while (this.#soon.length > 0) {
      const tasks = this.#soon;
      this.#soon = [];
      left -= tasks.length;
      if (left < 0) throw new Error(`more than ${MOST_TASKS_PER_STEP} tasks in one step of the fake clock`);
      for (const task of tasks) task();
    }
    return left;
  }
}
