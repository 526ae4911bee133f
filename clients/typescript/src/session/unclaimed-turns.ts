import type { TurnRef } from '../words/worker-words.js';

/** More of them are not waited for. */
const MOST_UNCLAIMED = 10_000;

interface Unclaimed {
  readonly turn: TurnRef;
  readonly until: number;
}

/** Turns that are to be given back, each so many ms after it came. */
export class UnclaimedTurns {
  #turns: Unclaimed[] = [];

  constructor(private readonly wait: number) {}

  get isFull(): boolean {
    return this.#turns.length >= MOST_UNCLAIMED;
  }

  /** When the first one has waited long enough. */
  get nextAt(): number {
    return this.#turns[0]?.until ?? Number.POSITIVE_INFINITY;
  }

  add(turn: TurnRef, now: number): void {
    this.#turns.push({ turn, until: now + this.wait });
  }

  /** Takes out those that have waited long enough by `now`; Infinity: all. */
  take(now: number): readonly TurnRef[] {
    const first = this.#turns.findIndex(({ until }) => now < until);
    return this.#turns.splice(0, first < 0 ? this.#turns.length : first).map(({ turn }) => turn);
  }

  clear(): void {
    this.#turns = [];
  }
}
