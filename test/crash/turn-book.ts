/** Turns as clients see them: who acts on a key, which tokens were given, and who lost what. */
import type { TurnLoss } from '@keyturn/client';
import type { Account } from './account.js';

export interface TurnName {
  readonly queue: string;
  readonly key: string;
  readonly token: number;
}

/** A handler from its beginning to its end. */
export interface Run extends TurnName {
  readonly who: string;
  /** Aborted: it was told to stop. */
  readonly signal: { readonly aborted: boolean };
}

/** The moment of a question: which one it was, and which tokens were known then. */
export interface Asked {
  readonly number: number;
  readonly largest: ReadonlyMap<string, number>;
}

interface Lane {
  /** The largest tokens that were given, and that began to act. */
  given: number;
  begun: number;
  readonly runs: Set<Run>;
}

interface Given {
  readonly key: string;
  readonly items: string;
  isSettling: boolean;
  /** Its client knows by its own clock that it may have ended, or was closed. */
  isGivenUp: boolean;
}

/** Of a key at which somebody evicted, nobody knows whom. */
interface MaybeEvicted {
  /** The last question before that was over. */
  readonly asks: number;
  /** The least token that was asked for later: it and all above it were given later, whenever they were asked for. */
  below: number;
}

/** Of these the client needs no sidecar to know. */
const OWN_LOSSES: ReadonlySet<TurnLoss> = new Set(['unreachable', 'replaced', 'closed']);

/**
 * Of a key the last 8 settlements are remembered (S18). Who could not reach its sidecar for so long that others had 8 turns of its key
 * meanwhile is told that nobody knows its turn. Some of those turns may have gone to nobody: so many of them were heard of at least.
 */
const TURNS_THAT_BURY = 4;

/**
 * `whole`: who renews in time keeps its turn, and who is told that its lease ended knew it before. `store away`: where answers wait for
 * a store, a turn may end before anybody has heard of it. That two act at once is seen all the same.
 */
export type Strictness = 'whole' | 'store away';

export class TurnBook {
  readonly #lanes = new Map<string, Lane>();
  readonly #given = new Map<string, Given>();
  readonly #largest = new Map<string, number>();
  readonly #tickets = new Map<string, Asked>();
  /** Turns that people ended, and those of keys at which they are about to. */
  readonly #excused = new Set<string>();
  #asks = 0;
  readonly #maybeEvicted = new Map<string, MaybeEvicted>();
  /** How many turns were given, each counted once. */
  turns = 0;
  runs = 0;
  /** Handlers that were told to stop. */
  told = 0;

  constructor(
    private readonly account: Account,
    private readonly strictness: Strictness,
  ) {}

