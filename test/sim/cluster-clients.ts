/** Workers of a simulated cluster: they ask any member, hear late or never, and try again. */
import type {
  AckAnswer,
  AckRequest,
  AcquireAnswer,
  Delivery,
  EnQueueAnswer,
  Refusal,
  RenewAnswer,
  SubmitAnswer,
  Turn,
  TurnRef,
} from '../../src/coordinator.js';
import { ackRequest, acquireRequest, deQueueRequest, enQueueRequest, newItem } from '../support/builders.js';
import type { AfterLedger } from './cluster-afters.js';
import type { ClusterLedger } from './cluster-ledger.js';
import type { ClusterNetwork, Heard, Send } from './cluster-network.js';
import type { SimProcess } from './cluster-process.js';
import type { WorldTime } from './durable-time.js';
import type { Chance } from './random.js';

export interface ClientWorld {
  readonly time: WorldTime;
  readonly chance: Chance;
  readonly ledger: ClusterLedger;
  readonly afters: AfterLedger;
  readonly network: ClusterNetwork;
  /** Whether who works in bursts works now. */
  isBusy(): boolean;
  /** Somebody to ask; unset: nobody lives. */
  anybody(): SimProcess | undefined;
  /** Nothing new is begun any more. */
  isStopping: boolean;
}

interface Named {
  readonly queue: string;
  readonly key: string;
}

/** Before the next try, ms. */
const SOON = 100;

export function askAnybody<T>(
  { network, time, anybody }: Pick<ClientWorld, 'network' | 'time' | 'anybody'>,
  { queue, key }: Named,
  send: Send<T>,
  leaves: (answer: T, home: string) => void,
  hear: (heard: Heard<T>) => void,
): void {
  const by = anybody();
  if (by === undefined) return void time.after(SOON, () => hear('lost'));
  // As it sees where queues live.
  network.ask(by, by.routes.now.map.of(queue, key), send, leaves, hear);
}

export class Client {
  constructor(protected readonly world: ClientWorld) {}

  protected ask<T>(
    named: Named,
    send: Send<T>,
    leaves: (answer: T, home: string) => void,
    hear: (heard: Heard<T>) => void,
  ): void {
    askAnybody(this.world, named, send, leaves, hear);
  }

  protected later(most: number, task: () => void): void {
    this.world.time.after(this.world.chance.int(1, most), task);
  }

  protected renew(turn: TurnRef, lease: number, hear: (isHeld: boolean) => void): void {
    const asked = this.world.time.now;
    this.ask<RenewAnswer>(
      turn,
      (calls, reply) => void calls.renew({ turns: [turn], lease }, reply),
      ({ results }) => {
        for (const { alive } of results) if (alive) this.world.ledger.renewed(turn, lease, asked);
      },
      (heard) => {
        if (heard === 'lost' || 'refusal' in heard) return;
        hear(heard.answer.results.every(({ alive }) => alive));
      },
    );
  }
}

/** Takes the lock of a key, holds it for a while, gives it back. */
export class Locker extends Client {
  constructor(
    world: ClientWorld,
    private readonly name: string,
    private readonly queue: string,
    private readonly keys: readonly string[],
    private readonly isInBursts = false,
  ) {
    super(world);
  }

  start(): void {
    if (this.world.isStopping) return;
    if (this.isInBursts && !this.world.isBusy()) return this.later(SOON, () => this.start());
    const { chance, ledger, time } = this.world;
    const asked = time.now;
    const key = chance.of('a', ...this.keys);
    const request = enQueueRequest({ queue: this.queue, key, consumerId: this.name, wait: chance.int(0, 2_000) });
    this.ask<EnQueueAnswer>(
      request,
      (calls, reply) => calls.enQueue(request, reply),
      (answer, home) => {
        if (answer.decision === 'accept') ledger.granted(answer.turn, home, asked);
      },
      (heard) => {
        if (heard === 'lost' || 'refusal' in heard || heard.answer.decision !== 'accept')
          this.later(SOON, () => this.start());
        else this.#hold(heard.answer.turn, chance.int(0, 3));
      },
    );
  }

  #hold(turn: Turn, renewals: number): void {
    if (renewals === 0) return this.later(turn.lease, () => this.#end(turn));
    this.later(turn.lease / 2, () => {
      this.renew(turn, turn.lease, () => undefined);
      this.#hold(turn, renewals - 1);
    });
  }

