import type { Entry } from './entry.js';
import { ProducerFullError } from './producer-error.js';

export interface Bounds {
  readonly maxItems: number;
  readonly maxBytes: number;
  readonly whenFull: 'wait' | 'error';
}

/** Entries of one kind with what they take together. */
class Pile {
  entries: Entry[] = [];
  bytes = 0;

  constructor(readonly bounds: Bounds) {}

  /** One that is larger than the bound is taken alone: it would never fit otherwise. */
  fits(size: number, items = 0, bytes = 0): boolean {
    const count = this.entries.length + items;
    return count === 0 || (count < this.bounds.maxItems && this.bytes + bytes + size <= this.bounds.maxBytes);
  }

  push(entry: Entry): void {
    this.entries.push(entry);
    this.bytes += entry.size;
  }

  take(count: number): readonly Entry[] {
    const taken = this.entries.splice(0, count);
    for (const { size } of taken) this.bytes -= size;
    return taken;
  }
}

/**
 * What was added and is not settled, in order, bounded in items and bytes: what is on its way, what is admitted, and (with
 * `whenFull: 'wait'`) what waits for room, which is bounded by the same again.
 */
export class Backlog {
  readonly #admitted: Pile;
  readonly #waiting: Pile;
  readonly #bounds: Bounds;
  #onItsWay = 0;
  #bytesOnTheirWay = 0;

  constructor(bounds: Bounds) {
    this.#bounds = bounds;
    this.#admitted = new Pile(bounds);
    this.#waiting = new Pile(bounds);
  }

  /** Admitted and not taken. */
  get length(): number {
    return this.#admitted.entries.length;
  }

  get bytes(): number {
    return this.#admitted.bytes;
  }

  /** Everything. */
  get size(): number {
    return this.#onItsWay + this.#admitted.entries.length + this.#waiting.entries.length;
  }

  get first(): Entry | undefined {
    return this.#admitted.entries[0] ?? this.#waiting.entries[0];
  }

  /** Whether an item that comes now is admitted at once, if it is not large. */
  get hasRoom(): boolean {
    return this.#waiting.entries.length === 0 && this.#hasRoomFor(1);
  }

  /** @throws ProducerFullError */
  add(entry: Entry): void {
    if (this.#waiting.entries.length === 0 && this.#hasRoomFor(entry.size)) return this.#admitted.push(entry);
    const { maxItems, maxBytes, whenFull } = this.#bounds;
    if (whenFull === 'error' || !this.#waiting.fits(entry.size)) {
      const held = `${this.size} items wait to be handed over`;
      throw new ProducerFullError(`${held}; allowed are ${maxItems} of together ${maxBytes} bytes`);
    }
    this.#waiting.push(entry);
  }

  /** The first entries, up to `count` and `bytes`, at least one if there is one. They count until they are {@link settled}. */
  take(count: number, bytes: number): readonly Entry[] {
    let size = 0;
    const { entries } = this.#admitted;
    const end = entries.findIndex((entry, at) => {
      size += entry.size;
      return at === count || (at > 0 && size > bytes);
    });
    const taken = this.#admitted.take(end < 0 ? entries.length : end);
    this.#onItsWay += taken.length;
    for (const entry of taken) this.#bytesOnTheirWay += entry.size;
    return taken;
  }

  /** This many entries that were taken are done with. */
  settled(entries: readonly Entry[]): void {
    this.#onItsWay -= entries.length;
    for (const { size } of entries) this.#bytesOnTheirWay -= size;
    this.#admit();
  }

  /** Takes out what is not on its way and whose deadline has come. Deadlines come in the order of arrival. */
  expire(now: number): readonly Entry[] {
    const expired = [this.#admitted, this.#waiting].flatMap((pile) => {
      const alive = pile.entries.findIndex(({ deadline }) => deadline > now);
      return pile.take(alive < 0 ? pile.entries.length : alive);
    });
    this.#admit();
    return expired;
  }

  #admit(): void {
    for (let next = this.#waiting.entries[0]; next !== undefined; next = this.#waiting.entries[0]) {
      if (!this.#hasRoomFor(next.size)) return;
      for (const entry of this.#waiting.take(1)) this.#admitted.push(entry);
    }
  }

  #hasRoomFor(size: number): boolean {
    return this.#admitted.fits(size, this.#onItsWay, this.#bytesOnTheirWay);
  }
}
