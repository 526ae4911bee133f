/** Those who use the coordinator of a world with restarts: they repeat each call until they know what became of it. */
import type {
  AckAnswer,
  AcquireAnswer,
  AcquireRequest,
  AwaitAnswer,
  Calls,
  Delivery,
  DeQueueAnswer,
  EnQueueAnswer,
  HelloAnswer,
  ItemRef,
  NackAnswer,
  NackKind,
  NewItem,
  Notice,
  Refusal,
  RenewAnswer,
  Reply,
  Session,
  SubmitAnswer,
  Turn,
  Waiting,
} from '../../src/coordinator.js';
import {
  ackRequest,
  acquireRequest,
  bytes,
  deQueueRequest,
  enQueueRequest,
  nackRequest,
  newItem,
} from '../support/builders.js';
import type { Book, Kind } from './durable-book.js';
import type { ItemFacts, Items } from './durable-items.js';
import type { Asking, Heard, Life, Open } from './durable-life.js';
import type { Asked, Hold, Settlement, Turns } from './durable-turns.js';
import type { Chance } from './random.js';

export interface World {
  readonly book: Book;
  readonly chance: Chance;
  readonly items: Items;
  readonly turns: Turns;
  readonly queues: readonly [string, ...string[]];
  readonly keys: readonly [string, ...string[]];
  /** Unset: no process runs. */
  readonly life: Life | undefined;
  readonly stopping: boolean;
  /** Calls name queues of several kinds, so that what is kept in memory waits for what is not. */
  readonly mixes: boolean;
}

type Send<T> = (calls: Calls, reply: Reply<T>) => Waiting;

const TTL = 3_000;
const RENEW = 'renew';

export abstract class Person {
  #link: Link | undefined;

  constructor(
    readonly name: string,
    protected readonly world: World,
    hasSession: boolean,
  ) {
    if (hasSession) this.#link = new Link(name, world);
  }

  protected abstract begin(): void;

  start(): void {
    this.later(1, 500, () => this.begin());
  }

  protected goOn(): void {
    if (!this.world.stopping) this.later(1, 300, () => this.begin());
  }

  /** Has brought to an end what it began. */
  leave(): void {
    this.#link?.end();
  }

  protected later(least: number, most: number, task: () => void): void {
    const { chance, book } = this.world;
    if (chance.in100(3)) task();
    else book.time.after(chance.int(least, most), task);
  }

  /** The session that a turn is tied to which is asked for without a lease of its own. */
  protected get session(): string | undefined {
    return this.#link === undefined ? undefined : this.name;
  }

  protected ask<T>(asking: Omit<Asking, 'who'>, send: Send<T>, hear: (heard: Heard<T>) => void): Open | undefined {
    const { life, chance, book } = this.world;
    const calls = this.#link === undefined ? life?.coordinator : this.#link.calls;
    if (life === undefined || calls === undefined) {
      book.time.after(chance.int(20, 200), () => hear('lost'));
      return undefined;
    }
    const open = life.ask({ who: this.name, ...asking }, calls, send, hear);
    if (asking.wait > 0 && chance.in100(8)) this.later(1, asking.wait, () => open.cancel(chance.in100(20)));
    return open;
  }

  /** The same call again until it is known what became of it. */
  protected persist<T>(
    asking: Omit<Asking, 'who'>,
    send: Send<T>,
    hear: (answer: T) => void,
    refused: (why: Refusal) => void = (why) => this.unexpected(asking, why),
    before: () => void = () => undefined,
  ): void {
    before();
    this.ask<T>(asking, send, (heard) => {
      if (heard === 'lost' || ('refusal' in heard && isPassing(heard.refusal)))
        this.later(20, 250, () => this.persist(asking, send, hear, refused, before));
      else if ('answer' in heard) hear(heard.answer);
      else refused(heard.refusal);
    });
  }

