/** The streams of those who work over sessions. */
import type { Calls, HelloAnswer, Notice, Session } from '../../src/coordinator.js';
import { nackRequest } from '../support/builders.js';
import type { Life } from './durable-life.js';
import type { Hold } from './durable-turns.js';
import type { World } from './durable-world.js';

const TTL = 3_000;

/** The stream of somebody who works over sessions: opened again whenever it breaks. */
export class Link {
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

/** A call that cannot be cancelled. */
function unwaited(_: unknown): undefined {
  return undefined;
}
