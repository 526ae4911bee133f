import type { Clock } from '../time/clock.js';
import type { TurnRef } from '../words/worker-words.js';
import { type GivenTurn, turnName } from './given-turns.js';

/** More are not remembered, and are treated as turns whose answers were lost. */
const MOST_GIVEN_UP = 100_000;
/** A hello names no more turns than that. */
const MOST_TOLD = 10_000;

/**
 * Tied turns of which their holders were told that they are lost, though the session may have them still. They were
 * delivered, so no open call waits for them: one that the session has is given back, but not before its holder has ended, or
 * has had the time to.
 */
export class GivenUpTurns {
  readonly #turns = new Map<string, GivenTurn>();
  /** Those of them that the session has, and whose holders have not come to their end. */
  readonly #stopping = new Set<GivenTurn>();

  constructor(
    private readonly clock: Clock,
    private readonly giveBack: (given: GivenTurn) => void,
  ) {}

  /** @param endAt by then its holder has ended, by the clock */
  add(given: GivenTurn, endAt: number): void {
    if (this.#turns.size >= MOST_GIVEN_UP) return;
    given.endAt = endAt;
    given.wasInUse = given.inUse;
    this.#turns.set(turnName(given.turn), given);
  }

  /** A stream tells that the session has this turn. @returns false when it is none of these */
  told(turn: TurnRef): boolean {
    const given = this.#turns.get(turnName(turn));
    if (given === undefined) return false;
    this.#backAgain(given);
    return true;
  }

  /** The session has a turn that was told lost before this was known. */
  found(given: GivenTurn): void {
    this.#turns.set(turnName(given.turn), given);
    this.#backAgain(given);
  }

  /** The holder of the turn has come to its end, or has had the time to. */
  ended(given: GivenTurn): void {
    if (this.#stopping.delete(given)) this.giveBack(given);
  }

  /** It was given back. */
  remove(turn: Pick<TurnRef, 'queue' | 'token'>): void {
    this.#turns.delete(turnName(turn));
  }

  /** What the session has not is gone. */
  forgetGone(there: readonly TurnRef[]): void {
    if (this.#turns.size === 0 || there.length >= MOST_TOLD) return;
    const names = new Set(there.map(turnName));
    for (const name of this.#turns.keys()) if (!names.has(name)) this.#turns.delete(name);
  }

  /** The stream is gone: a new one tells again which turns the session has. */
  detached(): void {
    this.#stopping.clear();
  }

  /** When the next holder has had its time. */
  get nextAt(): number {
    let next = Number.POSITIVE_INFINITY;
    for (const { endAt } of this.#stopping) next = Math.min(next, endAt);
    return next;
  }

  tick(now: number): void {
    for (const given of this.#stopping) if (now >= given.endAt) this.ended(given);
  }

  #backAgain(given: GivenTurn): void {
    if (given.inUse && this.clock.now() < given.endAt) this.#stopping.add(given);
    else this.giveBack(given);
  }
}