  protected unexpected({ what, queues }: Omit<Asking, 'who'>, why: Refusal): void {
    this.world.book.broken(`${this.name}: ${what} of ${queues} is refused: ${JSON.stringify(why)}`);
  }

  protected asked(): Asked {
    return { at: this.world.book.time.now, event: this.world.book.event() };
  }

  protected queue(): string {
    const [first, ...others] = this.world.queues;
    return this.world.chance.of(first, ...others);
  }

  protected key(): string {
    const [first, ...others] = this.world.keys;
    return this.world.chance.of(first, ...others);
  }

  protected leaseOf(queue: string, asked: number | undefined): number {
    return asked ?? this.world.book.queue(queue).lease;
  }

  protected took(turn: Turn, asked: Asked, items: readonly ItemFacts[], lease: number | undefined): Hold {
    const session = lease === undefined ? this.session : undefined;
    const { turns } = this.world;
    return turns.gave(turn, this.name, asked, items, session, this.leaseOf(turn.queue, lease));
  }

  /** Works for a while, and renews. */
  protected work(hold: Hold, then: () => void): void {
    const { chance, turns } = this.world;
    if (turns.hold(hold.turn.token) !== hold || hold.ended !== undefined) return;
    // Some would work for ever.
    if (hold.mostUntil < Number.POSITIVE_INFINITY && hold.turn.token % 12 === 0 && !this.world.stopping)
      return void this.later(50, 400, () => this.#renew(hold, () => this.work(hold, then)));
    if (chance.in100(30)) this.#renew(hold, () => this.work(hold, then));
    else this.later(1, chance.in100(10) ? 2_500 : 300, then);
  }

  #renew(hold: Hold, then: () => void): void {
    const { book, turns } = this.world;
    const { turn } = hold;
    const sent = book.time.now;
    const cut = book.disk.cut;
    const wasSafe = hold.isSafe(sent);
    this.ask<RenewAnswer>(
      { what: `${RENEW} ${turn.token}`, queues: [turn.queue], wait: 0 },
      (calls, reply) => unwaited(calls.renew({ turns: [turn], lease: undefined }, reply)),
      (heard) => {
        const result = heard !== 'lost' && 'answer' in heard ? heard.answer.results[0] : undefined;
        if (result?.alive === true) turns.renewed(hold, sent, cut);
        else if (result !== undefined) return turns.lost(hold, result.cause, wasSafe, RENEW);
        this.later(50, 400, then);
      },
    );
  }

