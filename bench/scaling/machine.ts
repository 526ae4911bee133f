import type { VirtualTime } from '../../src/designs/virtual-time.js';

/** Cores that processes take turns on: a process has one for as long as its event loop does something. */
export class Machine {
  #free: number;
  readonly #waiting: (() => void)[] = [];

  constructor(
    readonly time: VirtualTime,
    cores: number,
  ) {
    this.#free = cores;
  }

  take(run: () => void): void {
    if (this.#free === 0) {
      this.#waiting.push(run);
      return;
    }
    this.#free -= 1;
    run();
  }

  give(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#free += 1;
    else next();
  }
}

interface Job {
  /** µs of CPU. */
  readonly cost: number;
  /** At the end of the turn: nothing leaves an event loop before. */
  readonly act: () => void;
}

/**
 * A process with one event loop. A turn does all that has come until it begins; what comes meanwhile waits for the next one. So the
 * busier a loop is the more it does in a turn, and what a turn costs by itself is shared by more.
 */
export class EventLoop {
  /** µs of CPU so far, and of all time in which nothing new could begin. */
  used = 0;
  busy = 0;
  #inbox: Job[] = [];
  #isAtWork = false;
  readonly #ends: (() => void)[] = [];

  /**
   * @param turn what a turn costs by itself, µs
   * @param after what it waits for at the end of a turn that does something, without a core (a disk), µs
   */
  constructor(
    private readonly machine: Machine,
    private readonly turn: number,
    private readonly after = 0,
  ) {}

  get now(): number {
    return this.machine.time.now;
  }

  put(cost: number, act: () => void): void {
    this.#inbox.push({ cost, act });
    this.#begin();
  }

  /** Called at the end of each turn, in the order in which they were asked for: what is gathered during a turn leaves then. */
  onTurn(task: () => void): void {
    this.#ends.push(task);
  }

  #begin(): void {
    if (this.#isAtWork || this.#inbox.length === 0) return;
    this.#isAtWork = true;
    this.machine.take(() => {
      const jobs = this.#inbox;
      this.#inbox = [];
      const cost = jobs.reduce((sum, job) => sum + job.cost, this.turn);
      this.used += cost;
      this.busy += cost + this.after;
      const { time } = this.machine;
      time.schedule(time.now + cost, () => {
        this.machine.give();
        if (this.after === 0) this.#end(jobs);
        else time.schedule(time.now + this.after, () => this.#end(jobs));
      });
    });
  }

  #end(jobs: readonly Job[]): void {
    for (const { act } of jobs) act();
    for (const task of this.#ends) task();
    this.#isAtWork = false;
    this.#begin();
  }
}
