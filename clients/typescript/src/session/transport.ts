/** The calls of a worker over a session. */

import type { Clock } from '../time/clock.js';
import { Confirmations, turnsOfDeliveries, withoutNext } from '../turns/confirmations.js';
import { Renewals } from '../turns/renewals.js';
import type { CallSettings, HeldTurn, Transport } from '../words/calls.js';
import type * as words from '../words/worker-words.js';
import type { CallCommand } from './command.js';
import { Session } from './session.js';
import type { SessionSettings, Surroundings } from './settings.js';
import * as commands from './worker-commands.js';

export class SessionTransport implements Transport {
  readonly clock: Clock;
  readonly #session: Session;
  /** Of turns with a lease of their own. What is tied lives as long as the session is known to. */
  readonly #confirmations: Confirmations;
  readonly #newId: () => string;
  #closed: Promise<void> | undefined;

  /** @param surroundings of a simulation, or the system's clock and chance and a stream of grpc-js */
  constructor(settings: SessionSettings, surroundings: Surroundings) {
    this.clock = surroundings.clock;
    this.#newId = surroundings.newId;
    this.#confirmations = new Confirmations(this, this.clock, (turn) => this.#session.turns.giveBack(turn));
    const renewals = new Renewals(this, this.clock, settings.margin, (held, cause) =>
      this.#session.turns.lose(held, cause),
    );
    this.#session = new Session(settings, surroundings, renewals);
  }

  enQueue(call: words.EnQueueCall, settings?: CallSettings): Promise<words.EnQueueAnswer> {
    const asked = this.#ask(commands.EnQueueCommand, call, settings);
    // A call that is none was refused.
    if (call?.lease === undefined) return asked;
    return this.#confirmations.of(asked, (answer) => (answer.decision === 'accept' ? [answer.turn] : []));
  }

  deQueue(call: words.DeQueueCall, settings?: CallSettings): Promise<words.DeQueueAnswer> {
    return this.#ask(commands.DeQueueCommand, call, settings);
  }

  submit(call: words.SubmitCall, settings?: CallSettings): Promise<words.SubmitAnswer> {
    // Items without an id get one: sent again after a lost answer, they would be others.
    return this.#send(() => new commands.SubmitCommand(call, this.#newId), settings);
  }

  acquire(call: words.AcquireCall, settings?: CallSettings): Promise<words.AcquireAnswer> {
    const asked = this.#ask(commands.AcquireCommand, call, settings);
    return call?.lease === undefined ? asked : this.#confirmations.of(asked, turnsOfDeliveries);
  }

  ack(call: words.AckCall, settings?: CallSettings): Promise<words.AckAnswer> {
    const asked = this.#ask(commands.AckCommand, call, settings);
    if (call?.next?.lease === undefined) return asked;
    return this.#confirmations.of(
      asked,
      ({ next }) => (next === undefined ? [] : turnsOfDeliveries(next)),
      withoutNext,
    );
  }

  nack(call: words.NackCall, settings?: CallSettings): Promise<words.NackAnswer> {
    return this.#ask(commands.NackCommand, call, settings);
  }

  renew(call: words.RenewCall, settings?: CallSettings): Promise<words.RenewAnswer> {
    return this.#ask(commands.RenewCommand, call, settings);
  }

  awaitItem(call: words.AwaitCall, settings?: CallSettings): Promise<words.AwaitAnswer> {
    return this.#ask(commands.AwaitCommand, call, settings);
  }

  hold(turn: words.Turn, askedAt: number): HeldTurn {
    return this.#session.hold(turn, this.#confirmations.since(turn, askedAt));
  }

  close(): Promise<void> {
    if (this.#closed === undefined) {
      this.#confirmations.close();
      this.#closed = this.#session.close();
    }
    return this.#closed;
  }

  #ask<C, A>(Command: new (call: C) => CallCommand<A>, call: C, settings: CallSettings | undefined): Promise<A> {
    return this.#send(() => new Command(call), settings);
  }

  /** Nothing here waits, so that no promise is made besides the one of the answer. */
  #send<A>(make: () => CallCommand<A>, settings: CallSettings | undefined): Promise<A> {
    try {
      return this.#session.ask(make(), settings);
    } catch (error) {
      return Promise.reject(error);
    }
  }
}
