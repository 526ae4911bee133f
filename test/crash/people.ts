/** Applications in the crash test: they submit, consume, call and wait for results, whatever becomes of the sidecar. */
import { setTimeout as sleep } from 'node:timers/promises';
import {
  type Consumer,
  DeadLetter,
  done,
  type FollowUp,
  type HeldKey,
  type ItemCall,
  ItemFailedError,
  type Keyturn,
  KeyturnError,
  Release,
  RetryLater,
  SubmitManyError,
  type Work,
} from '@keyturn/client';
import type { Chance } from '../sim/random.js';
import type { Offer } from './item.js';
import type { Ledger } from './ledger.js';
import { payloadOf, tagOf, textOf } from './payload.js';
import { isExpected } from './troubles.js';

export const QUEUES = ['orders', 'bills'] as const;

export interface Stage {
  readonly ledger: Ledger;
  /** Calls are made to the first of them; what follows may go to any. */
  readonly queues: readonly [string, ...string[]];
  readonly keys: readonly string[];
  /** They do everything so many times slower; unset: as fast as they are. */
  readonly slower?: number;
  /** True: nothing new is begun, and everything is done at the first try. */
  isCalm: boolean;
}

/** More items that are not done are not added to. */
const MOST_OPEN = 120;
const MOST_IN_BATCH = 6;
/** Leases that are asked for now and then; otherwise turns are tied to the session. */
const LEASES = [1_000, 2_000] as const;

export class Person {
  #made = 0;
  #consumer: Consumer | undefined;
  #isGone = false;
  readonly #jobs: Promise<void>[] = [];

  constructor(
    readonly name: string,
    readonly keyturn: Keyturn,
    private readonly chance: Chance,
    private readonly stage: Stage,
  ) {}

  submits(): this {
    return this.#again(40, () => this.#submit());
  }

  /** Without ids, and one call is not tried again: it is never known whether what got no answer is there. */
  submitsBlindly(): this {
    return this.#again(60, () => this.#submitBlindly());
  }

  calls(): this {
    return this.#again(60, () => this.#call());
  }

  awaits(): this {
    return this.#again(60, () => this.#await());
  }

  repeats(): this {
    return this.#again(60, () => this.#repeat());
  }

