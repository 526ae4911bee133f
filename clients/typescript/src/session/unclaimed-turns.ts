import type { TurnRef } from '../words/worker-words.js';

/** How long a turn waits for a call with the ticket whose earlier call was given up: as the sidecar keeps a place by default. */
const UNCLAIMED_MS = 10_000;
/** More of them are not waited for. */
const MOST_UNCLAIMED = 10_000;

interface Unclaimed {
  readonly turn: TurnRef;
  readonly until: number;
}

/** Turns whose answers reached no caller, and that a call with the same ticket may still ask for, in the order in which they came. */
export class UnclaimedTurns {
  #turns: Unclaimed[] = [];

  get isFull(): boolean {
    return this.#turns.length >= MOST_UNCLAIMED;
  }

  /** When the first one has waited long enough. */
  get nextAt(): number {
    return this.#turns[0]?.until ?? Number.POSITIVE_INFINITY;
  }

  add(turn: TurnRef, now: number): void {
    this.#turns.push({ turn, until: now + UNCLAIMED_MS });
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