  /** A call that may bring turns is made. Of the calls with one ticket the first counts: they return its turns again. */
  asks(queues: readonly string[], ticket: string | undefined): Asked {
    const known = ticket === undefined ? undefined : this.#tickets.get(ticket);
    if (known !== undefined) return known;
    this.#asks += 1;
    const asked = {
      number: this.#asks,
      largest: new Map(queues.map((queue) => [queue, this.#largest.get(queue) ?? 0])),
    };
    if (ticket !== undefined) this.#tickets.set(ticket, asked);
    return asked;
  }

  /** A client is told that it has a turn. */
  given(turn: TurnName, items: readonly string[], asked: Asked): void {
    const { queue, key, token } = turn;
    this.account.note(`given ${told(turn)} ${items.join()}`);
    const before = this.#given.get(nameOf(turn));
    if (before !== undefined) return this.#givenAgain(turn, items, before);
    this.turns += 1;
    this.#given.set(nameOf(turn), { key, items: items.join(), isSettling: false, isGivenUp: false });
    const floor = asked.largest.get(queue) ?? 0;
    if (token <= floor)
      this.account.broken(`token of ${told(turn)} is not above ${floor}, known before it was asked for`);
    this.#largest.set(queue, Math.max(token, this.#largest.get(queue) ?? 0));
    this.#excuseLate(turn, asked);
    const lane = this.#lane(turn);
    lane.given = Math.max(lane.given, token);
    for (const run of lane.runs) {
      // One that was given before and is heard of late has ended: whether it acts is looked at when it begins.
      if (run.token < token && this.#acts(run)) this.account.broken(`${told(turn)} is given while ${acting(run)}`);
    }
  }

  begins(run: Run): void {
    this.account.note(`begin ${acting(run)}`);
    this.runs += 1;
    const lane = this.#lane(run);
    for (const other of lane.runs) {
      if (this.#acts(other) && this.#acts(run)) this.account.broken(`${acting(run)} begins while ${acting(other)}`);
    }
    if (run.token < lane.begun && this.#acts(run)) this.account.broken(`${acting(run)} begins after ${lane.begun}`);
    lane.begun = Math.max(lane.begun, run.token);
    lane.runs.add(run);
  }

  ends(run: Run): void {
    if (run.signal.aborted) this.told += 1;
    this.account.note(`end ${acting(run)}${run.signal.aborted ? ' told' : ''}`);
    this.#lane(run).runs.delete(run);
  }

  /** Its holder asks that it end. */
  settles(turn: TurnName): void {
    const given = this.#given.get(nameOf(turn));
    if (given !== undefined) given.isSettling = true;
  }

  /** A holder is told that its turn is lost, by the sidecar or by its own clock. */
  lost(turn: TurnName, cause: TurnLoss): void {
    this.account.note(`lost ${told(turn)} ${cause}`);
    const given = this.#given.get(nameOf(turn));
    if (given === undefined) return;
    if (OWN_LOSSES.has(cause)) given.isGivenUp = true;
    // What was on its way when the sidecar died is told as SETTLED when the turn is asked for again.
    else if (!given.isSettling && !given.isGivenUp) this.#taken(turn, cause);
  }

  /** The end that its holder asked for is refused, because the turn is not live. */
  refused(turn: TurnName, cause: string): void {
    this.account.note(`refused ${told(turn)} ${cause}`);
    const given = this.#given.get(nameOf(turn));
    if (given === undefined || given.isGivenUp) return;
    const later = this.#later(turn);
    if (this.strictness === 'store away' && cause === 'unknown' && later >= TURNS_THAT_BURY)
      return this.account.note(`forgotten ${told(turn)} after ${later} others`);
    this.#taken(turn, cause === 'unknown' ? `unknown, ${later} later turns of its key were heard of` : cause);
  }

  /** Somebody evicts whoever holds the key: until the returned function is called with the token (unset: not known), all are excused. */
  evicting(queue: string, key: string): (token: number | undefined) => void {
    this.account.note(`evicting ${queue}/${key}`);
    const any = `${queue}/${key}`;
    this.#excused.add(any);
    return (token) => {
      this.account.note(`evicted ${queue}/${key} ${token ?? '?'}`);
      // Not known: whoever acts, holds or has asked may be the one, and all later ones are not.
      if (token === undefined) this.#maybeEvicted.set(any, { asks: this.#asks, below: Number.POSITIVE_INFINITY });
      const lane = this.#lane({ queue, key, token: 0 });
      for (const run of lane.runs) if (token === undefined) this.#excused.add(nameOf(run));
      this.#excused.add(nameOf({ queue, token: token ?? lane.given }));
      this.#excused.delete(any);
    };
  }

  /** Its answer may have been on its way for longer than the news that the eviction has no answer. */
  #excuseLate(turn: TurnName, asked: Asked): void {
    const evicted = this.#maybeEvicted.get(`${turn.queue}/${turn.key}`);
    if (evicted === undefined) return;
    if (asked.number > evicted.asks) evicted.below = Math.min(evicted.below, turn.token);
    else if (turn.token < evicted.below) this.#excused.add(nameOf(turn));
  }

  #givenAgain(turn: TurnName, items: readonly string[], before: Given): void {
    const same = before.key === turn.key && before.items === items.join();
    if (!same) this.account.broken(`${told(turn)} is given again, with ${items.join()} instead of ${before.items}`);
  }

  #taken(turn: TurnName, cause: string): void {
    if (this.#isExcused(turn) || (this.strictness === 'store away' && cause === 'lease_expired')) return;
    this.account.broken(`${told(turn)} was taken from its holder (${cause}), who had not lost it`);
  }

  /** How many turns of its key that were given after it were heard of. */
  #later({ queue, key, token }: TurnName): number {
    let later = 0;
    for (const [name, given] of this.#given)
      if (given.key === key && name.startsWith(`${queue} `) && Number(name.slice(queue.length + 1)) > token) later += 1;
    return later;
  }

  /** It is at work, was not told to stop, and nobody evicted it. */
  #acts(run: Run): boolean {
    return !run.signal.aborted && !this.#isExcused(run);
  }

  #isExcused(turn: TurnName): boolean {
    return this.#excused.has(nameOf(turn)) || this.#excused.has(`${turn.queue}/${turn.key}`);
  }

  /** Keyless items have a lane each. */
  #lane({ queue, key, token }: TurnName): Lane {
    const name = key === '' ? `${queue}/ ${token}` : `${queue}/${key}`;
    const known = this.#lanes.get(name);
    if (known !== undefined) return known;
    const lane: Lane = { given: 0, begun: 0, runs: new Set() };
    this.#lanes.set(name, lane);
    return lane;
  }
}

function nameOf({ queue, token }: Pick<TurnName, 'queue' | 'token'>): string {
  return `${queue} ${token}`;
}

function told({ queue, key, token }: TurnName): string {
  return `${queue}/${key} ${token}`;
}

function acting(run: Run): string {
  return `${run.who} at ${told(run)}`;
}
