import type { Effect } from './effects.js';

/** Kept allocated between steps; what a rare large step needed beyond is given back. */
const KEPT = 1_024;

/**
 * Effects in order. The array is used again and again: a fresh one a step would be the largest allocation of the hot
 * path.
 */
class InOrder {
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
    if (this.isEmpty) return undefined;
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

/**
 * The effects of a step: those that wait for nothing, and apart from them those that wait until it is on disk. The next
 * one is taken out; those that are pushed meanwhile come after the others.
 */
export class Outbox extends InOrder {
  /**
   * What is pushed now may tell of what is not on disk yet. Set by whoever looks at a durable queue or changes one,
   * cleared where something begins that does not follow from it.
   */
  held = false;
  readonly #held = new InOrder();

  get hasHeld(): boolean {
    return !this.#held.isEmpty;
  }

  override push(effect: Effect): void {
    if (this.held) this.#held.push(effect);
    else super.push(effect);
  }

  pushHeld(effect: Effect): void {
    this.#held.push(effect);
  }

  /** Whoever asked does not want to wait for the disk. */
  pushFree(effect: Effect): void {
    super.push(effect);
  }

  shiftHeld(): Effect | undefined {
    return this.#held.shift();
  }
}
