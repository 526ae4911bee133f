import type { Counts } from './figures.js';
import type { Traffic } from './traffic.js';

/**
 * Sees what workers do, and believes nobody else. Of each message it knows when somebody could have worked on it: it had
 * come, and the work on the last one of its key had ended. What it waits from then on while a worker has nothing to work
 * on, it waits needlessly.
 *
 * What its key's own messages lost before it does not count against it again.
 */
export class Watch {
  /** ms in which at least one worker had nothing to work on, up to `#since`. */
  #idle = 0;
  #since = 0;
  #busy = 0;
  /** By message: `#idle` when it came. */
  readonly #idleAtArrival: Float64Array;
  /** By key: `#idle` when the last work on it ended. */
  readonly #idleAtEnd: Float64Array;
  /** By key: its latest message that was begun, from 1. */
  readonly #latest: Uint32Array;
  readonly #end: number;

  constructor(
    private readonly traffic: Traffic,
    private readonly workers: number,
    private readonly counts: Counts,
  ) {
    const { at, keys } = traffic;
    this.#idleAtArrival = new Float64Array(at.length);
    this.#idleAtEnd = new Float64Array(keys.length);
    this.#latest = new Uint32Array(keys.length);
    this.#end = at.at(-1) ?? 0;
    this.#since = at[0] ?? 0;
    counts.span += this.#end - this.#since;
  }

  arrive(message: number, now: number): void {
    this.#pass(now);
    this.counts.message();
    this.#idleAtArrival[message] = this.#idle;
  }

  begin(message: number, now: number): void {
    this.#pass(now);
    this.#busy += 1;
    if (this.#busy > this.workers) throw new Error(`${this.#busy} workers work, and there are ${this.workers}`);
    const key = this.traffic.keyOf[message] ?? 0;
    if (message + 1 < (this.#latest[key] ?? 0)) this.counts.outOfOrder += 1;
    else this.#latest[key] = message + 1;
    if (this.traffic.slow[key] === 1) return;
    const idleWhenReady = Math.max(this.#idleAtArrival[message] ?? 0, this.#idleAtEnd[key] ?? 0);
    this.counts.wait(now - (this.traffic.at[message] ?? 0), this.#idle - idleWhenReady);
  }

  end(message: number, now: number): void {
    this.#pass(now);
    this.#busy -= 1;
    this.#idleAtEnd[this.traffic.keyOf[message] ?? 0] = this.#idle;
    if (now <= this.#end) this.counts.inSpan += 1;
  }

  #pass(now: number): void {
    const passed = now - this.#since;
    if (this.#busy < this.workers) this.#idle += passed;
    this.counts.busyInSpan += this.#busy * Math.max(0, Math.min(now, this.#end) - this.#since);
    this.#since = now;
  }
}
