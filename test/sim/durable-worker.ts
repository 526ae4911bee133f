/** Those who take turns with items. */
import type { AcquireAnswer, AcquireRequest, NewItem } from '../../src/coordinator.js';
import { acquireRequest, bytes, newItem } from '../support/builders.js';
import { isPassing, Person } from './durable-person.js';
import type { Asked, Hold } from './durable-turns.js';

/** Takes turns with items. */
export class Worker extends Person {
  #tickets = 0;
  #made = 0;

  protected begin(): void {
    const { chance, book } = this.world;
    const isInMemory = (queue: string) => book.queue(queue).kind === 'memory';
    const all = [...new Set(Array.from({ length: chance.int(1, 3) }, () => this.queue()))];
    const [first = ''] = all;
    const queues = this.world.mixes ? all : all.filter((queue) => isInMemory(queue) === isInMemory(first));
    this.#tickets += 1;
    const request = acquireRequest({
      queues,
      consumerId: this.name,
      ticket: chance.in100(40) ? `${this.name}-t${this.#tickets}` : undefined,
      maxTurns: chance.int(1, 3),
      maxItemsPerTurn: chance.int(1, 3),
      wait: chance.in100(40) ? 0 : chance.int(1, 1_000),
      lease: chance.in100(25) ? chance.int(1_000, 3_000) : undefined,
    });
    this.#acquire(request, this.asked());
  }

  /** The turns of a ticket are told again while they live. */
  #askAgain(whole: AcquireRequest, asked: Asked, { deliveries }: AcquireAnswer): void {
    const { book, turns } = this.world;
    const request = { ...whole, wait: 0 };
    const holds = deliveries.flatMap(({ turn }) => turns.hold(turn.token) ?? []);
    const safe = holds.filter((hold) => hold.isSafe(book.time.now));
    // Until it hears the answer it does not know which items the coordinator counts for it.
    for (const hold of holds) hold.askedAgain = true;
    this.ask<AcquireAnswer>(
      { what: `acquire again ${request.ticket}`, queues: request.queues, wait: 0 },
      (calls, reply) => calls.acquire(request, reply),
      (heard) => {
        if (heard === 'lost' || 'refusal' in heard) return;
        const told = new Set(heard.answer.deliveries.map(({ turn }) => turn.token));
        for (const hold of safe) {
          const isTold = told.has(hold.turn.token) || hold.maybe || hold.evicted;
          book.check(isTold, () => `${request.ticket} of ${this.name} has ${hold.turn.token}, and is not told of it`);
        }
        this.take(heard.answer.deliveries, asked, request.lease);
      },
    );
  }

  #acquire(request: AcquireRequest, asked: Asked): void {
    const { chance } = this.world;
    const asking = { what: `acquire ${request.ticket ?? ''}`, queues: request.queues, wait: request.wait };
    this.ask<AcquireAnswer>(
      asking,
      (calls, reply) => calls.acquire(request, reply),
      (heard) => {
        if (heard !== 'lost' && 'answer' in heard) {
          this.take(heard.answer.deliveries, asked, request.lease);
          if (request.ticket !== undefined && chance.in100(25))
            this.later(50, 900, () => this.#askAgain(request, asked, heard.answer));
          return this.goOn();
        }
        if (heard !== 'lost' && !isPassing(heard.refusal)) return this.unexpected(asking, heard.refusal);
        // Without a ticket what was given to the lost call ends by itself.
        if (request.ticket === undefined) this.goOn();
        else this.later(20, 250, () => this.#acquire(request, asked));
      },
    );
  }

  protected override finish(hold: Hold): void {
    const { chance, book } = this.world;
    const { turn, items } = hold;
    // The turns of a session would live as long as it does.
    const mayVanish = hold.session === undefined;
    const done = () => (hold.askedAgain || !chance.in100(30) ? 0 : chance.int(0, items.length));
    const isAtMostOnce = book.queue(turn.queue).atMostOnce;
    const lot = this.world.stopping ? 0 : chance.int(0, 99);
    if (lot < 70 || isAtMostOnce) this.#ack(hold);
    else if (lot < 82) this.nack(hold, 'retry', done());
    else if (lot < 88) this.nack(hold, 'release', done());
    else if (lot < 92 || !mayVanish) this.nack(hold, 'dead_letter');
  }

  #ack(hold: Hold): void {
    const { chance } = this.world;
    const { token, queue } = hold.turn;
    const result = chance.in100(50) ? bytes(`done by ${token}`) : undefined;
    const mixes = this.world.mixes;
    const followUps = chance.in100(15) ? [{ queue: mixes ? this.queue() : queue, item: this.#followUp() }] : [];
    const isChained = chance.in100(20) && !this.world.stopping;
    this.#tickets += 1;
    const next = isChained
      ? acquireRequest({
          queues: [mixes ? this.queue() : queue],
          consumerId: this.name,
          ticket: `${this.name}-t${this.#tickets}`,
          wait: chance.in100(50) ? 0 : chance.int(1, 500),
        })
      : undefined;
    this.ack(hold, { result, followUps, next });
  }

  #followUp(): NewItem {
    this.#made += 1;
    const itemId = `${this.name}-f${this.#made}`;
    return newItem({ key: this.key(), itemId, payload: bytes(itemId) });
  }
}
