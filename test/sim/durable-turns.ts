/** Turns of a world with restarts, as their holders know them. */
import type { LossCause, TurnRef } from '../../src/coordinator.js';
import type { Book, Kind, Stamp } from './durable-book.js';
import type { ItemFacts } from './durable-items.js';

export type Settlement = 'deQueue' | 'ack' | 'nack';

export interface Asked {
  /** When the first call was made that may have brought the turn. */
  readonly at: number;
  readonly event: number;
}

export class Hold {
  /** Until then nobody can have it by the world's time, whatever the coordinator says. */
  safeUntil = 0;
  settling: Settlement | undefined;
  ended: Stamp | undefined;
  evicted = false;
  /** Its holder asked once more which items it has, and has not heard. */
  askedAgain = false;
  /** The crash may have taken it. */
  maybe = false;

  constructor(
    readonly turn: TurnRef,
    readonly who: string,
    readonly kind: Kind,
    public items: readonly ItemFacts[],
    readonly mostUntil: number,
    /** Set: it is tied to this session. */
    public session: string | undefined,
    readonly given: Stamp,
    /** ms */
    readonly lease: number,
    /** For how long no time had passed for turns when it was given. */
    readonly standstill: number,
  ) {}

  isSafe(now: number): boolean {
    if (this.maybe || this.evicted || this.ended !== undefined || this.settling !== undefined) return false;
    return now < Math.min(this.safeUntil, this.mostUntil);
  }
}

interface Lane {
  last: number;
  readonly holds: Set<Hold>;
  /** Turns asked for before this event may have been evicted. */
  evictedUntil: number;
  resumedAt: number;
  /** It is parked on the disk: no larger token than this. */
  parkedAt: number | undefined;
}

export class Turns {
  readonly #holds = new Map<number, Hold>();
  readonly #lanes = new Map<string, Lane>();
  readonly #paused = new Map<string, number>();
  readonly #resumed = new Map<string, number>();
  /** For how long processes were away, and what they had lived since their last writes. */
  #standstill = 0;
  given = 0;
  repeated = 0;
  survived = 0;

  constructor(private readonly book: Book) {}

  hold(token: number): Hold | undefined {
    return this.#holds.get(token);
  }

  /** @param lease unset: the turn is tied */
  gave(
    turn: TurnRef,
    who: string,
    asked: Asked,
    items: readonly ItemFacts[],
    session: string | undefined,
    lease: number,
  ): Hold {
    const { book } = this;
    const facts = book.queue(turn.queue);
    const known = this.#holds.get(turn.token);
    const what = `${turn.queue}/${turn.key} ${turn.token}`;
    const row = book.disk.token(turn.token);
    book.note(`${who} has ${what} ${session === undefined ? `for ${lease} ms` : 'tied'} ${items.map(({ id }) => id)}`);
    if (facts.kind === 'strict')
      book.check(
        row !== undefined || book.disk.tokenBatch(turn.token) > 0,
        () => `${what} is given, and was never on the disk`,
      );
    if (known !== undefined) return this.#again(known, turn, who, items, asked, session, lease);
    this.given += 1;
    const most = facts.maxHold === undefined ? Number.POSITIVE_INFINITY : asked.at + facts.maxHold;
    const hold = new Hold(turn, who, facts.kind, items, most, session, book.stamp(facts.kind), lease, this.#standstill);
    hold.safeUntil = session === undefined ? asked.at + lease : Number.POSITIVE_INFINITY;
    this.#holds.set(turn.token, hold);
    if (turn.key !== '') this.#checkLane(hold, asked, what);
    const paused = this.#paused.get(turn.queue);
    if (paused !== undefined) book.check(turn.token <= paused, () => `${what} is given while its queue is paused`);
    return hold;
  }

  #checkLane(hold: Hold, asked: Asked, what: string): void {
    const { book } = this;
    const lane = this.#lane(hold.turn);
    const { token } = hold.turn;
    if (asked.event < lane.evictedUntil) hold.evicted = true;
    if (hold.kind === 'strict') book.check(token > lane.last, () => `${what} is given after ${lane.last}`);
    lane.last = Math.max(lane.last, token);
    if (lane.parkedAt !== undefined)
      book.check(token <= lane.parkedAt, () => `${what} is given while its key is parked`);
    for (const other of lane.holds) {
      if (other.isSafe(book.time.now)) book.broken(`${what} is given while ${other.who} holds ${other.turn.token}`);
      if (other.ended !== undefined) lane.holds.delete(other);
    }
    lane.holds.add(hold);
  }

