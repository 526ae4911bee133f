import type { Counts } from './figures.js';
import type { Traffic } from './traffic.js';
import { VirtualTime } from './virtual-time.js';
import { Watch } from './watch.js';

/** What becomes of a message that arrives is the design's matter. */
export interface Design {
  arrive(message: number): void;
}

/** What all designs share: time, arrivals, and work. Calls and hand-overs take no time, in any of them. */
export class Stage {
  readonly time = new VirtualTime();
  readonly #watch: Watch;
  #next = 0;
  #open = 0;

  constructor(
    readonly traffic: Traffic,
    readonly workers: number,
    readonly counts: Counts,
  ) {
    this.#watch = new Watch(traffic, workers, counts);
  }

  /** Messages arrive until there is no more, and all are processed. A step of the generator is one event. */
  *play(design: Design): Generator<void, void, undefined> {
    this.#expect(design);
    while (this.time.step()) yield;
    if (this.#open !== 0) throw new Error(`${this.#open} messages were never processed`);
  }

  /** A worker takes a message, which is nobody's key at the moment. */
  work(message: number, done: () => void): void {
    const { time } = this;
    this.#watch.begin(message, time.now);
    time.schedule(time.now + (this.traffic.work[message] ?? 0), () => {
      this.#watch.end(message, time.now);
      this.#open -= 1;
      done();
    });
  }

  /** It is not needed: another message of its key stands in for it. */
  decline(): void {
    this.#open -= 1;
    this.counts.declined += 1;
  }

  keyOf(message: number): number {
    return this.traffic.keyOf[message] ?? 0;
  }

  #expect(design: Design): void {
    const message = this.#next;
    const at = this.traffic.at[message];
    if (at === undefined) return;
    this.#next += 1;
    this.time.schedule(at, () => {
      this.#open += 1;
      this.#watch.arrive(message, this.time.now);
      this.#expect(design);
      design.arrive(message);
    });
  }
}
