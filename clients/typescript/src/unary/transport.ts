/** The calls of a worker as unary calls: one after another, each by itself. For comparison, and for a single call. */
import { credentials } from '@grpc/grpc-js';
import type { Connection } from '../connection/connection.js';
import { CoordinatorServiceClient } from '../gen/keyturn/v1/coordinator.js';
import type { Clock } from '../time/clock.js';
import { Confirmations, turnsOfDeliveries, withoutNext } from '../turns/confirmations.js';
import { Held } from '../turns/held-turn.js';
import { Renewals } from '../turns/renewals.js';
import * as answers from '../wire/answers.js';
import * as requests from '../wire/requests.js';
import { type CallSettings, type HeldTurn, LONGEST_WAIT_MS, type Transport } from '../words/calls.js';
import { clientClosed } from '../words/errors.js';
import type {
  AckAnswer,
  AckCall,
  AcquireAnswer,
  AcquireCall,
  AwaitAnswer,
  AwaitCall,
  DeQueueAnswer,
  DeQueueCall,
  EnQueueAnswer,
  EnQueueCall,
  NackAnswer,
  NackCall,
  RenewAnswer,
  RenewCall,
  SubmitAnswer,
  SubmitCall,
  Turn,
} from '../words/worker-words.js';
import { Leaving } from './leaving.js';
import { OpenCalls } from './open-calls.js';

interface UnaryOptions {
  readonly connection: Connection;
  readonly clock: Clock;
  /** Who asks, in calls that do not say. */
  readonly consumerId: string | undefined;
  /** How long before a turn may have ended its signal aborts, ms. Unset: a tenth of its lease, at most 2 s. */
  readonly margin: number | undefined;
}

/** How long the holder of a turn has to end when the client is closed, ms. */
const HOLDERS_MS = 1_000;

export class UnaryTransport implements Transport {
  readonly clock: Clock;
  readonly #coordinator: CoordinatorServiceClient;
  readonly #calls: OpenCalls;
  /** Calls that end turns or keep them. They may come through while the client is closed. */
  readonly #endings: OpenCalls;
  readonly #leaving: Leaving;
  readonly #consumerId: string | undefined;
  readonly #renewals: Renewals;
  readonly #confirmations: Confirmations;
  readonly #held = new Set<Held>();
  #onReleased: () => void = () => undefined;
  #isClosing = false;
  #closed: Promise<void> | undefined;

  constructor({ connection, clock, consumerId, margin }: UnaryOptions) {
    const { address, options, reach } = connection;
    this.#calls = new OpenCalls(reach);
    this.#endings = new OpenCalls(reach);
    this.#leaving = new Leaving(connection, clock);
    this.clock = clock;
    this.#coordinator = new CoordinatorServiceClient(address, credentials.createInsecure(), options);
    this.#consumerId = consumerId;
    this.#renewals = new Renewals(this, clock, margin);
    this.#confirmations = new Confirmations(this, clock, (turn) => this.#leaving.giveBack(turn));
  }

  async enQueue(call: EnQueueCall, settings?: CallSettings): Promise<EnQueueAnswer> {
    const client = this.#coordinator;
    const wait = call.wait ?? LONGEST_WAIT_MS;
    const request = requests.wireEnQueue(call, this.#consumerId);
    const asked = this.#calls.ask(client, client.enQueue, request, settings, wait);
    const { queue, key, ticket } = call;
    if (ticket !== undefined && settings?.leave === true) this.#leaving.place(asked, { queue, key, ticket });
    return this.#confirmations.of(asked.then(answers.enQueueAnswer), (answer) =>
      answer.decision === 'accept' ? [answer.turn] : [],
    );
  }

  async deQueue(call: DeQueueCall, settings?: CallSettings): Promise<DeQueueAnswer> {
    const client = this.#coordinator;
    return this.#ending(client, client.deQueue, requests.wireDeQueue(call), settings);
  }

  async submit(call: SubmitCall, settings?: CallSettings): Promise<SubmitAnswer> {
    const client = this.#coordinator;
    const request = requests.wireSubmit(call);
    return answers.submitAnswer(await this.#calls.ask(client, client.submit, request, settings, call.waitForRoom));
  }

  async acquire(call: AcquireCall, settings?: CallSettings): Promise<AcquireAnswer> {
    const client = this.#coordinator;
    const request = requests.wireAcquire(call, this.#consumerId);
    const asked = this.#calls.ask(client, client.acquire, request, settings, call.wait);
    const { queues, key, ticket } = call;
    if (ticket !== undefined && settings?.leave === true) {
      if (key === undefined) this.#leaving.turns(asked, call, this.#consumerId);
      else this.#leaving.place(asked, { queue: queues[0] ?? '', key, ticket });
    }
    return this.#confirmations.of(
      asked.then((message) => answers.acquireAnswer(message)),
      turnsOfDeliveries,
    );
  }

  async ack(call: AckCall, settings?: CallSettings): Promise<AckAnswer> {
    const client = this.#coordinator;
    const request = requests.wireAck(call, this.#consumerId);
    const asked = this.#ending(client, client.ack, request, settings, call.next?.wait);
    return this.#confirmations.of(
      asked.then((message) => answers.ackAnswer(message)),
      ({ next }) => (next === undefined ? [] : turnsOfDeliveries(next)),
      withoutNext,
    );
  }

  async nack(call: NackCall, settings?: CallSettings): Promise<NackAnswer> {
    const client = this.#coordinator;
    return answers.nackAnswer(await this.#ending(client, client.nack, requests.wireNack(call), settings));
  }

  async renew(call: RenewCall, settings?: CallSettings): Promise<RenewAnswer> {
    const client = this.#coordinator;
    return answers.renewAnswer(await this.#ending(client, client.renew, requests.wireRenew(call), settings));
  }

  async awaitItem(call: AwaitCall, settings?: CallSettings): Promise<AwaitAnswer> {
    const client = this.#coordinator;
    return answers.awaitAnswer(
      await this.#calls.ask(client, client.await, requests.wireAwait(call), settings, call.wait),
    );
  }

  hold(turn: Turn, askedAt: number): HeldTurn {
    const held = new Held(turn, (one) => this.#release(one));
    this.#held.add(held);
    if (this.#isClosing) held.lose('closed');
    else this.#renewals.keep(held, this.#confirmations.since(turn, askedAt));
    return held;
  }

  #release(held: Held): void {
    this.#renewals.drop(held);
    if (!this.#held.delete(held) || !this.#isClosing) return;
    // Its holder was told that the client is being closed, and has ended.
    if (held.lost) this.#leaving.giveBack(held.turn);
    if (this.#held.size === 0) this.#onReleased();
  }

  /** Holders of turns were told to stop, and have a moment to do so. */
  async #released(): Promise<void> {
    if (this.#held.size === 0) return;
    await new Promise<void>((resolve) => {
      const callOff = this.clock.after(HOLDERS_MS, resolve);
      this.#onReleased = () => {
        callOff();
        resolve();
      };
    });
  }

  #ending<Q, M>(...call: Parameters<typeof OpenCalls.prototype.ask<Q, M>>): Promise<M> {
    if (this.#isClosing) return Promise.reject(clientClosed());
    const asked = this.#endings.ask(...call);
    this.#leaving.ending(asked);
    return asked;
  }

  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #close(): Promise<void> {
    this.#isClosing = true;
    this.#confirmations.close();
    this.#renewals.close('closed');
    this.#calls.close();
    await this.#released();
    await this.#leaving.close();
    this.#endings.close();
  }
}
