/** Items of a world with restarts, as those who sent and got them know them. */
import type { AwaitAnswer, DeliveredItem, ItemRef, NewItem, SubmitResult, TurnRef } from '../../src/coordinator.js';
import { bytesOfPayload } from '../../src/core/contract/payload.js';
import type { Book, Kind, Stamp } from './durable-book.js';
import { SLOWEST } from './durable-disk.js';

export interface Done extends Stamp {
  readonly token: number;
  readonly result: string | undefined;
}

export class ItemFacts {
  /** Whoever heard that it was accepted; unset: nobody. */
  accepted: (Stamp & { readonly event: number }) | undefined;
  declined = false;
  /** The crash may have taken it. */
  maybe = false;
  /** It was kept in memory only, and the process died. */
  gone = false;
  /** It was sent again, and is kept since. */
  wasInMemory = false;
  ackSent = false;
  /** By Nack, or because it was discarded, or its idempotency key was done. */
  mayBeDone = false;
  mayBeDead = false;
  redriven = false;
  done: Done | undefined;
  last: { readonly token: number; readonly attempt: number } | undefined;
  /** The token with which it was given back for another try, and that was answered. */
  retried = 0;
  readonly results = new Set<string | undefined>();

  constructor(
    readonly queue: string,
    readonly item: NewItem,
    readonly id: string,
    /** Becomes another when it is sent again, to be kept this time. */
    public kind: Kind,
    readonly firstSent: number,
    readonly place: number,
    /** In which process it was sent first. */
    readonly life: number,
    readonly sentAt: number,
  ) {}

  get key(): string {
    return this.item.key;
  }

  get after(): readonly ItemRef[] {
    return this.item.after ?? [];
  }

  /** It was accepted, and no crash can have taken it. */
  get isKept(): boolean {
    return this.accepted !== undefined && !this.maybe && !this.gone;
  }
}

interface DoneKey extends Stamp {
  readonly kind: Kind;
  readonly id: string;
  readonly token: number;
}

export class Items {
  readonly all = new Map<string, ItemFacts>();
  readonly #byKey = new Map<string, ItemFacts[]>();
  readonly #doneKeys = new Map<string, DoneKey>();
  #life = 0;
  deliveries = 0;
  acks = 0;
  /** Answers that a crash took back, as it may. */
  takenBack = 0;

  constructor(private readonly book: Book) {}

  get(queue: string, id: string): ItemFacts | undefined {
    return this.all.get(`${queue}/${id}`);
  }

