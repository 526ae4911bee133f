/** Those who bring their own messages. */
import type { EnQueueAnswer } from '../../src/coordinator.js';
import { enQueueRequest } from '../support/builders.js';
import { isPassing, Person } from './durable-person.js';
import type { Asked, Hold } from './durable-turns.js';

interface EnQueueWish {
  readonly queue: string;
  readonly key: string;
  readonly ticket: string | undefined;
  readonly lease: number | undefined;
}

/** Brings its own message. */
export class Caller extends Person {
  #tickets = 0;

  protected begin(): void {
    const { chance } = this.world;
    this.#tickets += 1;
    const ticket = chance.in100(60) ? `${this.name}-t${this.#tickets}` : undefined;
    const queue = this.queue();
    const key = this.key();
    const lease = chance.in100(25) ? chance.int(1_000, 3_000) : undefined;
    this.#enQueue({ queue, key, ticket, lease }, this.asked(), 3);
  }

  #enQueue(request: EnQueueWish, asked: Asked, patience: number): void {
    const { chance } = this.world;
    const { queue, ticket, lease } = request;
    const wait = chance.in100(40) ? 0 : chance.int(1, 800);
    const asking = { what: `enQueue ${request.key} ${ticket ?? ''}`, queues: [queue], wait };
    const again = () => this.later(20, 250, () => this.#enQueue(request, asked, patience - 1));
    this.ask<EnQueueAnswer>(
      asking,
      (calls, reply) => calls.enQueue(enQueueRequest({ ...request, consumerId: this.name, wait }), reply),
      (heard) => {
        if (heard === 'lost' || ('refusal' in heard && isPassing(heard.refusal)))
          return ticket === undefined ? this.goOn() : again();
        if ('refusal' in heard) return this.unexpected(asking, heard.refusal);
        const { answer } = heard;
        if (answer.decision === 'accept') {
          const hold = this.took(answer.turn, asked, [], lease);
          if (ticket !== undefined && chance.in100(25)) this.later(50, 900, () => this.#askAgain(request, asked, hold));
          this.work(hold, () => this.finish(hold));
        } else if (answer.decision === 'block' && ticket !== undefined && patience > 0) return again();
        this.goOn();
      },
    );
  }

  /** The turn of a ticket is told again while it lives. */
  #askAgain(request: EnQueueWish, asked: Asked, hold: Hold): void {
    const { book } = this.world;
    const { queue, ticket, key, lease } = request;
    const whole = enQueueRequest({ ...request, consumerId: this.name, wait: 0 });
    const wasSafe = hold.isSafe(book.time.now);
    this.ask<EnQueueAnswer>(
      { what: `enQueue again ${key} ${ticket}`, queues: [queue], wait: 0 },
      (calls, reply) => calls.enQueue(whole, reply),
      (heard) => {
        if (heard === 'lost' || 'refusal' in heard) return;
        const { answer } = heard;
        const isSame = answer.decision === 'accept' && answer.turn.token === hold.turn.token;
        if (wasSafe && !hold.maybe && !hold.evicted)
          book.check(isSame, () => `${ticket} of ${this.name} has ${hold.turn.token}, and is told ${answer.decision}`);
        if (answer.decision !== 'accept') return;
        const other = this.took(answer.turn, asked, [], lease);
        this.work(other, () => this.finish(other));
      },
    );
  }

  protected override finish(hold: Hold): void {
    const lot = this.world.stopping ? 0 : this.world.chance.int(0, 99);
    if (lot < 75) this.deQueue(hold, this.world.chance.in100(10));
    else if (lot < 90) this.ack(hold);
    else if (lot < 95 || hold.session !== undefined) this.nack(hold, 'release');
  }
}