  #again(
    hold: Hold,
    turn: TurnRef,
    who: string,
    items: readonly ItemFacts[],
    asked: Asked,
    session: string | undefined,
    lease: number,
  ): Hold {
    this.repeated += 1;
    const same = hold.turn.queue === turn.queue && hold.turn.key === turn.key && hold.who === who;
    const what = `${turn.queue}/${turn.key} ${turn.token}`;
    this.book.check(
      same,
      () => `${what} is given to ${who}, and was ${hold.turn.queue}/${hold.turn.key} of ${hold.who}`,
    );
    const ids = (all: readonly ItemFacts[]) =>
      all
        .filter(({ kind }) => kind !== 'memory')
        .map(({ id }) => id)
        .join();
    if (!hold.maybe) {
      this.book.check(
        ids(items) === ids(hold.items),
        () => `${what} is given again with ${ids(items)} instead of ${ids(hold.items)}`,
      );
      // Answers of strict queues come in the order in which they were decided.
      if (hold.kind === 'strict')
        this.book.check(hold.ended === undefined, () => `${what} is given again, and its end was answered`);
    }
    hold.items = items;
    hold.askedAgain = false;
    hold.session = session;
    if (asked.event < this.#lane(turn).evictedUntil) hold.evicted = true;
    hold.safeUntil = session === undefined ? asked.at + lease : Number.POSITIVE_INFINITY;
    return hold;
  }

  /** @param sent when Renew was called; @param cut how many batches were cut then */
  renewed(hold: Hold, sent: number, cut: number): void {
    const { maxHold } = this.book.queue(hold.turn.queue);
    const most = hold.given.at + (maxHold ?? Number.POSITIVE_INFINITY) + this.#standstill - hold.standstill;
    this.book.check(sent <= most + 50, () => `${hold.turn.token} lives ${sent - most} ms longer than max_hold lets it`);
    if (hold.session !== undefined) return;
    const { disk } = this.book;
    if (hold.kind === 'strict')
      this.book.check(
        disk.tokenBatch(hold.turn.token) > cut,
        () => `Renew of ${hold.turn.token} is answered, and is not on the disk`,
      );
    hold.safeUntil = sent + hold.lease;
  }

  /** @param wasSafe when it was asked */
  lost(hold: Hold, cause: LossCause, wasSafe: boolean, how: string): void {
    const { book } = this;
    const { token, queue, key } = hold.turn;
    if (!hold.maybe && !hold.evicted)
      book.check(
        !wasSafe,
        () => `${queue}/${key} ${token} of ${hold.who} is lost (${cause}, ${how}), and nobody can have it`,
      );
    // What nobody asked for is told even if it could not be written.
    const isWritten = how !== 'notice' || book.disk.troubleAt < book.time.now - 6_000;
    if (hold.kind === 'strict' && isWritten)
      book.check(book.disk.token(token)?.state !== 'live', () => `${token} is lost (${how}), and is live on the disk`);
    hold.ended ??= { ...book.stamp(hold.kind) };
  }

  settled(hold: Hold): void {
    const { book } = this;
    const { token } = hold.turn;
    if (hold.kind === 'strict')
      book.check(
        book.disk.token(token)?.state !== 'live',
        () => `the end of ${token} is answered, and it is live on the disk`,
      );
    hold.ended = book.stamp(hold.kind);
  }

  /** The stream of this session broke. */
  broke(session: string, ttl: number): void {
    for (const hold of this.#holds.values())
      if (hold.session === session) hold.safeUntil = Math.min(hold.safeUntil, this.book.time.now + ttl);
  }

  /** Those that a hello of this session must name. */
  tiedTo(session: string, now: number): readonly Hold[] {
    return [...this.#holds.values()].filter((hold) => hold.session === session && hold.isSafe(now));
  }

  back(hold: Hold): void {
    hold.safeUntil = Number.POSITIVE_INFINITY;
  }

  /** A key is about to be evicted, or was. */
  evicting(queue: string, key: string, event: number): void {
    const lane = this.#lane({ queue, key, token: 0 });
    lane.evictedUntil = Math.max(lane.evictedUntil, event);
    for (const hold of lane.holds) hold.evicted = true;
  }

  pausing(queue: string, isPaused: boolean, event: number): void {
    if (isPaused) return;
    this.#paused.delete(queue);
    this.#resumed.set(queue, event);
  }

  paused(queue: string, sent: number): void {
    const { book } = this;
    if (book.queue(queue).kind !== 'strict' || (this.#resumed.get(queue) ?? 0) > sent) return;
    book.check(book.disk.isPaused(queue), () => `${queue} is paused, and not on the disk`);
    this.#paused.set(queue, book.disk.maxToken);
  }

  resuming(queue: string, key: string, event: number): void {
    const lane = this.#lane({ queue, key, token: 0 });
    lane.parkedAt = undefined;
    lane.resumedAt = event;
  }

  /** An item of the key is dead by its holder's word, and that is answered. */
  buried(hold: Hold, sent: number): void {
    const { book } = this;
    const { queue, key } = hold.turn;
    const lane = this.#lane(hold.turn);
    if (key === '' || !book.queue(queue).parks || hold.kind !== 'strict' || lane.resumedAt > sent) return;
    book.check(
      book.disk.isParked(queue, key),
      () => `${queue}/${key} has a dead letter, and is not parked on the disk`,
    );
    lane.parkedAt = book.disk.maxToken;
  }

  crashed(flushed: number, ttlOf: (session: string) => number): void {
    const { book } = this;
    for (const hold of this.#holds.values()) {
      if (hold.session !== undefined) hold.safeUntil = Math.min(hold.safeUntil, book.time.now + ttlOf(hold.session));
      if (hold.isSafe(book.time.now) && hold.kind === 'strict') this.survived += 1;
      if (hold.kind === 'strict' || hold.maybe) continue;
      const taken = [hold.given, hold.ended].find((stamp) => stamp !== undefined && stamp.batch > flushed);
      if (hold.kind === 'memory' || taken !== undefined) hold.maybe = true;
      const isLost = book.disk.tokenBatch(hold.turn.token) === 0;
      if (hold.kind === 'soft' && taken !== undefined && isLost)
        book.mayTake(hold.turn.queue, taken, `turn ${hold.turn.token}`);
    }
  }

  stoodStill(ms: number): void {
    this.#standstill += ms;
  }

  #lane({ queue, key, token }: TurnRef): Lane {
    const name = key === '' ? `${queue}/ ${token}` : `${queue}/${key}`;
    const known = this.#lanes.get(name);
    if (known !== undefined) return known;
    const lane: Lane = { last: 0, holds: new Set(), evictedUntil: 0, resumedAt: 0, parkedAt: undefined };
    this.#lanes.set(name, lane);
    return lane;
  }
}
