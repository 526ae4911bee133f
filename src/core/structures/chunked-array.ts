/** Numbers that share a piece. */
const PIECE = 1_024;

interface Piece<T> {
  readonly slots: (T | undefined)[];
  live: number;
}

/**
 * Things by a number that grows: what a Map would do, without hashing, and without a table that is rebuilt. Numbers that
 * follow one another share a piece, which goes when the last of them is gone.
 */
export class ChunkedArray<T> {
  readonly #pieces = new Map<number, Piece<T>>();
  #size = 0;
  /** The one that was written last. */
  #recent: Piece<T> | undefined;
  #recentAt = -1;

  get size(): number {
    return this.#size;
  }

  get(number: number): T | undefined {
    return this.#piece(number)?.slots[number % PIECE];
  }

  set(number: number, value: T): void {
    const piece = this.#piece(number) ?? this.#open(number);
    const at = number % PIECE;
    if (piece.slots[at] === undefined) {
      piece.live += 1;
      this.#size += 1;
    }
    piece.slots[at] = value;
  }

  delete(number: number): void {
    const piece = this.#piece(number);
    const at = number % PIECE;
    if (piece?.slots[at] === undefined) return;
    piece.slots[at] = undefined;
    piece.live -= 1;
    this.#size -= 1;
    if (piece.live === 0) this.#close(number);
  }

  /** By number. What is added or removed during a walk with pauses may be passed over, nothing else is. */
  *values(): Generator<T, undefined> {
    const places = [...this.#pieces.keys()].sort((a, b) => a - b);
    for (const place of places) {
      // Those of a later piece under the same number are newer than the walk.
      const slots = this.#pieces.get(place)?.slots ?? [];
      for (let at = 0; at < slots.length; at++) {
        const value = slots[at];
        if (value !== undefined) yield value;
      }
    }
  }

  #piece(number: number): Piece<T> | undefined {
    const place = Math.floor(number / PIECE);
    return place === this.#recentAt ? this.#recent : this.#pieces.get(place);
  }

  #open(number: number): Piece<T> {
    const place = Math.floor(number / PIECE);
    const piece: Piece<T> = { slots: [], live: 0 };
    this.#pieces.set(place, piece);
    this.#recent = piece;
    this.#recentAt = place;
    return piece;
  }

  #close(number: number): void {
    const place = Math.floor(number / PIECE);
    this.#pieces.delete(place);
    if (place !== this.#recentAt) return;
    this.#recent = undefined;
    this.#recentAt = -1;
  }
}