  protected ack(hold: Hold, request: Partial<Parameters<typeof ackRequest>[0]> = {}): void {
    const { items, book } = this.world;
    const { turn } = hold;
    const result = request.result === undefined ? undefined : Buffer.from(request.result).toString();
    const followUps = request.followUps ?? [];
    const { next } = request;
    const whole = ackRequest({ queue: turn.queue, key: turn.key, token: turn.token, ...request });
    for (const { queue, item } of followUps) items.offer(queue, [item], book.queue(queue).kind);
    const asked = this.asked();
    const asking = {
      what: `ack ${turn.token}`,
      queues: [turn.queue, ...followUps.map(({ queue }) => queue), ...(next?.queues ?? [])],
      wait: next?.wait ?? 0,
    };
    this.#settle<AckAnswer>(
      hold,
      'ack',
      asking,
      (calls, reply) => calls.ack(whole, reply),
      (answer) => {
        for (const [i, followUp] of answer.followUps.entries()) {
          const queue = followUps[i]?.queue ?? '';
          items.answered(queue, [followUp], book.queue(queue).kind, true);
        }
        items.acked(turn, hold.items, result);
        if (next !== undefined) this.take(answer.next?.deliveries ?? [], asked, next.lease);
      },
      () => items.acking(hold.items, result),
      followUps.length > 0,
    );
  }

  protected nack(hold: Hold, kind: NackKind, done = 0): void {
    const { items, turns, book } = this.world;
    const { turn } = hold;
    const sent = book.event();
    this.#settle<NackAnswer>(
      hold,
      'nack',
      { what: `nack ${kind} ${turn.token}`, queues: [turn.queue], wait: 0 },
      (calls, reply) => unwaited(calls.nack(nackRequest({ ...turn, kind, done, delay: undefined }), reply)),
      () => {
        if (kind === 'retry') items.retried(turn, hold.items, done);
        if (kind === 'dead_letter' && hold.items.some((one) => one.kind !== 'memory')) turns.buried(hold, sent);
      },
      () => items.nacking(hold.items, kind, done),
    );
  }

  protected deQueue(hold: Hold, abandoned: boolean): void {
    const { turn } = hold;
    this.#settle<DeQueueAnswer>(
      hold,
      'deQueue',
      { what: `deQueue ${turn.token}`, queues: [turn.queue], wait: 0 },
      (calls, reply) =>
        unwaited(
          calls.deQueue(
            deQueueRequest({ queue: turn.queue, key: turn.key, holder: { token: turn.token }, abandoned }),
            reply,
          ),
        ),
      () => undefined,
    );
  }

  #settle<T>(
    hold: Hold,
    how: Settlement,
    asking: Omit<Asking, 'who'>,
    send: Send<T>,
    hear: (answer: T) => void,
    before: () => void = () => undefined,
    hasFollowUps = false,
  ): void {
    const { turns, book, chance } = this.world;
    if (hold.settling !== undefined || hold.ended !== undefined) return;
    const { turn } = hold;
    let wasSafe = false;
    let answered = false;
    const isRemembered = () => {
      const later = book.disk.tokensAfter(turn.queue, turn.key, turn.token);
      const isKept = book.queue(turn.queue).remembers && !hold.maybe && hold.kind === 'strict';
      return isKept && later < (hasFollowUps ? 1 : 7);
    };
    let sent = 0;
    const refused = (why: Refusal) => {
      if (why.kind !== 'turn_lost') return this.unexpected(asking, why);
      if (answered) book.check(!isRemembered(), () => `${asking.what} was OK, and now it is ${why.cause}`);
      // Its follow-ups are remembered until the key has another turn.
      else if (hasFollowUps && why.cause === 'settled' && !isRemembered()) hold.ended ??= book.stamp(hold.kind);
      else turns.lost(hold, why.cause, wasSafe && (sent === 1 || book.queue(turn.queue).remembers), how);
    };
    const once = () =>
      this.persist(
        asking,
        send,
        (answer: T) => {
          turns.settled(hold);
          hear(answer);
          if (answered || !chance.in100(25)) return;
          answered = true;
          this.later(1, 800, once);
        },
        refused,
        () => {
          // What it asks for may be carried out from now on: it is its own doing that the turn is over.
          sent += 1;
          hold.settling = undefined;
          wasSafe = hold.isSafe(book.time.now);
          hold.settling = how;
          before();
        },
      );
    once();
    // Impatient: the same again before the first is answered.
    if (chance.in100(8) && hold.settling !== undefined)
      this.ask<T>(asking, send, (heard) => {
        if (heard !== 'lost' && 'answer' in heard) hear(heard.answer);
      });
  }

  protected take(deliveries: readonly Delivery[], asked: Asked, lease: number | undefined): void {
    for (const { turn, items } of deliveries) {
      const facts = this.world.items.delivered(turn, items);
      const hold = this.took(turn, asked, facts, lease);
      this.work(hold, () => this.finish(hold));
    }
  }

  protected finish(_hold: Hold): void {}
}

/** A call that cannot be cancelled. */
function unwaited(_: unknown): undefined {
  return undefined;
}

function isPassing({ kind }: Refusal): boolean {
  return kind === 'store_unavailable' || kind === 'draining' || kind === 'cancelled' || kind === 'session_replaced';
}

/** The stream of somebody who works over sessions: opened again whenever it breaks. */
class Link {
  #session: Session | undefined;
  #life: Life | undefined;
  #opening = false;

