/** EnQueue+DeQueue pairs at a rate: so that what is added to a server is seen in its time, and not in how much it does. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { makeKeys } from '../coordinator.js';
import { outcomeValue, type SessionStream } from './session-stream.js';
import { deQueue, enQueue, turnOf } from './wire.js';

const KEYS = 10_000;
const TICK_MS = 2;
/** Beyond that the server does not keep up, and the rate is none. */
const MOST_OPEN = 20_000;

export class SteadyPairs {
  readonly #keys = makeKeys(KEYS);
  #timer: NodeJS.Timeout | undefined;
  #begun = 0;
  #done = 0;

  constructor(private readonly stream: SessionStream) {}

  get done(): number {
    return this.#done;
  }

  /** A throw in its callbacks ends the process of the row. */
  start(perSecond: number): void {
    const start = performance.now();
    const before = this.#begun;
    this.#timer = setInterval(() => {
      const due = before + Math.floor(((performance.now() - start) * perSecond) / 1_000);
      while (this.#begun < due) this.#begin();
      if (this.#begun - this.#done > MOST_OPEN) throw new Error(`the sidecar does not do ${perSecond} pairs a second`);
    }, TICK_MS);
  }

  /** Resolves when the last one is done. */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    while (this.#done < this.#begun) await nextTurn();
  }

  #begin(): void {
    const key = this.#keys[this.#begun++ % KEYS] ?? '';
    this.stream.send(enQueue(key), (outcome) => {
      this.stream.send(deQueue(key, turnOf(outcomeValue(outcome, 'enqueue')).token), (last) => {
        outcomeValue(last, 'dequeue');
        this.#done += 1;
      });
    });
  }
}
