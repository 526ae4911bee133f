import type { TurnRef } from '../../coordinator.js';

/** Who gave turns and takes those back of which nobody learnt: a session, or a coordinator. */
export interface Taker {
  undeliverable(turns: readonly TurnRef[]): void;
}

/** The turns that are given in one message. */
export class Given {
  readonly #to: Taker[] = [];
  readonly #turns: TurnRef[] = [];

  get isEmpty(): boolean {
    return this.#turns.length === 0;
  }

  add(to: Taker, turn: TurnRef): void {
    this.#to.push(to);
    this.#turns.push(turn);
  }

  /** Nobody has learnt of them. */
  takeBack(): void {
    const byTaker = new Map<Taker, TurnRef[]>();
    for (const [index, turn] of this.#turns.entries()) {
      const to = this.#to[index];
      if (to === undefined) continue;
      const turns = byTaker.get(to);
      if (turns === undefined) byTaker.set(to, [turn]);
      else turns.push(turn);
    }
    for (const [to, turns] of byTaker) to.undeliverable(turns);
  }
}
