import type { Item } from './line.js';

/** Items that came last, beyond which the oldest of them move on. */
const YOUNG = 16_384;

/**
 * Items by id, in two Maps. Those that come and go live and die in the young one; those that stay are moved to the old
 * one, one for each that comes. In a single Map a backlog of a million would make every item that passes walk cold hash
 * chains, and now and then wait for the rehash of all of them.
 */
export class ItemIndex {
  readonly #young = new Map<string, Item>();
  readonly #old = new Map<string, Item>();
  /** Goes on where it stopped: from the front it would pass all that are gone. */
  #aging = this.#young.values();

  get size(): number {
    return this.#young.size + this.#old.size;
  }

  get(id: string): Item | undefined {
    return this.#young.get(id) ?? (this.#old.size > 0 ? this.#old.get(id) : undefined);
  }

  has(id: string): boolean {
    return this.get(id) !== undefined;
  }

  set(id: string, item: Item): void {
    this.#young.set(id, item);
    if (this.#young.size > YOUNG) this.#age();
  }

  delete(id: string): void {
    if (!this.#young.delete(id)) this.#old.delete(id);
  }

  /** In the order in which they came. Not for a walk with pauses: what moves meanwhile would be passed over. */
  *values(): Generator<Item, undefined> {
    yield* this.#old.values();
    yield* this.#young.values();
  }

  /** For a walk with pauses: every one that stays throughout, some of them perhaps twice. */
  *scan(): Generator<Item, undefined> {
    yield* this.#young.values();
    yield* this.#old.values();
  }

  #age(): void {
    let next = this.#aging.next();
    if (next.done === true) {
      this.#aging = this.#young.values();
      next = this.#aging.next();
    }
    if (next.done === true) return;
    this.#young.delete(next.value.id);
    this.#old.set(next.value.id, next.value);
  }
}
