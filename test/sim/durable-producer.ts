/** Those who bring items. */
import type { AwaitAnswer, ItemRef, NewItem, SubmitAnswer } from '../../src/coordinator.js';
import { bytes, newItem } from '../support/builders.js';
import type { Kind } from './durable-book.js';
import { Person } from './durable-person.js';

/** Brings items. */
export class Producer extends Person {
  #made = 0;
  readonly #recent: ItemRef[] = [];

  protected begin(): void {
    const { chance, book } = this.world;
    const queue = this.queue();
    const { kind } = book.queue(queue);
    const asksFor = kind === 'strict' && chance.in100(15) ? chance.of('interval', 'memory') : undefined;
    const items = Array.from({ length: chance.int(1, 3) }, () => this.#item(kind));
    const told: Kind = asksFor === 'interval' ? 'soft' : asksFor === 'memory' ? 'memory' : kind;
    this.#submit(queue, items, asksFor, told, chance.in100(asksFor === undefined ? 15 : 50) ? 1 : 0);
  }

  #submit(
    queue: string,
    items: readonly NewItem[],
    asksFor: 'interval' | 'memory' | undefined,
    told: Kind,
    again: number,
  ): void {
    const { items: all, chance, book } = this.world;
    const request = { queue, items, waitForRoom: 0, durability: asksFor };
    this.persist<SubmitAnswer>(
      {
        what: `submit ${items.map(({ itemId, key }) => `${itemId}(${key})`).join()} ${asksFor ?? ''}`,
        queues: [queue],
        wait: 0,
      },
      (calls, reply) => calls.submit(request, reply),
      ({ results }) => {
        all.answered(queue, results, told);
        this.#remember(queue, items, told);
        const [first] = items;
        // The next time perhaps as the queue says: then what was in memory is on the disk.
        const isMore = asksFor !== undefined && chance.in100(60);
        const next = isMore ? ([undefined, book.queue(queue).kind] as const) : ([asksFor, told] as const);
        if (again > 0) this.later(1, 1_500, () => this.#submit(queue, items, ...next, 0));
        else if (first !== undefined && chance.in100(40)) this.#await(queue, first);
        else this.goOn();
      },
      undefined,
      () => all.offer(queue, items, told === 'memory' ? told : this.world.book.queue(queue).kind),
    );
  }

  /** Those that others may wait for: they are known for ever. */
  #remember(queue: string, items: readonly NewItem[], told: Kind): void {
    if (told !== 'strict') return;
    for (const { itemId = '' } of items)
      if (this.world.items.get(queue, itemId)?.isKept === true) this.#recent.push({ queue, itemId });
    if (this.#recent.length > 10) this.#recent.splice(0, 5);
  }

  #item(kind: Kind): NewItem {
    const { chance } = this.world;
    this.#made += 1;
    const itemId = `${this.name}-${this.#made}`;
    const [one, ...others] = this.#recent;
    const after = one !== undefined && kind !== 'memory' && chance.in100(12) ? [chance.of(one, ...others)] : undefined;
    return newItem({
      key: chance.in100(10) ? '' : this.key(),
      itemId,
      payload: bytes(itemId),
      headers: chance.in100(30) ? new Map([['id', itemId]]) : undefined,
      idempotencyKey: chance.in100(15) ? `i${chance.int(0, 20)}` : undefined,
      delay: chance.in100(10) ? chance.int(1, 3_000) : 0,
      after,
    });
  }

  #await(queue: string, { itemId = '' }: NewItem): void {
    const { items, chance } = this.world;
    const facts = items.get(queue, itemId);
    if (facts === undefined) return this.goOn();
    const wait = chance.in100(50) ? 0 : chance.int(1, 1_500);
    const asked = { done: facts.done !== undefined, kept: facts.isKept };
    this.ask<AwaitAnswer>(
      { what: `await ${itemId}`, queues: [queue], wait },
      (calls, reply) => calls.awaitItem({ queue, itemId, wait }, reply),
      (heard) => {
        if (heard !== 'lost' && 'answer' in heard) items.found(facts, heard.answer, asked);
        this.goOn();
      },
    );
  }
}
