import assert from 'node:assert/strict';
import type {
  AckAnswer,
  AcquireAnswer,
  Calls,
  Coordinator,
  Delivery,
  NackAnswer,
  Reply,
} from '../../src/coordinator.js';

interface Fate {
  accepted: boolean;
  token: number;
  attempt: number;
  /** The token of the turn that finished it. */
  finishedBy: number | undefined;
}

/** What becomes of items, seen at the coordinator's door: each finishes once, and tries follow each other. */
export class ItemsLedger {
  readonly #fates = new Map<string, Fate>();
  readonly #turns = new Map<number, Delivery>();

  /** Ids of accepted items, `queue/id`. */
  get accepted(): string[] {
    return [...this.#fates].flatMap(([name, fate]) => (fate.accepted ? [name] : []));
  }

  get finished(): number {
    return [...this.#fates.values()].filter(({ finishedBy }) => finishedBy !== undefined).length;
  }

  /** Redriven items begin again with attempt 1. */
  redriven(queue: string): void {
    for (const [name, fate] of this.#fates) if (name.startsWith(`${queue}/`)) fate.attempt = 0;
  }

  isFinished(queue: string, id: string): boolean {
    return this.#fates.get(`${queue}/${id}`)?.finishedBy !== undefined;
  }

  watch(calls: Calls): Calls {
    return {
      enQueue: (request, reply) => calls.enQueue(request, reply),
      deQueue: (request, reply) => calls.deQueue(request, reply),
      renew: (request, reply) => calls.renew(request, reply),
      awaitItem: (request, reply) => calls.awaitItem(request, reply),
      submit: (request, reply) =>
        calls.submit(
          request,
          tap(reply, ({ results }) => {
            for (const { decision, itemId } of results) if (decision === 'accept') this.#accept(request.queue, itemId);
          }),
        ),
      acquire: (request, reply) => calls.acquire(request, this.#tapAcquire(reply)),
      ack: (request, reply) => calls.ack(request, this.#tapAck(request, reply)),
      nack: (request, reply) => calls.nack(request, this.#tapNack(request, reply)),
    };
  }

  #tapAcquire(reply: Reply<AcquireAnswer>): Reply<AcquireAnswer> {
    return tap(reply, ({ deliveries }) => this.#deliverAll(deliveries));
  }

  #tapAck(request: Parameters<Coordinator['ack']>[0], reply: Reply<AckAnswer>): Reply<AckAnswer> {
    return tap(reply, ({ followUps, next }) => {
      for (const [index, { queue }] of request.followUps.entries()) {
        const result = followUps[index];
        if (result?.decision === 'accept') this.#accept(queue, result.itemId);
      }
      this.#finish(request.token, Number.POSITIVE_INFINITY);
      this.#deliverAll(next?.deliveries ?? []);
    });
  }

  #tapNack(request: Parameters<Coordinator['nack']>[0], reply: Reply<NackAnswer>): Reply<NackAnswer> {
    return tap(reply, () => this.#finish(request.token, request.done));
  }

  #fate(queue: string, id: string): Fate {
    const name = `${queue}/${id}`;
    const fate = this.#fates.get(name) ?? { accepted: false, token: 0, attempt: 0, finishedBy: undefined };
    this.#fates.set(name, fate);
    return fate;
  }

  #accept(queue: string, id: string): void {
    this.#fate(queue, id).accepted = true;
  }

  #deliverAll(deliveries: readonly Delivery[]): void {
    for (const delivery of deliveries) this.#deliver(delivery);
  }

  /** The same turn may be told again; another one is a later try. */
  #deliver(delivery: Delivery): void {
    const { turn, items } = delivery;
    if (this.#turns.has(turn.token)) return;
    this.#turns.set(turn.token, delivery);
    for (const { itemId, attempt } of items) {
      const fate = this.#fate(turn.queue, itemId);
      assert.equal(fate.finishedBy, undefined, `${itemId} is handed out after it was finished`);
      assert.ok(turn.token > fate.token, `${itemId}: token ${turn.token} after ${fate.token}`);
      assert.ok(attempt >= fate.attempt, `${itemId}: attempt ${attempt} after ${fate.attempt}`);
      fate.token = turn.token;
      fate.attempt = attempt;
    }
  }

  #finish(token: number, first: number): void {
    const delivery = this.#turns.get(token);
    for (const { itemId } of delivery?.items.slice(0, first) ?? []) {
      const fate = this.#fate(delivery?.turn.queue ?? '', itemId);
      assert.ok(fate.finishedBy === undefined || fate.finishedBy === token, `${itemId} is finished twice`);
      fate.finishedBy = token;
    }
  }
}

function tap<T>(reply: Reply<T>, seen: (value: T) => void): Reply<T> {
  return {
    answer(value) {
      const reached = reply.answer(value);
      seen(value);
      return reached;
    },
    refuse: (refusal) => reply.refuse(refusal),
  };
}