  consumes(): this {
    const { chance, stage } = this;
    this.#consumer = this.keyturn.consume([...stage.queues], (work) => this.#work(work), {
      concurrency: chance.of(2, 4, 6),
      maxItemsPerTurn: chance.of(1, 1, 3),
      wait: 1_000,
      lease: chance.in100(40) ? chance.of(...LEASES) : undefined,
      onError: (error) => this.#trouble(error),
    });
    this.#consumer.done.catch((error: unknown) => stage.ledger.account.broken(`${this.name} stops: ${String(error)}`));
    return this;
  }

  /** Resolves when what it was at has ended: nothing comes from it any more. It goes on to consume. */
  async rest(): Promise<void> {
    await Promise.all(this.#jobs);
  }

  async end(): Promise<void> {
    await this.#consumer?.stop({ timeout: 3_000 });
    await this.keyturn.close();
  }

  /** Its process dies: connections break, and nobody gives anything back. */
  async vanish(): Promise<void> {
    this.stage.ledger.account.note(`${this.name} vanishes`);
    this.#isGone = true;
    await this.keyturn.transport.close();
    await this.keyturn.close({ timeout: 0 });
  }

  get #isOver(): boolean {
    return this.#isGone || this.stage.isCalm;
  }

  #again(most: number, task: () => Promise<void>): this {
    const { chance } = this;
    const { slower = 1 } = this.stage;
    const job = async (): Promise<void> => {
      while (!this.#isOver) {
        await sleep(chance.int(1, most) * slower);
        if (!this.#isOver) await task().catch((error: unknown) => this.#trouble(error));
      }
    };
    this.#jobs.push(job());
    return this;
  }

  #trouble(error: unknown): void {
    const { account } = this.stage.ledger;
    if (isExpected(error)) account.note(`${this.name}: ${String(error)}`);
    else account.broken(`${this.name}: ${error instanceof Error ? error.stack : String(error)}`);
  }

  async #submit(): Promise<void> {
    if (this.stage.ledger.items.open > MOST_OPEN) return;
    const { chance, keyturn } = this;
    const queue = chance.of(...this.stage.queues);
    const items = this.#offer(queue, chance.int(1, MOST_IN_BATCH), true);
    try {
      if (items.length === 1 && items[0] !== undefined) await keyturn.submit(queue, items[0]);
      else await keyturn.submitMany(queue, items);
    } catch (error) {
      // What came of the rest nobody knows.
      throw error instanceof SubmitManyError ? error.cause : error;
    }
  }

  async #submitBlindly(): Promise<void> {
    if (this.stage.ledger.items.open > MOST_OPEN) return;
    const queue = this.chance.of(...this.stage.queues);
    const durability = this.chance.of(undefined, 'interval', 'count');
    const items = this.#offer(queue, this.chance.int(1, MOST_IN_BATCH), false);
    await this.keyturn.submit({ queue, items, durability });
  }

  #offer(queue: string, count: number, withIds: boolean): readonly ItemCall[] {
    const items = Array.from({ length: count }, () => this.#item(withIds));
    this.stage.ledger.items.offers(items.map((item) => offerOf(queue, item)));
    return items;
  }

  #item(withId: boolean): ItemCall {
    const { chance, stage } = this;
    this.#made += 1;
    const tag = `${this.name}-${this.#made}`;
    const [first = '', ...others] = stage.keys;
    const key = chance.in100(15) ? '' : chance.of(first, ...others);
    return {
      key,
      payload: payloadOf(tag, chance.in100(5) ? 20_000 : 0),
      itemId: withId ? `id-${tag}` : undefined,
      headers: chance.in100(20) ? new Map([['tag', tag]]) : undefined,
      idempotencyKey: key !== '' && chance.in100(10) ? `once-${chance.int(1, 40)}` : undefined,
      delay: chance.in100(10) ? chance.int(1, 300) : undefined,
    };
  }

  async #work(work: Work): Promise<unknown> {
    for (const item of work.items)
      if (item.headers !== undefined && item.headers.size > 0 && item.headers.get('tag') !== tagOf(item))
        this.stage.ledger.account.broken(`${tagOf(item)} has the headers of ${item.headers.get('tag')}`);
    await this.#act(work);
    return this.#verdict(work);
  }

  /** As a handler does that listens to its signal. */
  async #act(turn: Work | HeldKey): Promise<void> {
    const { chance, stage } = this;
    const { queue, key, token, signal } = turn;
    const { turns } = stage.ledger;
    const run = { who: this.name, queue, key, token, signal };
    turns.begins(run);
    try {
      const ms = stage.isCalm ? 0 : chance.in100(8) ? chance.int(300, 1_500) : chance.int(0, 25);
      await sleep(ms, undefined, { signal });
    } finally {
      turns.ends(run);
    }
  }

  #verdict({ token, items, queue }: Work): unknown {
    const { chance, stage } = this;
    const result = new TextEncoder().encode(`turn ${queue} ${token}`);
    if (stage.isCalm || chance.in100(70)) {
      if (stage.isCalm || chance.in100(80)) return result;
      return done(result, { followUps: this.#followUps() });
    }
    const first = { done: items.length > 1 ? chance.int(0, 1) : 0 };
    throw chance.of<() => Error>(
      () => new Error('failed'),
      () => new RetryLater(chance.int(0, 200), 'later', first),
      () => new Release('somebody else', first),
      () => new DeadLetter('never'),
    )();
  }

  #followUps(): readonly FollowUp[] {
    const queues = Array.from({ length: this.chance.int(1, 3) }, () => this.chance.of(...this.stage.queues));
    return queues.map((queue) => {
      const [item = {}] = this.#offer(queue, 1, true);
      return { queue, item };
    });
  }

  async #call(): Promise<void> {
    const { chance, stage, keyturn } = this;
    const [first = '', ...others] = stage.keys;
    const order = chance.of<'strict' | 'coalesce'>('strict', 'coalesce');
    const options = {
      wait: chance.of(0, 300, 3_000),
      lease: chance.in100(30) ? chance.of(...LEASES) : undefined,
      order,
      idempotencyKey: order === 'coalesce' && chance.in100(20) ? `once-${chance.int(1, 40)}` : undefined,
      result: (token: number) => new TextEncoder().encode(`call ${token}`),
    };
    await keyturn.withTurn(stage.queues[0], chance.of(first, ...others), options, async (turn) => {
      await this.#act(turn);
      if (chance.in100(5)) throw new KeyturnError('the handler failed', 'CANCELLED');
      return turn.token;
    });
  }

  /** A future: some item that was accepted, whoever did, is waited for; what it says must be so for good. */
  async #await(): Promise<void> {
    const { items, account } = this.stage.ledger;
    const open = items.all.filter(({ acceptedAt }) => acceptedAt !== undefined).slice(-40);
    const item = this.#some(open);
    if (item?.id === undefined) return;
    try {
      const result = await this.keyturn.result(item.queue, item.id, { timeout: 2_000 });
      items.told(item.tag, textOf(result));
    } catch (error) {
      if (!(error instanceof ItemFailedError)) throw error;
      account.note(`${item.tag} is ${error.state}`);
      if (error.state !== 'dead') account.broken(`${item.tag} was accepted, and is ${error.state}`);
    }
  }

  /** I10: what was accepted is accepted again with its id, whatever became of it. */
  async #repeat(): Promise<void> {
    const again = this.#some(this.stage.ledger.items.all.filter(({ wasTakenOver, call }) => wasTakenOver && call));
    if (again?.call !== undefined) await this.keyturn.submit({ queue: again.queue, items: [again.call] });
  }

  #some<T>(all: readonly T[]): T | undefined {
    return all[this.chance.int(0, all.length - 1)];
  }
}

function offerOf(queue: string, item: ItemCall): Offer {
  const { key = '', itemId, idempotencyKey } = item;
  const call = itemId === undefined ? undefined : item;
  return { tag: tagOf(item), queue, key, id: itemId, idempotencyKey, call };
}
