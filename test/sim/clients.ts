/** Those who use the coordinator in the simulation. Each does one thing after the other until it stops or vanishes. */
import type {
  AcquireAnswer,
  AcquireRequest,
  Calls,
  Delivery,
  NackKind,
  NewItem,
  Refusal,
  Turn,
} from '../../src/coordinator.js';
import {
  ackRequest,
  acquireRequest,
  deQueueRequest,
  enQueueRequest,
  nackRequest,
  newItem,
} from '../support/builders.js';
import type { FakeClock } from '../support/fake-clock.js';
import { type Line, Link } from './links.js';
import type { Caller, Network, Received, Send } from './network.js';
import type { Chance } from './random.js';

export interface Surroundings {
  readonly clock: FakeClock;
  readonly chance: Chance;
  readonly network: Network;
  /** Those of clients that make unary calls. */
  readonly calls: Calls;
  readonly line: Line;
  readonly keys: readonly string[];
  /** True: begin nothing new, bring to an end what was begun. */
  stopping: boolean;
}

abstract class Client implements Caller {
  alive = true;
  /** Some work over a session, the others make unary calls. */
  readonly link: Link | undefined;
  protected made = 0;

  constructor(
    readonly name: string,
    protected readonly queue: string,
    protected readonly around: Surroundings,
  ) {
    this.link = around.chance.in100(50) ? new Link(`${name}@${around.clock.now()}`, around.line) : undefined;
  }

  protected get calls(): Calls {
    return this.link?.calls ?? this.around.calls;
  }

  start(): void {
    this.later(1_000, () => this.goOn());
  }

  protected abstract begin(): void;

  protected goOn(): void {
    if (this.around.stopping) this.link?.end();
    else this.later(800, () => this.begin());
  }

  protected later(most: number, task: () => void): void {
    this.around.clock.after(this.around.chance.int(1, most), () => {
      if (this.alive) task();
    });
  }

  /** Repeats the same call until an answer comes through; a client with patience for lost answers. */
  protected persist<T>(
    what: string,
    patience: number,
    send: Send<T>,
    hear: (answer: T) => void,
    refused?: (why: Refusal) => void,
  ): void {
    const { network } = this.around;
    network.call(this, what, patience, send, (received: Received<T>) => {
      if (received === 'timeout') this.later(200, () => this.persist(what, patience, send, hear, refused));
      else if ('answer' in received) hear(received.answer);
      else if (refused === undefined) this.goOn();
      else refused(received.refusal);
    });
  }

  protected key(): string {
    const [first = 'k', ...others] = this.around.keys;
    return this.around.chance.of(first, ...others);
  }

  /** Works on a turn, some beyond its lease, some renewing it; some never come back from it. */
  protected work(turn: Turn, end: () => void): void {
    const { chance } = this.around;
    if (!this.around.stopping && chance.in100(2)) {
      this.alive = false;
      this.link?.end();
      return;
    }
    const slow = chance.in100(10);
    if (slow && chance.in100(60)) this.renew(turn);
    this.later(slow ? 4_000 : 300, end);
  }

  private renew(turn: Turn): void {
    const request = { turns: [turn], lease: this.around.chance.of(undefined, 3_000) };
    this.later(1_000, () =>
      this.around.network.call(
        this,
        `renew ${turn.token}`,
        1_000,
        (reply) => void this.calls.renew(request, reply),
        () => undefined,
      ),
    );
  }
}

/** Brings its own message and asks for its turn. */
export class EnQueuer extends Client {
  protected begin(): void {
    const { chance } = this.around;
    const ticket = chance.in100(80) ? `${this.name}-${++this.made}` : undefined;
    this.ask(this.key(), ticket, chance.of(undefined, 0, 500, 2_500), 5);
  }

  private ask(key: string, ticket: string | undefined, wait: number | undefined, left: number): void {
    const { queue, name: consumerId } = this;
    const idempotencyKey = this.around.chance.in100(20) ? `b${this.around.chance.int(0, 3)}` : undefined;
    const request = enQueueRequest({ queue, key, consumerId, ticket, wait, idempotencyKey });
    const send = ticket === undefined ? undefined : `enqueue ${key} ${ticket}`;
    const hear = (received: Received<Parameters<Parameters<Calls['enQueue']>[1]['answer']>[0]>) => {
      if (received === 'timeout') return ticket === undefined ? this.goOn() : this.ask(key, ticket, wait, left);
      if ('refusal' in received) return this.goOn();
      const { answer } = received;
      if (answer.decision === 'accept') return this.work(answer.turn, () => this.end(answer.turn));
      if (answer.decision === 'decline' || ticket === undefined) return this.goOn();
      if (left > 0) return this.later(1_500, () => this.ask(key, ticket, wait, left - 1));
      this.leave(key, ticket);
    };
    this.around.network.call(
      this,
      send ?? `enqueue ${key}`,
      4_000,
      (reply) => this.calls.enQueue(request, reply),
      hear,
    );
  }

