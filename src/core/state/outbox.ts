import type { Effect } from './effects.js';

/** Kept allocated between steps; what a rare large step needed beyond is given back. */
const KEPT = 1_024;

/**
 * Effects in order. Most steps have one, which has a place of its own. The array of the others is used again and again: a
 * fresh one a step would be the largest allocation of the hot path.
 */
class InOrder {
  /** Before all others. */
  #first: Effect | undefined = undefined;
  #slots: (Effect | undefined)[] = [];
  #from = 0;
  #to = 0;

  get isEmpty(): boolean {
    return this.#first === undefined && this.#from === this.#to;
  }

  push(effect: Effect): void {
    if (this.isEmpty) this.#first = effect;
    else this.#slots[this.#to++] = effect;
  }

  shift(): Effect | undefined {
    const first = this.#first;
    if (first === undefined) return this.#from === this.#to ? undefined : this.#shiftSlot();
    this.#first = undefined;
    return first;
  }

  #shiftSlot(): Effect | undefined {
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
export class Outbox {
  readonly #free = new InOrder();
  readonly #held = new InOrder();

  get isEmpty(): boolean {
    return this.#free.isEmpty;
  }

  get hasHeld(): boolean {
    return !this.#held.isEmpty;
  }

  /** @param late it tells of what may not be on disk yet: it waits until that is */
  push(effect: Effect, late: boolean): void {
    if (late) this.#held.push(effect);
    else this.#free.push(effect);
  }

  shift(): Effect | undefined {
    return this.#free.shift();
  }

  shiftHeld(): Effect | undefined {
    return this.#held.shift();
  }
}
