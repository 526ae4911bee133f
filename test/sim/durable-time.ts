/** Time of a world in which processes die: it goes on without them. */
import type { Clock } from '../../src/local/clock.js';
import { FIRST_WALL } from '../support/fake-clock.js';

interface Task {
  readonly due: number;
  readonly run: () => void;
}

/** One task at a time, so that whatever is promised in between comes about before the next one. */
export class WorldTime {
  /** In the order in which they run. */
  readonly #tasks: Task[] = [];
  #now = 0;
  #wallMinusNow = FIRST_WALL;

  get now(): number {
    return this.#now;
  }

  get wall(): number {
    return this.#now + this.#wallMinusNow;
  }

  get pending(): number {
    return this.#tasks.length;
  }

  stepWall(ms: number): void {
    this.#wallMinusNow += ms;
  }

  after(ms: number, run: () => void): () => void {
    const task = { due: this.#now + Math.max(0, ms), run };
    let at = this.#tasks.length;
    while (at > 0 && (this.#tasks[at - 1]?.due ?? 0) > task.due) at -= 1;
    this.#tasks.splice(at, 0, task);
    return () => {
      const index = this.#tasks.indexOf(task);
      if (index >= 0) this.#tasks.splice(index, 1);
    };
  }

  /** Runs the next task that is due by then; false: there is none, and it is then. */
  step(until: number): boolean {
    const next = this.#tasks[0];
    if (next === undefined || next.due > until) {
      this.#now = until;
      return false;
    }
    this.#tasks.shift();
    this.#now = next.due;
    next.run();
    return true;
  }
}

/** The clock of one process: it begins anywhere, and nothing runs any more when the process is dead. */
export class ProcessClock implements Clock {
  #dead = false;
  readonly #callOffs = new Set<() => void>();

  /** @param offset what its monotonic clock shows more than the world's */
  constructor(
    private readonly time: WorldTime,
    private readonly offset: number,
  ) {}

  now(): number {
    return this.time.now + this.offset;
  }

  wall(): number {
    return this.time.wall;
  }

  after(ms: number, task: () => void): () => void {
    if (this.#dead) return () => undefined;
    const callOff = this.time.after(ms, () => {
      this.#callOffs.delete(callOff);
      task();
    });
    this.#callOffs.add(callOff);
    return () => {
      this.#callOffs.delete(callOff);
      callOff();
    };
  }

  soon(task: () => void): void {
    this.after(0, task);
  }

  /** Of the process. */
  get pending(): number {
    return this.#callOffs.size;
  }

  kill(): void {
    this.#dead = true;
    for (const callOff of this.#callOffs) callOff();
    this.#callOffs.clear();
  }
}
