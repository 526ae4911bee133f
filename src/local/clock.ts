import { performance } from 'node:perf_hooks';

/** Time as the loop sees it. The only source of time in the embedded coordinator; tests put their own in its place. */
export interface Clock {
  /** Monotonic, ms since an arbitrary origin, with fractions. */
  now(): number;
  /** The wall clock, ms since the Unix epoch. It may step; nothing is decided by it but the first token. */
  wall(): number;
  /** Runs `task` once, not before `ms` have passed. Returns what calls it off. */
  after(ms: number, task: () => void): () => void;
  /** Runs `task` in the next turn of the event loop. */
  soon(task: () => void): void;
}

/** setTimeout overflows to "at once" above this. */
const LONGEST_TIMEOUT = 2_147_483_647;

/** How often one reading is told. */
const USES = 16;
const SETTLED = Promise.resolve();

/**
 * A clock that is read once for what happens in one go: calls that came in one message happen at one moment, and reading
 * the clock costs a tenth of a turn. It is read anew when the event loop has had its say, and after {@link USES} uses:
 * for whoever never lets the loop have its say, time lags behind by a few calls at most.
 */
export class ReadOnce {
  #last = 0;
  #left = 0;
  #isToEnd = false;

  constructor(private readonly read: () => number) {}

  now(): number {
    if (this.#left === 0) return this.#readAnew();
    this.#left -= 1;
    return this.#last;
  }

  #readAnew(): number {
    this.#last = this.read();
    this.#left = USES - 1;
    if (!this.#isToEnd) {
      this.#isToEnd = true;
      void SETTLED.then(this.#end);
    }
    return this.#last;
  }

  readonly #end = () => {
    this.#isToEnd = false;
    this.#left = 0;
  };
}

const monotonic = new ReadOnce(() => performance.now());

export const systemClock: Clock = {
  now: () => monotonic.now(),
  wall: () => Date.now(),
  after(ms, task) {
    let left = Math.ceil(ms);
    let timer: NodeJS.Timeout;
    const arm = () => {
      const part = Math.min(left, LONGEST_TIMEOUT);
      left -= part;
      timer = setTimeout(left > 0 ? arm : task, part);
    };
    arm();
    return () => clearTimeout(timer);
  },
  soon: (task) => void setImmediate(task),
};
