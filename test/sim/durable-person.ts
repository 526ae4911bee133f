/** One who uses the coordinator of a world with restarts: repeats each call until it is known what became of it. */
import type {
  AckAnswer,
  Calls,
  Delivery,
  DeQueueAnswer,
  NackAnswer,
  NackKind,
  Refusal,
  RenewAnswer,
  Reply,
  Turn,
  Waiting,
} from '../../src/coordinator.js';
import { ackRequest, deQueueRequest, nackRequest } from '../support/builders.js';
import type { ItemFacts } from './durable-items.js';
import type { Asking, Heard, Open } from './durable-life.js';
import { Link } from './durable-link.js';
import type { Asked, Hold, Settlement } from './durable-turns.js';
import type { World } from './durable-world.js';

type Send<T> = (calls: Calls, reply: Reply<T>) => Waiting;

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
  ): void {
    const { turns, book, chance } = this.world;
    if (hold.settling !== undefined || hold.ended !== undefined) return;
    const { turn } = hold;
    let wasSafe = false;
    let answered = false;
    const isRemembered = () => {
      const later = book.disk.tokensAfter(turn.queue, turn.key, turn.token);
      const isKept = book.queue(turn.queue).remembers && !hold.maybe && hold.kind === 'strict';
      return isKept && later < 7;
    };
    let sent = 0;
    const refused = (why: Refusal) => {
      if (why.kind !== 'turn_lost') return this.unexpected(asking, why);
      if (answered) book.check(!isRemembered(), () => `${asking.what} was OK, and now it is ${why.cause}`);
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

export function isPassing({ kind }: Refusal): boolean {
  return kind === 'store_unavailable' || kind === 'draining' || kind === 'cancelled' || kind === 'session_replaced';
}
