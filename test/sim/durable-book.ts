/** What the parts of the ledger of a world with restarts share. */
import { type SimulatedDisk, SLOWEST } from './durable-disk.js';
import type { WorldTime } from './durable-time.js';

/** What a crash may take of what was answered: nothing, the last moments, everything. */
export type Kind = 'strict' | 'soft' | 'memory';

export interface QueueFacts {
  readonly name: string;
  readonly kind: Kind;
  readonly lease: number;
  readonly maxHold: number | undefined;
  readonly flushInterval: number;
  /** Infinity: it is not flushed by count. */
  readonly flushCount: number;
  /** Its items do not die unless somebody says so: their order can be seen. */
  readonly ordered: boolean;
  readonly parks: boolean;
  readonly atMostOnce: boolean;
  readonly dependantsRun: boolean;
  /** Idempotency keys that are done are remembered for ever. */
  readonly keepsKeys: boolean;
  /** Settlements of keys are remembered until there are newer ones. */
  readonly remembers: boolean;
}

/** When something was answered, and in which batch it is at the latest. */
export interface Stamp {
  readonly at: number;
  /** 0: it was on the disk before it was answered. */
  readonly batch: number;
}

const TAIL = 400;

export class Book {
  readonly violations: string[] = [];
  readonly tail: string[] = [];
  #events = 0;

  constructor(
    readonly time: WorldTime,
    readonly disk: SimulatedDisk,
    private readonly queues: ReadonlyMap<string, QueueFacts>,
    /** The wall clock steps. */
    readonly steps: boolean,
    private readonly onNote: (line: string) => void,
  ) {}

  note(line: string): void {
    this.tail.push(`${this.time.now} ${line}`);
    if (this.tail.length > TAIL) this.tail.shift();
    this.onNote(line);
  }

  broken(what: string): void {
    this.note(`VIOLATION ${what}`);
    this.violations.push(`at ${this.time.now}: ${what}`);
  }

  check(holds: boolean, what: () => string): void {
    if (!holds) this.broken(what());
  }

  /** Events in order, for what came before what. */
  event(): number {
    this.#events += 1;
    return this.#events;
  }

  queue(name: string): QueueFacts {
    const queue = this.queues.get(name);
    if (queue === undefined) throw new Error(`no queue ${name}`);
    return queue;
  }

  stamp(kind: Kind): Stamp {
    return { at: this.time.now, batch: kind === 'strict' ? 0 : this.disk.cut + 1 };
  }

  /**
   * A crash took back what was answered then: it must not have waited for its write for longer than its queue lets it.
   *
   * @returns whether it waited for more than for a disk that was busy
   */
  mayTake(queue: string, { at }: Stamp, what: string): boolean {
    const { time, disk } = this;
    const waited = time.now - at;
    const isFailing = disk.troubleAt >= at;
    const most = this.queue(queue).flushInterval + 2 * SLOWEST + 1;
    this.check(isFailing || waited <= most, () => `what was answered of ${what} ${waited} ms before the crash is lost`);
    return !isFailing && waited > 2 * SLOWEST;
  }
}
