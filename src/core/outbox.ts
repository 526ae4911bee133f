import type { Effect } from './effects.js';

/** Kept allocated between steps; what a rare large step needed beyond is given back. */
const KEPT = 1_024;

/**
 * Effects in order. Its array is used again and again: a fresh one a step would be the largest allocation of the hot
 * path.
 */
class Line {
  #slots: (Effect | undefined)[] = [];
  #from = 0;
  #to = 0;

  get isEmpty(): boolean {
    return this.#from === this.#to;
  }

  push(effect: Effect): void {
    this.#slots[this.#to++] = effect;
  }

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

/** The effects of a step, in two lines: those that wait for nothing, and those that wait until it is on disk. */
export class Outbox {
  /**
   * What is pushed now may tell of what is not on disk yet. Set by whoever looks at a durable queue or changes one,
   * cleared where something begins that does not follow from it.
   */
  held = false;
  readonly #free = new Line();
  readonly #held = new Line();

  get isEmpty(): boolean {
    return this.#free.isEmpty;
  }

  get hasHeld(): boolean {
    return !this.#held.isEmpty;
  }

  push(effect: Effect): void {
    if (this.held) this.#held.push(effect);
    else this.#free.push(effect);
  }

  pushHeld(effect: Effect): void {
    this.#held.push(effect);
  }

  /** Whoever asked does not want to wait for the disk. */
  pushFree(effect: Effect): void {
    this.#free.push(effect);
  }

  /** The next effect that waits for nothing, taken out; those that are pushed meanwhile come after the others. */
  shift(): Effect | undefined {
    return this.#free.shift();
  }

  shiftHeld(): Effect | undefined {
    return this.#held.shift();
  }
}