  /** About to be sent, perhaps not for the first time. */
  offer(queue: string, items: readonly NewItem[], kind: Kind): void {
    const firstSent = this.book.event();
    for (const [place, item] of items.entries()) {
      const { itemId: id = '' } = item;
      const known = this.get(queue, id);
      if (known !== undefined) {
        known.declined = false;
        continue;
      }
      const facts = new ItemFacts(queue, item, id, kind, firstSent, place, this.#life, this.book.time.now);
      this.all.set(`${queue}/${id}`, facts);
      const lane = `${queue}/${item.key}`;
      this.#byKey.set(lane, [...(this.#byKey.get(lane) ?? []), facts]);
    }
  }

  /** @param told how late a crash may take the answer back */
  answered(queue: string, results: readonly SubmitResult[], told: Kind, isFollowUp = false): void {
    for (const result of results) {
      const facts = this.get(queue, result.itemId);
      if (facts === undefined) this.book.broken(`an answer for ${result.itemId}, which was not sent`);
      else if (result.decision === 'accept') this.#accepted(facts, told, isFollowUp);
      else this.#declined(facts, result.reason);
    }
  }

  #accepted(facts: ItemFacts, told: Kind, isFollowUp: boolean): void {
    const { book } = this;
    const { disk } = book;
    if (told === 'strict')
      book.check(
        disk.item(facts.queue, facts.id) !== undefined,
        () => `${facts.id} is accepted, and is not on the disk`,
      );
    if (facts.kind === 'memory' && told === 'strict') {
      facts.kind = told;
      facts.wasInMemory = true;
      facts.accepted = undefined;
    }
    // What is kept in memory may be gone though a repeated Ack remembers that it was accepted.
    if (facts.isKept || (isFollowUp && told !== 'strict' && facts.life !== this.#life)) return;
    facts.accepted = { ...book.stamp(told), event: book.event() };
    facts.maybe = false;
    facts.gone = false;
  }

  #declined(facts: ItemFacts, reason: string): void {
    const { book } = this;
    book.check(!facts.isKept, () => `${facts.id} is declined (${reason}), and was accepted before`);
    if (reason === 'already_done') {
      const { queue, key, item } = facts;
      const isStrict = book.queue(queue).kind === 'strict' && facts.kind === 'strict';
      const idempotencyKey = item.idempotencyKey ?? '';
      if (isStrict)
        book.check(
          book.disk.wasDone(queue, key, idempotencyKey),
          () => `${facts.id} is ALREADY_DONE, which is not on the disk`,
        );
    }
    // One whose answer got lost and whose item the crash took may still be declined.
    if (facts.accepted === undefined) facts.declined = true;
  }

  delivered(turn: TurnRef, items: readonly DeliveredItem[]): readonly ItemFacts[] {
    const ids = items.map(({ itemId }) => itemId);
    return items.flatMap((item, place) => {
      const facts = this.get(turn.queue, item.itemId);
      if (facts === undefined) {
        this.book.broken(`${item.itemId} is delivered, and was never sent`);
        return [];
      }
      this.#deliveredOne(turn, facts, item, ids.slice(0, place));
      return facts;
    });
  }

  #deliveredOne(turn: TurnRef, facts: ItemFacts, item: DeliveredItem, before: readonly string[]): void {
    const { book } = this;
    const { token } = turn;
    const what = `${facts.id} in turn ${token}`;
    this.deliveries += 1;
    book.check(facts.key === turn.key, () => `${what} has the key ${turn.key} instead of ${facts.key}`);
    book.check(
      Buffer.from(bytesOfPayload(item.payload)).toString() === facts.id,
      () => `${what} carries something else`,
    );
    book.check(item.headers?.get('id') === facts.item.headers?.get('id'), () => `${what} has other headers`);
    book.check(!facts.declined, () => `${what} is delivered, and was declined`);
    const { done } = facts;
    if (done !== undefined)
      book.check(token <= done.token, () => `${what} is delivered again after its Ack (${done.token}) was answered`);
    // It goes on by the wall clock over a restart (S52), the time of which a start is not part of the run.
    const isEarly = !book.steps && book.time.now < facts.sentAt + facts.item.delay - 2 * SLOWEST;
    book.check(
      !isEarly || facts.redriven,
      () => `${what} is delivered before its delay of ${facts.item.delay} ms is over`,
    );
    this.#checkDoneKey(facts, token, what);
    this.#checkAfter(facts, what);
    if (book.queue(turn.queue).ordered && turn.key !== '' && !facts.redriven) this.#checkOrder(facts, before, what);
    this.#countAttempt(facts, token, item.attempt, what);
    if (book.queue(turn.queue).atMostOnce)
      facts.done ??= { ...book.stamp(this.#doneKind(facts)), token, result: undefined };
  }

  #checkDoneKey(facts: ItemFacts, token: number, what: string): void {
    const done = this.#doneKeys.get(doneKey(facts));
    if (done === undefined || done.id === facts.id || !this.book.queue(facts.queue).keepsKeys) return;
    this.book.check(token <= done.token, () => `${what} is delivered, though its key was done by ${done.id}`);
  }

  #checkAfter(facts: ItemFacts, what: string): void {
    if (facts.redriven) return;
    const { dependantsRun } = this.book.queue(facts.queue);
    for (const { queue, itemId } of facts.after) {
      const other = this.get(queue, itemId);
      if (other === undefined) continue;
      const isOver = this.mayBeOver(other) || (dependantsRun && this.mayBeDead(other));
      this.book.check(isOver, () => `${what} starts before ${itemId}, for which it waits`);
    }
  }