  private leave(key: string, ticket: string): void {
    const request = deQueueRequest({ queue: this.queue, key, holder: { ticket }, abandoned: true });
    this.persist(
      `leave ${ticket}`,
      1_000,
      (reply) => void this.calls.deQueue(request, reply),
      () => this.goOn(),
    );
  }

  private end({ queue, key, token }: Turn): void {
    const request = deQueueRequest({ queue, key, holder: { token }, abandoned: this.around.chance.in100(10) });
    this.persist(
      `dequeue ${token}`,
      1_000,
      (reply) => void this.calls.deQueue(request, reply),
      () => this.goOn(),
    );
  }
}

/** Hands messages over. */
export class Producer extends Client {
  protected begin(): void {
    const items = Array.from({ length: this.around.chance.int(1, 4) }, () => this.item());
    const request = { queue: this.queue, items, waitForRoom: this.around.chance.of(0, 1_000), durability: undefined };
    const ids = items.map(({ itemId }) => itemId).join();
    const next = () => this.goOn();
    this.persist(`submit ${ids}`, 3_000, (reply) => this.calls.submit(request, reply), next, next);
  }

  protected item(): NewItem {
    const { chance } = this.around;
    const key = chance.in100(10) ? '' : this.key();
    const idempotencyKey = chance.in100(10) ? `b${chance.int(0, 3)}` : undefined;
    const delay = chance.in100(10) ? chance.int(1, 3_000) : 0;
    return newItem({ itemId: `${this.name}-${++this.made}`, key, idempotencyKey, delay });
  }
}

/** Takes turns of any keys, works, and settles. */
export class Worker extends Producer {
  protected override begin(): void {
    const request = this.next();
    const what = `acquire ${request.ticket ?? ''}`;
    const hear = ({ deliveries }: AcquireAnswer) => this.take(deliveries);
    this.persist(what, 6_000, (reply) => this.calls.acquire(request, reply), hear);
  }

  /** With a ticket always: an answer that was lost comes back with the same call. */
  private next(): AcquireRequest {
    const { chance } = this.around;
    return acquireRequest({
      queues: [this.queue],
      key: chance.in100(10) ? this.key() : undefined,
      consumerId: this.name,
      ticket: `${this.name}-t${++this.made}`,
      maxTurns: chance.of(1, 1, 3),
      maxItemsPerTurn: chance.of(1, 1, 4),
      wait: chance.of(0, 500, 4_000),
    });
  }

  private take(deliveries: readonly Delivery[]): void {
    const [delivery, ...rest] = deliveries;
    if (delivery === undefined) return this.goOn();
    this.work(delivery.turn, () => this.settle(delivery, () => this.take(rest)));
  }

  private settle(delivery: Delivery, go: () => void): void {
    const kind = this.around.chance.of<NackKind | 'ack'>(
      'ack',
      'ack',
      'ack',
      'ack',
      'ack',
      'ack',
      'retry',
      'release',
      'dead_letter',
    );
    if (kind === 'ack') this.ack(delivery.turn, go);
    else this.nack(delivery, kind, go);
  }

  private ack({ queue, key, token }: Turn, go: () => void): void {
    const { chance, stopping } = this.around;
    const followUps = !stopping && chance.in100(10) ? [{ queue, item: this.item() }] : [];
    const next = !stopping && chance.in100(20) ? this.next() : undefined;
    const request = ackRequest({ queue, key, token, followUps, next });
    const hear = (answer: { readonly next: AcquireAnswer | undefined }) =>
      answer.next === undefined ? go() : this.take(answer.next.deliveries);
    this.persist(`ack ${token}`, 6_000, (reply) => this.calls.ack(request, reply), hear, go);
  }

  private nack({ turn, items }: Delivery, kind: NackKind, go: () => void): void {
    const done = items.length > 1 && this.around.chance.in100(20) ? 1 : 0;
    const { queue, key, token } = turn;
    const request = nackRequest({ queue, key, token, kind, done });
    this.persist(`nack ${token}`, 1_000, (reply) => void this.calls.nack(request, reply), go, go);
  }
}
