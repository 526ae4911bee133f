import type { Effect } from './effects.js';

/** Kept allocated between steps; what a rare large step needed beyond is given back. */
const KEPT = 1_024;

/**
 * The effects of a step, in order. Its array is used again and again: a fresh one a step would be the largest
 * allocation of the hot path.
 */
export class Outbox {
  #slots: (Effect | undefined)[] = [];
  #from = 0;
  #to = 0;

  get isEmpty(): boolean {
    return this.#from === this.#to;
  }

  push(effect: Effect): void {
    this.#slots[this.#to++] = effect;
  }

  /** The next effect, taken out; those that are pushed meanwhile come after the others. */
  shift(): Effect | undefined {
    if (this.#from === this.#to) return undefined;
    const effect = this.#slots[this.#from];
    this.#slots[this.#from++] = undefined;
    if (this.#from === this.#to) this.#rewind();
    return effect;
  }

  #rewind(): void {
    this.#from = 0;
    this.#to = 0;
    if (this.#slots.length > KEPT) this.#slots.length = KEPT;
  }
}
