import { Random } from '../core/structures/random.js';
import { Fifo } from './fifo.js';
import type { Design, Stage } from './stage.js';

/** How long those wait who found a lock taken, ms. */
interface LockPatience {
  /** Between two looks at a lock: the first time, twice as long each further time, up to the longest. */
  readonly firstLook: number;
  readonly longestLook: number;
  /** A worker looks for so long, then puts its message back and takes another one. 0: at once. */
  readonly spin: number;
  /** What was put back is there again after: the first time, twice as long each further time, up to the longest. */
  readonly firstReturn: number;
  readonly longestReturn: number;
}

/**
 * One queue, and a lock per key that a worker takes before it works. A lock that is taken is looked at again and again,
 * while its worker waits; then the message is put back, and is there again later. Waits differ by up to a quarter by chance.
 */
export class Locked implements Design {
  readonly #queue = new Fifo();
  /** By key. */
  readonly #locked: Uint8Array;
  /** By message: how often it was put back. */
  readonly #returns: Uint8Array;
  readonly #random: Random;
  #idle: number;

  constructor(
    private readonly stage: Stage,
    private readonly patience: LockPatience,
    seed: number,
  ) {
    this.#locked = new Uint8Array(stage.traffic.keys.length);
    this.#returns = new Uint8Array(stage.traffic.keyOf.length);
    this.#random = new Random(seed);
    this.#idle = stage.workers;
  }

  arrive(message: number): void {
    this.#queue.push(message);
    this.#serve();
  }

  #serve(): void {
    if (this.#idle === 0) return;
    const message = this.#queue.shift();
    if (message === undefined) return;
    this.#idle -= 1;
    this.#look(message, 0, this.stage.time.now);
  }

  #free(): void {
    this.#idle += 1;
    this.#serve();
  }

  #look(message: number, looks: number, since: number): void {
    const key = this.stage.keyOf(message);
    if (this.#locked[key] === 0) {
      this.#locked[key] = 1;
      this.stage.work(message, () => {
        this.#locked[key] = 0;
        this.#free();
      });
      return;
    }
    this.stage.counts.inVain += 1;
    const { time } = this.stage;
    const { firstLook, longestLook, spin } = this.patience;
    if (time.now - since >= spin) return this.#putBack(message);
    time.schedule(time.now + this.#about(Math.min(longestLook, firstLook * 2 ** looks)), () =>
      this.#look(message, looks + 1, since),
    );
  }

  #putBack(message: number): void {
    const { time } = this.stage;
    const { firstReturn, longestReturn } = this.patience;
    const before = this.#returns[message] ?? 0;
    this.#returns[message] = Math.min(255, before + 1);
    time.schedule(time.now + this.#about(Math.min(longestReturn, firstReturn * 2 ** before)), () =>
      this.arrive(message),
    );
    this.#free();
  }

  #about(wait: number): number {
    return wait * (0.75 + this.#random.next() / 2);
  }
}
