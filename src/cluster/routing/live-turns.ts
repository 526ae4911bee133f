/**
 * Turns that workers have by way of this sidecar, whoever their homes are: while they live it may not end, because their
 * workers could not settle them any more. It is a list of what passed here, no more: what a home knows better, and does not
 * say here, ends with its time.
 */
import type { RenewResult, Turn, TurnRef } from '../../coordinator.js';
import type { Clock } from '../../local/clock.js';

/** Who comes above that is not counted: a drain may end before its turn does. */
const MOST_TURNS = 1_000_000;
/** Below that nothing is cleared away. */
const LEAST_SWEPT = 10_000;

/** Until when turns live of which nothing more is heard. */
export interface TurnLife {
  /** By the clock. Infinity: as long as the stream of their session is there. */
  readonly until: number;
}

/** The turns that are tied to a session live with it. */
export class SessionLife implements TurnLife {
  until = Number.POSITIVE_INFINITY;
}

class LeasedLife implements TurnLife {
  constructor(
    readonly lease: number,
    readonly until: number,
  ) {}
}

export class LiveTurns {
  /** By token, of which there are no two in a cluster. */
  readonly #turns = new Map<number, TurnLife>();
  /** Who settles by its ticket names no token. Of turns that have ended, too, until it is cleared away. */
  readonly #tokens = new Map<string, number>();
  #sweepAt = LEAST_SWEPT;

  /** @param usual the lease of turns of a queue that ask for none, ms */
  constructor(
    private readonly clock: Clock,
    private readonly usual: (queue: string) => number,
  ) {}

  /** @param session on whose stream it was given; unset: on none */
  given({ token, lease, leaseExpiresAt }: Turn, session: TurnLife | undefined): void {
    const isTied = leaseExpiresAt === Number.POSITIVE_INFINITY && session !== undefined;
    this.#set(token, isTied ? session : this.#leased(lease));
  }

  /** So that it is known again when its ticket settles it. */
  named({ queue, key, token }: TurnRef, ticket: string): void {
    if (this.#turns.has(token)) this.#tokens.set(nameOf(queue, key, ticket), token);
  }

  /** The session has it again. */
  kept({ token }: TurnRef, session: TurnLife): void {
    this.#set(token, session);
  }

  /**
   * Asked after, here: also one that was given elsewhere lives by way of this sidecar then.
   * @param lease that was asked for; unset: its own
   */
  renewed(
    { queue, token }: TurnRef,
    result: RenewResult,
    lease: number | undefined,
    session: TurnLife | undefined,
  ): void {
    if (!result.alive) return this.ended(token);
    const known = this.#turns.get(token);
    if (result.leaseExpiresAt === Number.POSITIVE_INFINITY) {
      // One that is tied, and not here, is its stream's.
      if (session !== undefined) this.#set(token, session);
      return;
    }
    const own = known instanceof LeasedLife ? known.lease : this.#unknown(queue, result.leaseExpiresAt);
    this.#set(token, this.#leased(lease ?? own));
  }

  /** It was settled, was lost, or reached nobody. */
  ended(token: number): void {
    this.#turns.delete(token);
  }

  endedByTicket(queue: string, key: string, ticket: string): void {
    const name = nameOf(queue, key, ticket);
    const token = this.#tokens.get(name);
    if (token === undefined) return;
    this.#tokens.delete(name);
    this.#turns.delete(token);
  }

  /** The first that lives, of those that count; unset: none does. */
  first(counts: (token: number) => boolean): TurnLife | undefined {
    const now = this.clock.now();
    for (const [token, life] of this.#turns) {
      if (life.until <= now) this.#turns.delete(token);
      else if (counts(token)) return life;
    }
    return undefined;
  }

  /** How many live, of those that count. */
  count(counts: (token: number) => boolean): number {
    const now = this.clock.now();
    let count = 0;
    for (const [token, life] of this.#turns) if (life.until > now && counts(token)) count += 1;
    return count;
  }

  /**
   * A lease that was said elsewhere. When it ends is told by the wall clock of its home, which may be behind: then it would be
   * over before it began.
   */
  #unknown(queue: string, leaseExpiresAt: number): number {
    return Math.max(this.usual(queue), leaseExpiresAt - this.clock.wall());
  }

  #leased(lease: number): LeasedLife {
    return new LeasedLife(lease, this.clock.now() + lease);
  }

  #set(token: number, life: TurnLife): void {
    if (this.#turns.size + this.#tokens.size >= this.#sweepAt) this.#sweep();
    if (this.#turns.size < MOST_TURNS || this.#turns.has(token)) this.#turns.set(token, life);
  }

  /** Each time twice as many have come as were left: so each is looked at about twice. */
  #sweep(): void {
    const now = this.clock.now();
    for (const [token, life] of this.#turns) if (life.until <= now) this.#turns.delete(token);
    for (const [name, token] of this.#tokens) if (!this.#turns.has(token)) this.#tokens.delete(name);
    this.#sweepAt = Math.max(LEAST_SWEPT, 2 * (this.#turns.size + this.#tokens.size));
  }
}

function nameOf(queue: string, key: string, ticket: string): string {
  return `${queue}\n${key}\n${ticket}`;
}