  #end({ queue, key, token }: Turn): void {
    this.world.ledger.ending(queue, key, token);
    const request = deQueueRequest({ queue, key, holder: { token } });
    this.ask(
      request,
      (calls, reply) => void calls.deQueue(request, reply),
      () => undefined,
      () => this.later(SOON, () => this.start()),
    );
  }
}

/** Submits items of one key, the next one when the last is known to be in. */
export class ClusterProducer extends Client {
  #serial = 0;

  constructor(
    world: ClientWorld,
    private readonly queue: string,
    private readonly key: string,
  ) {
    super(world);
  }

  start(): void {
    if (this.world.isStopping) return;
    this.#serial += 1;
    this.#submit(`${this.key}${this.#serial}`, this.#serial);
  }

  #submit(id: string, serial: number): void {
    const { ledger } = this.world;
    const { queue, key } = this;
    ledger.offered(queue, key, id, serial);
    const items = [newItem({ key, itemId: id })];
    const isIn = ({ results }: SubmitAnswer) =>
      results.every((one) => one.decision === 'accept' || one.reason === 'already_done');
    this.ask<SubmitAnswer>(
      { queue, key },
      (calls, reply) => calls.submit({ queue, items, waitForRoom: 0, durability: undefined }, reply),
      (answer) => {
        if (isIn(answer)) ledger.accepted(queue, id);
        if (isIn(answer)) this.world.afters.known(queue, id);
      },
      (heard) => {
        const isKnown = heard !== 'lost' && 'answer' in heard && isIn(heard.answer);
        this.later(isKnown ? 400 : SOON, () => (isKnown ? this.start() : this.#submit(id, serial)));
      },
    );
  }
}

/** Takes items, works on them, acknowledges them. */
export class Consumer extends Client {
  constructor(
    world: ClientWorld,
    private readonly name: string,
    private readonly queue: string,
  ) {
    super(world);
  }

  start(): void {
    const { chance, time } = this.world;
    const asked = time.now;
    const request = acquireRequest({
      queues: [this.queue],
      consumerId: this.name,
      wait: chance.int(0, 1_000),
      maxTurns: 2,
    });
    this.ask<AcquireAnswer>(
      { queue: this.queue, key: '' },
      (calls, reply) => calls.acquire(request, reply),
      (answer, home) => {
        for (const delivery of answer.deliveries) this.given(delivery, home, asked);
      },
      (heard) => {
        const deliveries = heard !== 'lost' && 'answer' in heard ? heard.answer.deliveries : [];
        for (const delivery of deliveries) this.#work(delivery);
        this.later(deliveries.length > 0 ? 300 : SOON, () => this.start());
      },
    );
  }

  /** An answer with it leaves its home. */
  protected given(delivery: Delivery, home: string, asked: number): void {
    this.world.ledger.delivered(delivery, home, asked);
  }

  protected request({ turn: { queue, key, token } }: Delivery): AckRequest {
    return ackRequest({ queue, key, token });
  }

  /** The answer to its Ack leaves. */
  protected finished({ turn, items }: Delivery): void {
    for (const { itemId } of items) this.world.ledger.done(turn.queue, itemId);
  }

  protected answered(_delivery: Delivery, _answer: AckAnswer): void {}

  #work(delivery: Delivery): void {
    this.later(delivery.turn.lease / 2, () => this.#ack(delivery, 3));
  }

  #ack(delivery: Delivery, tries: number): void {
    const { queue, key, token } = delivery.turn;
    this.world.ledger.ending(queue, key, token);
    for (const { itemId } of delivery.items) this.world.afters.ending(queue, itemId);
    const request = this.request(delivery);
    this.ask<AckAnswer>(
      { queue, key },
      (calls, reply) => calls.ack(request, reply),
      (answer) => {
        this.finished(delivery);
        this.answered(delivery, answer);
      },
      (heard) => {
        const isDone = heard !== 'lost' && ('answer' in heard || isFinal(heard.refusal));
        if (!isDone && tries > 0) this.later(SOON, () => this.#ack(delivery, tries - 1));
      },
    );
  }
}

function isFinal(refusal: Refusal): boolean {
  return refusal.kind !== 'no_home' && refusal.kind !== 'store_unavailable';
}
