/** The calls of a worker as unary calls: one after another, each by itself. For comparison, and for a single call. */
import { type Channel, credentials } from '@grpc/grpc-js';
import type { CallSettings, HeldTurn, Transport } from '../calls.js';
import type { Clock } from '../clock.js';
import { CoordinatorServiceClient } from '../gen/keyturn/v1/coordinator.js';
import { Held } from '../turns/held-turn.js';
import { Renewals } from '../turns/renewals.js';
import * as answers from '../wire/answers.js';
import * as requests from '../wire/requests.js';
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
} from '../words.js';
import { ask, LONGEST_WAIT_MS } from './ask.js';

export interface UnaryOptions {
  readonly address: string;
  readonly channel: Channel;
  readonly clock: Clock;
  /** Who asks, in calls that do not say. */
  readonly consumerId: string | undefined;
  /** How long before a turn may have ended its signal aborts, ms. Unset: a tenth of its lease, at most 2 s. */
  readonly margin: number | undefined;
}

export class UnaryTransport implements Transport {
  readonly clock: Clock;
  readonly #coordinator: CoordinatorServiceClient;
  readonly #consumerId: string | undefined;
  readonly #renewals: Renewals;
  #closed = false;

  constructor({ address, channel, clock, consumerId, margin }: UnaryOptions) {
    this.clock = clock;
    this.#coordinator = new CoordinatorServiceClient(address, credentials.createInsecure(), {
      channelOverride: channel,
    });
    this.#consumerId = consumerId;
    this.#renewals = new Renewals(this, clock, margin);
  }

  async enQueue(call: EnQueueCall, settings?: CallSettings): Promise<EnQueueAnswer> {
    const client = this.#coordinator;
    const wait = call.wait ?? LONGEST_WAIT_MS;
    const request = requests.wireEnQueue(call, this.#consumerId);
    return answers.enQueueAnswer(await ask(client, client.enQueue, request, settings, wait));
  }

  async deQueue(call: DeQueueCall, settings?: CallSettings): Promise<DeQueueAnswer> {
    const client = this.#coordinator;
    return ask(client, client.deQueue, requests.wireDeQueue(call), settings);
  }

  async submit(call: SubmitCall, settings?: CallSettings): Promise<SubmitAnswer> {
    const client = this.#coordinator;
    const request = requests.wireSubmit(call);
    return answers.submitAnswer(await ask(client, client.submit, request, settings, call.waitForRoom));
  }

  async acquire(call: AcquireCall, settings?: CallSettings): Promise<AcquireAnswer> {
    const client = this.#coordinator;
    const request = requests.wireAcquire(call, this.#consumerId);
    return answers.acquireAnswer(await ask(client, client.acquire, request, settings, call.wait));
  }

  async ack(call: AckCall, settings?: CallSettings): Promise<AckAnswer> {
    const client = this.#coordinator;
    const request = requests.wireAck(call, this.#consumerId);
    return answers.ackAnswer(await ask(client, client.ack, request, settings, call.next?.wait));
  }

  async nack(call: NackCall, settings?: CallSettings): Promise<NackAnswer> {
    const client = this.#coordinator;
    return answers.nackAnswer(await ask(client, client.nack, requests.wireNack(call), settings));
  }

  async renew(call: RenewCall, settings?: CallSettings): Promise<RenewAnswer> {
    const client = this.#coordinator;
    return answers.renewAnswer(await ask(client, client.renew, requests.wireRenew(call), settings));
  }

  async awaitItem(call: AwaitCall, settings?: CallSettings): Promise<AwaitAnswer> {
    const client = this.#coordinator;
    return answers.awaitAnswer(await ask(client, client.await, requests.wireAwait(call), settings, call.wait));
  }

  hold(turn: Turn, askedAt: number): HeldTurn {
    const held = new Held(turn, (one) => this.#renewals.drop(one));
    this.#renewals.keep(held, askedAt);
    return held;
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.#renewals.close('closed');
    this.#coordinator.close();
  }
}
