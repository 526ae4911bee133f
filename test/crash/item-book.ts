/** Items while clients work: what they were told, and what of it cannot be. */
import type { Account } from './account.js';
import { DoneKeys } from './done-keys.js';
import { Item, type Offer } from './item.js';
import type { TurnName } from './turn-book.js';

/** An item of a turn, as its holder sees it. */
export interface Seen {
  readonly tag: string;
  readonly itemId: string;
  readonly attempt: number;
}

export class ItemBook {
  readonly doneKeys: DoneKeys;
  readonly #items = new Map<string, Item>();
  readonly #ofTurn = new Map<string, readonly string[]>();
  #batches = 0;
  deliveries = 0;
  acceptances = 0;
  acks = 0;

  /** @param maxAttempts of every queue */
  constructor(
    private readonly account: Account,
    private readonly maxAttempts: number,
  ) {
    this.doneKeys = new DoneKeys(account);
  }

  get all(): readonly Item[] {
    return [...this.#items.values()];
  }

  /** About how many are waiting or at work. */
  get open(): number {
    return this.acceptances - this.acks;
  }

  /** They are about to be submitted, in this order, with one call. */
  offers(offers: readonly Offer[]): void {
    this.#batches += 1;
    this.account.note(`offer ${offers.map(({ tag, queue, key }) => `${tag} (${queue}/${key})`).join()}`);
    for (const [place, offer] of offers.entries())
      this.#items.set(offer.tag, new Item(offer, this.account.now, this.#batches, place));
  }

  accepted(tag: string, id: string): void {
    this.account.note(`accepted ${tag}`);
    const item = this.#known(tag);
    if (item === undefined) return;
    this.#hasId(item, id);
    if (item.isDeclined) this.account.broken(`${tag} is accepted, and was declined before`);
    if (item.acceptedAt !== undefined) return;
    if (this.doneKeys.wasDone(item, item.offeredAt))
      this.account.broken(`${tag} is accepted, and ${item.idempotencyKey} was done before it was offered`);
    item.acceptedAt = this.account.now;
    this.acceptances += 1;
  }

  declined(tag: string, reason: string): void {
    this.account.note(`declined ${tag} ${reason}`);
    const item = this.#known(tag);
    if (item === undefined) return;
    if (item.wasTakenOver) this.account.broken(`${tag} is declined, and was accepted before`);
    if (reason !== 'already_done' || !this.doneKeys.mayBeDone(item))
      this.account.broken(`${tag} is declined (${reason}) without a reason`);
    item.isDeclined = true;
  }

  /** A client is told that it has the turn of these. */
  delivered(turn: TurnName, seen: readonly Seen[]): void {
    const name = nameOf(turn);
    if (!this.#ofTurn.has(name)) this.deliveries += seen.length;
    this.#ofTurn.set(
      name,
      seen.map(({ tag }) => tag),
    );
    for (const [place, one] of seen.entries()) {
      const item = this.#known(one.tag);
      if (item !== undefined) this.#deliveredOne(turn, item, one, place);
    }
  }

  #deliveredOne(turn: TurnName, item: Item, { itemId, attempt }: Seen, place: number): void {
    const { account } = this;
    const { token } = turn;
    const what = `${item.tag} in turn ${token}`;
    if (item.queue !== turn.queue || item.key !== turn.key)
      account.broken(`${what} is of ${item.queue}/${item.key}, not of ${turn.queue}/${turn.key}`);
    if (item.isDeclined) account.broken(`${what} is delivered, and was declined`);
    this.#hasId(item, itemId);
    if (item.acked !== undefined && token > item.acked)
      account.broken(`${what} is delivered again, though its Ack in turn ${item.acked} was answered with OK`);
    if (this.doneKeys.wasDoneBy(item, token))
      account.broken(`${what} is delivered, though ${item.idempotencyKey} was done before`);
    this.#countAttempt(item, token, attempt, what);
    if (item.first === undefined || token < item.first.token) item.first = { token, place };
  }

  #hasId(item: Item, id: string): void {
    if (item.id !== undefined && item.id !== id)
      this.account.broken(`${item.tag} has the id ${id}, and had ${item.id}`);
    item.id = id;
  }

  #countAttempt(item: Item, token: number, attempt: number, what: string): void {
    const { last, retried } = item;
    const least = last === undefined || token < last.token ? 1 : last.attempt + (retried >= last.token ? 1 : 0);
    const isAgain = token === last?.token;
    if (isAgain && attempt !== last.attempt)
      this.account.broken(`${what} has attempt ${attempt}, and had ${last.attempt}`);
    if (!isAgain && (attempt < least || attempt > this.maxAttempts))
      this.account.broken(`${what} has attempt ${attempt}; at least ${least} and at most ${this.maxAttempts} can be`);
    if (last === undefined || token > last.token) item.last = { token, attempt };
  }

  /** Its holder is about to ask that the turn end with its items done. */
  acking(turn: TurnName, result: string | undefined, followUps: readonly string[]): void {
    this.account.note(`acking ${turn.token} ${followUps.join()}`);
    for (const item of this.#in(turn)) {
      item.acks.set(turn.token, { result, followUps });
      this.doneKeys.mayBecomeDone(item, result);
    }
  }

  /** It was answered with OK. */
  acked(turn: TurnName): void {
    this.account.note(`acked ${turn.token}`);
    for (const item of this.#in(turn)) {
      if (item.acked === undefined) this.acks += 1;
      item.acked = turn.token;
      this.doneKeys.done(item, turn.token, item.acks.get(turn.token)?.result);
    }
  }

  /** @param done how many from the first are said to be finished; the others are given back */
  nacking(turn: TurnName, done: number): void {
    this.account.note(`nacking ${turn.token} done ${done}`);
    for (const item of this.#in(turn).slice(0, done)) {
      item.mayBeDoneByNack = true;
      this.doneKeys.mayBecomeDone(item, undefined);
    }
  }

  /** It was answered with OK, and was for another try. */
  retried(turn: TurnName, done: number): void {
    this.account.note(`retried ${turn.token}`);
    for (const item of this.#in(turn).slice(done)) item.retried = Math.max(item.retried, turn.token);
  }

  /** These are dead, and are about to be sent back. */
  redriving(tags: readonly string[]): void {
    this.account.note(`redriving ${tags.join()}`);
    for (const tag of tags) {
      const item = this.#known(tag);
      if (item === undefined) continue;
      item.wasRedriven = true;
      // Attempts begin with 1 again.
      item.last = undefined;
    }
  }

  /** Await says that it is done, with this. */
  told(tag: string, result: string | undefined): void {
    this.account.note(`told ${tag} ${result}`);
    const item = this.#known(tag);
    if (item !== undefined) item.told ??= { result };
  }

  /** What Await says of it when everything is over. */
  found(tag: string, found: NonNullable<Item['found']>): void {
    const item = this.#known(tag);
    if (item !== undefined) item.found = found;
  }

  #in(turn: TurnName): readonly Item[] {
    return (this.#ofTurn.get(nameOf(turn)) ?? []).flatMap((tag) => this.#known(tag) ?? []);
  }

  #known(tag: string): Item | undefined {
    const item = this.#items.get(tag);
    if (item === undefined) this.account.broken(`${tag} was never offered`);
    return item;
  }
}

function nameOf({ queue, token }: TurnName): string {
  return `${queue} ${token}`;
}
