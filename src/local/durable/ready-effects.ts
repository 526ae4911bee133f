import type { Held } from './held.js';

/** Effects of which everything is on the disk, in order. */
export class ReadyEffects {
  #effects: Held[] = [];
  /** Those before it were taken. */
  #at = 0;

  get isEmpty(): boolean {
    return this.#at >= this.#effects.length;
  }

  push(held: Held): void {
    this.#effects.push(held);
  }

  pushAll(held: readonly Held[]): void {
    this.#effects = this.#effects.concat(held);
  }

  /** The next one; taken out. */
  take(): Held | undefined {
    const next = this.#effects[this.#at];
    if (next === undefined) return undefined;
    this.#at += 1;
    if (this.#at === this.#effects.length) {
      this.#effects = [];
      this.#at = 0;
    }
    return next;
  }

  takeAll(): readonly Held[] {
    const all = this.#effects.slice(this.#at);
    this.#effects = [];
    this.#at = 0;
    return all;
  }
}