  constructor(
    private readonly name: string,
    private readonly world: World,
  ) {}

  /** Unset: it is being opened. */
  get calls(): Calls | undefined {
    const { life, chance } = this.world;
    if (this.#session !== undefined && this.#life === life && life?.alive === true) {
      if (!chance.in100(2) || life.open > 0) return this.#session;
      this.#close(this.#session);
      return undefined;
    }
    if (life?.ready === true && !this.#opening) this.#open(life);
    return undefined;
  }

  end(): void {
    if (this.#session !== undefined && this.#life === this.world.life) this.#close(this.#session);
  }

  #close(session: Session): void {
    this.world.book.note(`${this.name} breaks its stream`);
    this.#session = undefined;
    this.world.turns.broke(this.name, TTL);
    session.close();
  }

  #open(life: Life): void {
    const { turns, book } = this.world;
    const session = life.openSession({ notice: (notice) => this.#notice(life, notice), replaced: () => undefined });
    if ('kind' in session) return;
    this.#opening = true;
    const tied = turns.tiedTo(this.name, book.time.now);
    const request = { consumerId: this.name, sessionId: this.name, ttl: TTL };
    life.ask<HelloAnswer>(
      { who: this.name, what: 'hello', queues: [...new Set(tied.map(({ turn }) => turn.queue))], wait: 5_000 },
      session,
      (_, reply) => unwaited(session.hello(request, reply)),
      (heard) => {
        this.#opening = false;
        if (heard === 'lost' || 'refusal' in heard) {
          if (life.alive) session.close();
          return;
        }
        this.#session = session;
        this.#life = life;
        this.#greeted(session, heard.answer, tied);
      },
    );
  }

  #greeted(session: Session, { turns: back }: HelloAnswer, tied: readonly Hold[]): void {
    const { turns, book } = this.world;
    const tokens = new Set(back.map(({ token }) => token));
    for (const hold of tied) {
      if (tokens.has(hold.turn.token)) turns.back(hold);
      else if (hold.isSafe(book.time.now))
        book.broken(`hello of ${this.name} does not name ${hold.turn.token}, which it holds`);
    }
    for (const turn of back) {
      // Also one that it had ended, and the crash took that.
      const hold = turns.hold(turn.token);
      if (hold !== undefined && hold.ended === undefined) continue;
      book.note(`${this.name} gives ${turn.token} back`);
      session.nack(nackRequest({ ...turn, kind: 'release' }), { answer: () => true, refuse: () => undefined });
    }
  }

  #notice(life: Life, notice: Notice): void {
    const { turns, book } = this.world;
    if (!life.alive || notice.kind !== 'turn_lost') return;
    book.note(`${this.name} is told that ${notice.turn.token} is lost: ${notice.cause}`);
    const hold = turns.hold(notice.turn.token);
    if (hold === undefined || hold.settling !== undefined || hold.ended !== undefined) return;
    turns.lost(hold, notice.cause, hold.isSafe(book.time.now), 'notice');
  }
}

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
    this.#submit(queue, items, asksFor, told, chance.in100(15) ? 1 : 0);
  }

  #submit(
    queue: string,
    items: readonly NewItem[],
    asksFor: 'interval' | 'memory' | undefined,
    told: Kind,
    again: number,
  ): void {
    const { items: all, chance } = this.world;
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
        if (again > 0) this.later(1, 1_500, () => this.#submit(queue, items, asksFor, told, 0));
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
    const mayShrink = items.some(({ kind }) => kind === 'memory');
    const isAtMostOnce = book.queue(turn.queue).atMostOnce;
    const lot = this.world.stopping ? 0 : chance.int(0, 99);
    if (lot < 70 || isAtMostOnce) this.#ack(hold);
    else if (lot < 82) this.nack(hold, 'retry', chance.in100(20) && !mayShrink ? chance.int(0, items.length) : 0);
    else if (lot < 88) this.nack(hold, 'release');
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
