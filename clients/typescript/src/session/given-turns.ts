import { Held } from '../turns/held-turn.js';
import type { TurnLoss } from '../words/errors.js';
import type { Token, Turn } from '../words/worker-words.js';

/** A turn that the application was given on this session and has not settled. */
export class GivenTurn extends Held {
  /** Infinity: as long as the session is known to live. Else until this moment: the last hello did not name the turn. */
  safeUntil = Number.POSITIVE_INFINITY;
  /** A holder works on it, and will release it. */
  inUse = false;
  /** Somebody worked on it when it was lost: an attempt that ended by silence. */
  wasInUse = false;
  /** Lost as unreachable: its holder has ended by then, ms by the clock. */
  endAt = 0;

  /** @param tied it lives as long as its session does */
  constructor(
    turn: Turn,
    readonly tied: boolean,
    readonly ticket: string | undefined,
    onRelease: (held: Held) => void,
  ) {
    super(turn, onRelease);
  }

  /** Tied, and without an end that may be that of a lease: with one it is renewed as well, which harms no turn. */
  get livesBySession(): boolean {
    return this.tied && this.turn.leaseExpiresAt === Number.POSITIVE_INFINITY;
  }
}

/** What is remembered of a turn that was lost. */
export interface LostTurn {
  readonly cause: TurnLoss;
  /** By the clock. */
  readonly toldAt: number;
  readonly livesBySession: boolean;
}

/** What the application holds, by queue and token. As many as the sidecar has live turns of this session. */
export class GivenTurns {
  readonly #queues = new Map<string, Map<number, GivenTurn>>();
  /** So that a turn can be settled by its ticket too. The newest of equal tickets, which only other keys can have. */
  readonly #byTicket = new Map<string, GivenTurn>();
  /** Lost before a holder took them: a holder that takes one learns it then. */
  readonly #lost = new WeakMap<Turn, LostTurn>();
  #tied = 0;

  /** How many are tied. */
  get tied(): number {
    return this.#tied;
  }

  add(given: GivenTurn): void {
    const { turn, ticket } = given;
    let tokens = this.#queues.get(turn.queue);
    if (tokens === undefined) {
      tokens = new Map();
      this.#queues.set(turn.queue, tokens);
    }
    tokens.set(turn.token, given);
    if (given.tied) this.#tied += 1;
    if (ticket !== undefined && ticket !== '') this.#byTicket.set(ticket, given);
  }

  find(queue: string, token: Token): GivenTurn | undefined {
    return this.#queues.get(queue)?.get(Number(token));
  }

  findByTicket(queue: string, key: string, ticket: string): GivenTurn | undefined {
    const given = this.#byTicket.get(ticket);
    return given?.turn.queue === queue && given.turn.key === key ? given : undefined;
  }

  lossOf(turn: Turn): LostTurn | undefined {
    return this.#lost.get(turn);
  }

  remove(given: GivenTurn): void {
    const { turn, ticket } = given;
    const tokens = this.#queues.get(turn.queue);
    if (!tokens?.delete(turn.token)) return;
    if (tokens.size === 0) this.#queues.delete(turn.queue);
    if (given.tied) this.#tied -= 1;
    if (ticket !== undefined && this.#byTicket.get(ticket) === given) this.#byTicket.delete(ticket);
  }

  /** @param now by the clock, when that was told */
  lose(given: GivenTurn, cause: TurnLoss, now: number): void {
    this.remove(given);
    this.#lost.set(given.turn, { cause, toldAt: now, livesBySession: given.livesBySession });
    given.lose(cause);
  }

  *all(): Generator<GivenTurn> {
    for (const tokens of this.#queues.values()) yield* tokens.values();
  }
}

/** The name of a queue has no space. */
export function turnName({ queue, token }: { readonly queue: string; readonly token: Token }): string {
  return `${queue} ${token}`;
}
