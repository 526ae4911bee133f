/** Between clients and the coordinator: delays, lost and repeated requests, lost answers. */
import assert from 'node:assert/strict';
import type { Pending, Refusal, Reply, Waiting } from '../../src/coordinator.js';
import type { FakeClock } from '../support/fake-clock.js';
import type { Link } from './links.js';
import type { Chance } from './random.js';

export type Received<T> = { readonly answer: T } | { readonly refusal: Refusal } | 'timeout';

/** How a call is made at the coordinator's door. */
export type Send<T> = (reply: Reply<T>) => Waiting;

export interface Caller {
  readonly name: string;
  /** False: the client has vanished. */
  readonly alive: boolean;
  /** Unset: it makes unary calls. */
  readonly link: Link | undefined;
}

export class Network {
  /** Calls that the coordinator has been given and has not answered. */
  open = 0;
  answered = 0;
  /** At the end it is a good one: nothing is lost any more. */
  reliable = false;
  #calls = 0;

  constructor(
    private readonly clock: FakeClock,
    private readonly chance: Chance,
    private readonly log: (line: string) => void,
  ) {}

  /**
   * Calls, and hears of it once: the first answer that comes back, or that none came in `patience` ms. What the
   * coordinator is given is always the same call, however often the network repeats it.
   */
  call<T>(who: Caller, what: string, patience: number, send: Send<T>, hear: (received: Received<T>) => void): void {
    let heard = false;
    const once = (received: Received<T>) => {
      if (heard || !who.alive) return;
      heard = true;
      who.link?.heard(received);
      hear(received);
    };
    const cancels: (() => void)[] = [];
    const copies = !this.reliable && this.chance.in100(3) ? 2 : 1;
    for (let copy = 0; copy < copies; copy++) {
      // What is sent while there is no connection is lost.
      this.#travel(() => {
        if (who.link === undefined || who.link.current !== undefined) cancels.push(this.#arrive(who, what, send, once));
      });
    }
    this.clock.after(patience, () => {
      // A broken connection is seen by the coordinator, or it is not.
      const seen = this.chance.in100(50);
      if (!heard && seen) for (const cancel of cancels) cancel();
      once('timeout');
    });
  }

  #arrive<T>(who: Caller, what: string, send: Send<T>, once: (received: Received<T>) => void): () => void {
    const number = ++this.#calls;
    let done = false;
    const stream = who.link?.current;
    const isLost = () => who.link?.current !== stream;
    const settle = (received: Exclude<Received<T>, 'timeout'>, word: string): boolean => {
      assert.ok(!done, `I7: call ${number} of ${who.name} is answered twice`);
      done = true;
      this.open -= 1;
      this.answered += 1;
      this.log(`${number} ${word} ${JSON.stringify(received)}`);
      // That nobody is there any more is known at once, or not at all.
      if (isLost() || (!who.alive && this.chance.in100(50))) return false;
      this.#travel(() => {
        if (!isLost()) once(received);
      });
      return true;
    };
    this.open += 1;
    this.log(`${number} ${who.name} ${what}`);
    const pending: Pending | undefined = send({
      answer: (value) => settle({ answer: value }, 'answer'),
      refuse: (refusal) => void settle({ refusal }, 'refusal'),
    });
    const cancel = () => {
      if (done || pending === undefined) return;
      done = true;
      this.open -= 1;
      this.log(`${number} cancel`);
      pending.cancel();
    };
    who.link?.opened(cancel);
    return cancel;
  }

  #travel(arrive: () => void): void {
    if (!this.reliable && this.chance.in100(4)) return;
    this.clock.after(this.chance.in100(5) ? this.chance.int(200, 2_000) : this.chance.int(0, 20), arrive);
  }
}
