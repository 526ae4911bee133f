/**
 * Items that come when they come, whether or not those before them are done: an open loop. The wait of an item begins when it was
 * due, not when the load came to send it, so that a server that stands still cannot keep the load from noticing (coordinated
 * omission: G. Tene, "How NOT to Measure Latency").
 */
import { Random } from '../../src/core/structures/random.js';
import { Decision, type Turn } from '../../src/grpc/gen/keyturn/v1/coordinator.js';
import { makeKeys } from '../coordinator.js';
import { outcomeValue, type SessionStream } from './session-stream.js';
import { ack, acquire, newItem, seconds, submit } from './wire.js';

export interface Offered {
  readonly items: number;
  readonly perSecond: number;
  readonly keys: number;
  /** So many of a thousand items are slow. */
  readonly slowOfThousand: number;
  /** How long their work takes; that of others takes no time. */
  readonly slowMs: number;
}

/** Of each item, by number. */
interface Schedule {
  /** When it is due, ms from the start. */
  readonly due: Float64Array;
  readonly key: Uint32Array;
  readonly isSlow: Uint8Array;
}

const PAYLOAD_BYTES = 200;
/** Acquires that wait at once, and turns of each: workers are never what an item waits for. */
const ACQUIRES = 8;
const TURNS = 32;
const WAIT = seconds(5);
/** Between two looks for what is due, ms: the finest that a timer has. */
const TICK = 1;
const ITEMS_PER_SUBMIT = 500;

type Sending = Pick<SessionStream, 'send'>;

/** One producer and one worker, each on a session of its own that has said hello. */
export class OpenLoop {
  readonly #keys: readonly string[];
  readonly #schedule: Schedule;
  /** When the last turn of a key was acknowledged, ms from the start. */
  readonly #freeSince: Float64Array;
  #waits = new Float64Array(0);
  #start = 0;
  #left = 0;
  #done: () => void = () => undefined;

  constructor(
    private readonly producer: Sending,
    private readonly worker: Sending,
    private readonly offered: Offered,
  ) {
    this.#keys = makeKeys(offered.keys);
    this.#schedule = scheduleOf(offered);
    this.#freeSince = new Float64Array(offered.keys);
    // They stay from one run to the next.
    for (let acquires = 0; acquires < ACQUIRES; acquires++) this.#acquire();
  }

  /** A throw in its callbacks ends the process of the row. @returns of each item, how long it waited since it could start, ms */
  async run(): Promise<Float64Array> {
    this.#waits = new Float64Array(this.offered.items);
    this.#left = this.offered.items;
    this.#freeSince.fill(0);
    const done = new Promise<void>((resolve) => {
      this.#done = resolve;
    });
    this.#start = performance.now();
    this.#submitWhenDue();
    await done;
    return this.#waits;
  }

  #submitWhenDue(): void {
    const { due } = this.#schedule;
    let next = 0;
    const timer = setInterval(() => {
      const now = this.#now();
      while (next < due.length && (due[next] ?? 0) <= now) {
        const from = next;
        while (next < due.length && next - from < ITEMS_PER_SUBMIT && (due[next] ?? 0) <= now) next++;
        this.#submit(from, next);
      }
      if (next === due.length) clearInterval(timer);
    }, TICK);
  }

  #submit(from: number, to: number): void {
    const items = Array.from({ length: to - from }, (_, index) => this.#item(from + index));
    this.producer.send(submit(items), (outcome) => {
      const { results } = outcomeValue(outcome, 'submit');
      const accepted = results.filter(({ decision }) => decision === Decision.DECISION_ACCEPT).length;
      if (accepted !== items.length) throw new Error(`of ${items.length} items ${accepted} were accepted`);
    });
  }

  #item(index: number) {
    const payload = Buffer.alloc(PAYLOAD_BYTES);
    payload.writeUInt32LE(index);
    return newItem(this.#keys[this.#schedule.key[index] ?? 0] ?? '', payload);
  }

  #acquire(): void {
    this.worker.send(acquire(TURNS, WAIT), (outcome) => {
      // The sessions are closed when all is measured.
      if (outcome instanceof Error && this.#left === 0) return;
      const { deliveries } = outcomeValue(outcome, 'acquire');
      this.#acquire();
      for (const { turn, items } of deliveries) {
        const payload = items[0]?.payload;
        if (turn === undefined || payload === undefined)
          throw new Error('a delivery without a turn, or without its item');
        this.#work(turn, Buffer.from(payload.buffer, payload.byteOffset).readUInt32LE());
      }
    });
  }

  #work(turn: Turn, index: number): void {
    const { due, key, isSlow } = this.#schedule;
    const couldStart = Math.max(due[index] ?? 0, this.#freeSince[key[index] ?? 0] ?? 0);
    this.#waits[index] = this.#now() - couldStart;
    if (isSlow[index] === 1) setTimeout(() => this.#end(turn, index), this.offered.slowMs);
    else this.#end(turn, index);
  }

  #end({ key, token }: Turn, index: number): void {
    this.#freeSince[this.#schedule.key[index] ?? 0] = this.#now();
    this.worker.send(ack(key, token), (outcome) => {
      outcomeValue(outcome, 'ack');
      if (--this.#left === 0) this.#done();
    });
  }

  #now(): number {
    return performance.now() - this.#start;
  }
}

/** Arrivals as of very many who know nothing of each other (Poisson), keys all alike; the same in every run. */
function scheduleOf({ items, perSecond, keys, slowOfThousand }: Offered): Schedule {
  const random = new Random(4711);
  const due = new Float64Array(items);
  let at = 0;
  for (let index = 0; index < items; index++) {
    at -= (Math.log(1 - random.next()) * 1_000) / perSecond;
    due[index] = at;
  }
  return {
    due,
    key: Uint32Array.from({ length: items }, () => Math.floor(random.next() * keys)),
    isSlow: Uint8Array.from({ length: items }, () => (random.next() * 1_000 < slowOfThousand ? 1 : 0)),
  };
}
