interface Appointment {
  readonly at: number;
  /** Of two at the same moment the one that was made first comes first. */
  readonly order: number;
  readonly act: () => void;
}

/** A clock that jumps from one appointment to the next: a binary heap of them. */
export class VirtualTime {
  now = 0;
  readonly #heap: Appointment[] = [];
  #made = 0;

  /** @param at not before now */
  schedule(at: number, act: () => void): void {
    this.#made += 1;
    this.#up({ at, order: this.#made, act });
  }

  /** The next appointment happens. @returns whether there was one */
  step(): boolean {
    const next = this.#heap[0];
    const last = this.#heap.pop();
    if (next === undefined || last === undefined) return false;
    if (this.#heap.length > 0) this.#down(last);
    this.now = next.at;
    next.act();
    return true;
  }

  #up(added: Appointment): void {
    const heap = this.#heap;
    let at = heap.push(added) - 1;
    while (at > 0) {
      const above = (at - 1) >> 1;
      const other = heap[above];
      if (other === undefined || !isBefore(added, other)) break;
      heap[at] = other;
      at = above;
    }
    heap[at] = added;
  }

  /** Puts one down from the top, which is free. */
  #down(moved: Appointment): void {
    const heap = this.#heap;
    let at = 0;
    for (;;) {
      const [left, right] = [heap[2 * at + 1], heap[2 * at + 2]];
      if (left === undefined) break;
      const isRight = right !== undefined && isBefore(right, left);
      const smaller = isRight ? right : left;
      if (!isBefore(smaller, moved)) break;
      heap[at] = smaller;
      at = 2 * at + (isRight ? 2 : 1);
    }
    heap[at] = moved;
  }
}

function isBefore(one: Appointment, other: Appointment): boolean {
  return one.at < other.at || (one.at === other.at && one.order < other.order);
}
