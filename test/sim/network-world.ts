/** True time, and the processes that live in it. Each has a clock of its own, which is wrong in its own way. */
import { FIRST_WALL } from '../support/fake-clock.js';
import type { Chance } from './random.js';

interface Event {
  readonly at: number;
  /** Of two at one moment the one that was set first comes first. */
  readonly order: number;
  task: (() => void) | undefined;
}

/** Stops a world in which something happens for ever without time passing. */
const MOST_EVENTS_AT_ONCE = 100_000;

export class World {
  /** True time, ms. No process knows it. */
  now = 0;
  /** Promises may have something to do. */
  isStirred = false;
  readonly #heap: Event[] = [];
  #order = 0;
  #live = 0;

  /** Events that are still to come. */
  get pending(): number {
    return this.#live;
  }

  at(at: number, task: () => void): () => void {
    this.#order += 1;
    const event: Event = { at: Math.max(at, this.now), order: this.#order, task };
    this.#push(event);
    this.#live += 1;
    return () => {
      if (event.task === undefined) return;
      event.task = undefined;
      this.#live -= 1;
    };
  }

  /** Lets time pass. After each event promises go as far as they can, so that the same seed always takes the same way. */
  async pass(ms: number): Promise<void> {
    const end = this.now + ms;
    let atOnce = 0;
    for (let next = this.#heap[0]; next !== undefined && next.at <= end; next = this.#heap[0]) {
      this.#pop();
      const { task } = next;
      if (task === undefined) continue;
      atOnce = next.at > this.now ? 0 : atOnce + 1;
      if (atOnce > MOST_EVENTS_AT_ONCE) throw new Error(`more than ${MOST_EVENTS_AT_ONCE} events at ${this.now} ms`);
      this.now = next.at;
      next.task = undefined;
      this.#live -= 1;
      task();
      if (this.isStirred) await this.settle();
    }
    this.now = end;
  }

  /** Nothing in this world waits for real time or real I/O: by the next turn of the real event loop every promise rests. */
  settle(): Promise<void> {
    this.isStirred = false;
    return new Promise((resolve) => setImmediate(resolve));
  }

  #push(event: Event): void {
    const heap = this.#heap;
    let at = heap.push(event) - 1;
    while (at > 0) {
      const above = (at - 1) >> 1;
      const other = heap[above];
      if (other === undefined || !isBefore(event, other)) break;
      heap[at] = other;
      at = above;
    }
    heap[at] = event;
  }

  #pop(): void {
    const heap = this.#heap;
    const last = heap.pop();
    if (last === undefined || heap.length === 0) return;
    let at = 0;
    for (;;) {
      const [left, right] = [heap[2 * at + 1], heap[2 * at + 2]];
      const isRight = left !== undefined && right !== undefined && isBefore(right, left);
      const first = isRight ? right : left;
      if (first === undefined || !isBefore(first, last)) break;
      heap[at] = first;
      at = 2 * at + (isRight ? 2 : 1);
    }
    heap[at] = last;
  }
}

function isBefore(one: Event, other: Event): boolean {
  return one.at < other.at || (one.at === other.at && one.order < other.order);
}

export interface ProcessNature {
  /** How fast its clock goes: 1.01 is one percent too fast. */
  readonly rate: number;
  /** What its clock says at the beginning, ms. */
  readonly offset: number;
  /** How late a timer may be at most, ms. */
  readonly lateness: number;
}

type Cause = 'timer' | 'io';

interface Late {
  readonly cause: Cause;
  readonly run: () => void;
}

/** A process: what happens in it happens one after another, and not while it stands still. It is the clock of what runs in it. */
export class Process {
  /** `catching up`: it stood still, and what became due meanwhile is not all done yet. */
  state: 'running' | 'stopped' | 'catching up' | 'dead' = 'running';
  /** Timers and tasks that still stand. */
  pending = 0;
  /** Told when it has caught up. */
  onCaughtUp: () => void = () => undefined;
  #late: Late[] = [];

  constructor(
    readonly name: string,
    private readonly world: World,
    private readonly chance: Chance,
    private readonly nature: ProcessNature,
  ) {}

  now(): number {
    return this.nature.offset + this.world.now * this.nature.rate;
  }

  wall(): number {
    return FIRST_WALL + this.world.now;
  }

  /** As setTimeout does: whole ms, at least one, never early. */
  after(ms: number, task: () => void): () => void {
    const wait = Math.max(1, Math.ceil(ms)) / this.nature.rate + this.chance.next() * this.nature.lateness;
    return this.#later(this.world.now + wait, 'timer', task);
  }

  soon(task: () => void): void {
    this.#later(this.world.now, 'io', task);
  }

  /** In a simulated process whatever runs ends before anything else does. */
  atEnd(task: () => void): void {
    this.soon(task);
  }

  /** Something reaches it from outside. */
  hear(task: () => void): void {
    this.#enter({ cause: 'io', run: task });
  }

  /** As a garbage collection, a debugger, or a machine that sleeps does: its clock goes on. */
  stop(): void {
    if (this.state === 'running') this.state = 'stopped';
  }

  goOn(): void {
    if (this.state !== 'stopped') return;
    this.state = 'catching up';
    // The event loop stood in any of its phases.
    const first: Cause = this.chance.in100(50) ? 'timer' : 'io';
    this.#late.sort((one, other) => Number(other.cause === first) - Number(one.cause === first));
    this.world.at(this.world.now, () => this.#catchUp());
  }

  /** As `kill -9` does. */
  kill(): void {
    this.state = 'dead';
    this.pending = 0;
    this.#late = [];
  }

  #later(at: number, cause: Cause, task: () => void): () => void {
    let stands = true;
    this.pending += 1;
    const callOffEvent = this.world.at(at, () => {
      this.#enter({
        cause,
        run: () => {
          if (!stands) return;
          stands = false;
          this.pending -= 1;
          task();
        },
      });
    });
    return () => {
      if (!stands) return;
      stands = false;
      if (this.state !== 'dead') this.pending -= 1;
      callOffEvent();
    };
  }

  #enter(what: Late): void {
    if (this.state === 'dead') return;
    if (this.state !== 'running') {
      this.#late.push(what);
      return;
    }
    this.world.isStirred = true;
    what.run();
  }

  #catchUp(): void {
    if (this.state !== 'catching up') return;
    const next = this.#late.shift();
    if (next === undefined) {
      this.state = 'running';
      this.onCaughtUp();
      return;
    }
    this.world.isStirred = true;
    next.run();
    this.world.at(this.world.now, () => this.#catchUp());
  }
}
