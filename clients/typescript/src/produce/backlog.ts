import type { Entry } from './entry.js';
import { ProducerFullError } from './producer-error.js';

interface Bounds {
  readonly maxItems: number;
  readonly maxBytes: number;
  readonly whenFull: 'wait' | 'error';
}

/** Entries of one kind with what they take together. To take the first costs the same however many there are. */
class Pile {
  /** From {@link #at} on; what stood before was taken. */
  #entries: (Entry | undefined)[] = [];
  #at = 0;
  bytes = 0;

  constructor(readonly bounds: Bounds) {}

  get length(): number {
    return this.#entries.length - this.#at;
  }

  get first(): Entry | undefined {
    return this.#entries[this.#at];
  }

  /** One that is larger than the bound is taken alone: it would never fit otherwise. */
  fits(size: number, items = 0, bytes = 0): boolean {
    const count = this.length + items;
    return count === 0 || (count < this.bounds.maxItems && this.bytes + bytes + size <= this.bounds.maxBytes);
  }

  push(entry: Entry): void {
    this.#entries.push(entry);
    this.bytes += entry.size;
  }

  /** Takes entries from the first on, as long as each is `wanted`. */
  takeWhile(wanted: (entry: Entry) => boolean): readonly Entry[] {
    const taken: Entry[] = [];
    for (let entry = this.first; entry !== undefined && wanted(entry); entry = this.first) {
      taken.push(entry);
      this.bytes -= entry.size;
      this.#entries[this.#at] = undefined;
      this.#at += 1;
    }
    this.#forget();
    return taken;
  }

  /** What was taken is let go of in large pieces: to move the rest for each batch would take longer than to send it. */
  #forget(): void {
    if (2 * this.#at < this.#entries.length) return;
    this.#entries = this.#entries.slice(this.#at);
    this.#at = 0;
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
    return this.#admitted.length;
  }

  get bytes(): number {
    return this.#admitted.bytes;
  }

  /** Everything. */
  get size(): number {
    return this.#onItsWay + this.#admitted.length + this.#waiting.length;
  }

  get first(): Entry | undefined {
    return this.#admitted.first ?? this.#waiting.first;
  }

  /** Whether an item that comes now is admitted at once, if it is not large. */
  get hasRoom(): boolean {
    return this.#waiting.length === 0 && this.#hasRoomFor(1);
  }

  /** @throws ProducerFullError */
  add(entry: Entry): void {
    if (this.#waiting.length === 0 && this.#hasRoomFor(entry.size)) return this.#admitted.push(entry);
    const { maxItems, maxBytes, whenFull } = this.#bounds;
    if (whenFull === 'error' || !this.#waiting.fits(entry.size)) {
      const held = `${this.size} items wait to be handed over`;
      throw new ProducerFullError(`${held}; allowed are ${maxItems} of together ${maxBytes} bytes`);
    }
    this.#waiting.push(entry);
  }

  /** The first entries, up to `count` and `bytes`, at least one if there is one. They count until they are {@link settled}. */
  take(count: number, bytes: number): readonly Entry[] {
    let [size, items] = [0, 0];
    const taken = this.#admitted.takeWhile((entry) => {
      size += entry.size;
      items += 1;
      return items <= count && (items === 1 || size <= bytes);
    });
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
    const isOver = ({ deadline }: Entry): boolean => deadline <= now;
    const expired = [...this.#admitted.takeWhile(isOver), ...this.#waiting.takeWhile(isOver)];
    this.#admit();
    return expired;
  }

  #admit(): void {
    this.#waiting.takeWhile((entry) => {
      if (!this.#hasRoomFor(entry.size)) return false;
      this.#admitted.push(entry);
      return true;
    });
  }

  #hasRoomFor(size: number): boolean {
    return this.#admitted.fits(size, this.#onItsWay, this.#bytesOnTheirWay);
  }
}