  #checkOrder(facts: ItemFacts, inTurnBefore: readonly string[], what: string): void {
    for (const other of this.#byKey.get(`${facts.queue}/${facts.key}`) ?? []) {
      if (other === facts || !other.isKept || !isBefore(other, facts)) continue;
      if (this.mayBeOver(other) || this.mayBeDead(other) || inTurnBefore.includes(other.id)) continue;
      this.book.broken(`${what} comes before ${other.id}, which was accepted before it was sent`);
    }
  }

  #countAttempt(facts: ItemFacts, token: number, attempt: number, what: string): void {
    const { last, retried } = facts;
    if (last !== undefined && token > last.token && !facts.redriven) {
      const least = last.attempt + (retried === last.token ? 1 : 0);
      this.book.check(attempt >= least, () => `${what} has attempt ${attempt}, at least ${least} must be`);
    }
    if (last !== undefined && token === last.token)
      this.book.check(attempt === last.attempt, () => `${what} has attempt ${attempt}, and had ${last.attempt}`);
    if (last === undefined || token > last.token) facts.last = { token, attempt };
  }

  /** Somebody said that it is done, or it may be without that. */
  mayBeOver({ queue, item, ackSent, mayBeDone }: ItemFacts): boolean {
    const { keepsKeys, atMostOnce } = this.book.queue(queue);
    return ackSent || mayBeDone || atMostOnce || (keepsKeys && item.idempotencyKey !== undefined);
  }

  mayBeDead(facts: ItemFacts): boolean {
    if (facts.mayBeDead || !this.book.queue(facts.queue).ordered) return true;
    return facts.after.some(({ queue, itemId }) => {
      const other = this.get(queue, itemId);
      return other !== undefined && this.mayBeDead(other);
    });
  }

  acking(items: readonly ItemFacts[], result: string | undefined): void {
    for (const facts of items) {
      facts.ackSent = true;
      facts.results.add(result);
    }
  }

  acked(turn: TurnRef, items: readonly ItemFacts[], result: string | undefined): void {
    const { book } = this;
    for (const facts of items) {
      const kind = this.#doneKind(facts);
      // It was sent again after the crash that took the one of this turn.
      if ((kind === 'memory' || facts.wasInMemory) && facts.last?.token !== turn.token) continue;
      if (kind === 'strict') {
        const row = book.disk.item(facts.queue, facts.id);
        book.check(
          row?.state === 'done',
          () => `the Ack of ${facts.id} is answered, and on the disk it is ${row?.state}`,
        );
      }
      this.acks += 1;
      facts.done = { ...book.stamp(kind), token: turn.token, result };
      if (facts.item.idempotencyKey === undefined) continue;
      const name = doneKey(facts);
      if (!this.#doneKeys.has(name))
        this.#doneKeys.set(name, {
          ...book.stamp(book.queue(facts.queue).kind),
          kind: book.queue(facts.queue).kind,
          id: facts.id,
          token: turn.token,
        });
    }
  }

  /** Of what is told of its end. */
  #doneKind(facts: ItemFacts): Kind {
    const { kind } = this.book.queue(facts.queue);
    return facts.kind === 'memory' ? 'memory' : kind;
  }

  nacking(items: readonly ItemFacts[], kind: 'retry' | 'release' | 'dead_letter', done: number): void {
    for (const facts of items.slice(0, done)) {
      facts.mayBeDone = true;
      facts.results.add(undefined);
    }
    if (kind === 'dead_letter') for (const facts of items) facts.mayBeDead = true;
  }

  retried(turn: TurnRef, items: readonly ItemFacts[], done: number): void {
    for (const facts of items.slice(done)) {
      facts.retried = turn.token;
      if (this.#doneKind(facts) !== 'strict') continue;
      const row = this.book.disk.item(facts.queue, facts.id);
      const attempts = row === undefined ? 0 : (this.book.disk.progress(row.seq)?.attempts ?? 0);
      const { last } = facts;
      if (row?.state === 'open' && last?.token === turn.token && !facts.redriven && this.mayBeDead(facts) === false)
        this.book.check(attempts >= last.attempt, () => `the retry of ${facts.id} is answered, and is not on the disk`);
    }
  }

  /** They may be sent back. */
  redriving(queue: string): void {
    for (const facts of this.all.values()) {
      if (facts.queue === queue && this.mayBeDead(facts)) facts.redriven = true;
    }
  }

  /** What Await says. @param asked when it was asked, as an event */
  found(
    facts: ItemFacts,
    { state, result }: AwaitAnswer,
    asked: { readonly done: boolean; readonly kept: boolean },
  ): void {
    const { book } = this;
    const text = result === undefined ? undefined : Buffer.from(result).toString();
    const what = `Await says that ${facts.id} is ${state}`;
    if (asked.kept && facts.isKept) book.check(state !== 'unknown', () => `${what}, and it was accepted`);
    if (asked.done && facts.done !== undefined) {
      book.check(state === 'done', () => `${what}, and its Ack was answered`);
    }
    if (state !== 'done') return;
    const isAtMostOnce = book.queue(facts.queue).atMostOnce;
    book.check(this.mayBeOver(facts), () => `${what}, and nobody said so`);
    if (facts.item.idempotencyKey === undefined && !isAtMostOnce)
      book.check(facts.results.has(text), () => `${what} with the result ${text}, which nobody gave`);
    if (facts.item.idempotencyKey === undefined && facts.done !== undefined && !facts.mayBeDone && !isAtMostOnce)
      book.check(text === facts.done.result, () => `${what} with ${text}, and ${facts.done?.result} was answered`);
    const row = book.disk.item(facts.queue, facts.id);
    // One that was done when it was handed out is written as done when its turn ends.
    if (this.#doneKind(facts) === 'strict' && !isAtMostOnce)
      book.check(row?.state === 'done', () => `${what}, and on the disk it is ${row?.state}`);
  }

  /** @param flushed the last batch that is on the disk */
  crashed(flushed: number): void {
    this.#life += 1;
    const counted = new Map<string, number>();
    for (const facts of this.all.values()) this.#crashedOne(facts, flushed, counted);
    for (const [name, done] of this.#doneKeys)
      if (done.batch > flushed || done.kind === 'memory') this.#doneKeys.delete(name);
    for (const [queue, count] of counted) {
      const most = this.book.queue(queue).flushCount;
      this.book.check(count <= most, () => `${count} answers of ${queue} are lost, ${most} may be`);
    }
  }

  #crashedOne(facts: ItemFacts, flushed: number, counted: Map<string, number>): void {
    const { book } = this;
    const { kind } = book.queue(facts.queue);
    if (facts.kind === 'memory') {
      facts.gone = facts.accepted !== undefined;
      facts.done = undefined;
      facts.last = undefined;
    }
    const row = book.disk.item(facts.queue, facts.id);
    const accepted = facts.maybe || row !== undefined ? undefined : facts.accepted;
    for (const stamp of [accepted, row?.state === 'done' ? undefined : facts.done]) {
      if (stamp === undefined || stamp.batch <= flushed || facts.kind === 'memory') continue;
      this.takenBack += 1;
      if (book.mayTake(facts.queue, stamp, facts.id)) counted.set(facts.queue, (counted.get(facts.queue) ?? 0) + 1);
    }
    if (facts.accepted !== undefined && facts.accepted.batch > flushed) facts.maybe = true;
    if (facts.done !== undefined && facts.done.batch > flushed) facts.done = undefined;
    if (kind !== 'strict') facts.last = undefined;
  }
}

function isBefore(one: ItemFacts, other: ItemFacts): boolean {
  if (one.firstSent === other.firstSent) return one.place < other.place;
  return one.accepted !== undefined && one.accepted.event < other.firstSent;
}

function doneKey({ queue, key, item }: ItemFacts): string {
  return JSON.stringify([queue, key, item.idempotencyKey]);
}
