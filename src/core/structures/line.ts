/** One that stands in a line: only the line writes `before`, `behind`, and whether a call broke off. */
interface LineEntry<E> {
  before: E | undefined;
  behind: E | undefined;
  /** A call that waits; else something that is kept. */
  readonly isCaller: boolean;
  readonly takesRoom: boolean;
  /** A call that ended without an answer: the place is kept, and turns nobody away. */
  readonly brokeOff: boolean;
}

const FARTHEST_PLACE = 10_000;

/** The FIFO of those who wait in a lane. A lane without one has an empty line. */
export class Line<E extends LineEntry<E>> {
  head: E | undefined = undefined;
  tail: E | undefined = undefined;
  length = 0;
  callers = 0;
  /** Entries that take room: they arrived by EnQueue or Submit and did not come back. `callers` and `taken` are at most `length`. */
  taken = 0;
  /** Entries whose call broke off, and those of them that take room. */
  brokenOff = 0;
  takenByBrokenOff = 0;

  append(entry: E): void {
    this.#put(entry, this.tail, undefined);
  }

  /** Precondition: the other stands in this line. */
  insert(entry: E, before: E): void {
    this.#put(entry, before.before, before);
  }

  remove(entry: E): void {
    if (entry.before === undefined) this.head = entry.behind;
    else entry.before.behind = entry.behind;
    if (entry.behind === undefined) this.tail = entry.before;
    else entry.behind.before = entry.before;
    entry.before = undefined;
    entry.behind = undefined;
    this.#count(entry, -1);
  }

  /** Counts a call that broke off, or that came back. Precondition: it stands in this line, and is the other already. */
  breakOff(entry: E & { brokeOff: boolean }, brokeOff: boolean): void {
    this.#count(entry, -1);
    entry.brokeOff = brokeOff;
    this.#count(entry, 1);
  }

  /** The newest entry whose call did not break off. */
  newestPresent(): E | undefined {
    let entry = this.brokenOff === this.length ? undefined : this.tail;
    while (entry?.brokeOff) entry = entry.before;
    return entry;
  }

  /** The newest entry that may be superseded. Those that may not stand at the head or are few, near the tail. */
  newestTakingRoom(): E | undefined {
    let entry = this.taken === 0 ? undefined : this.tail;
    while (entry !== undefined && !entry.takesRoom) entry = entry.before;
    return entry;
  }

  /**
   * How many stand before this entry, counted from both ends at once. Exact up to {@link FARTHEST_PLACE} from either
   * end; in the middle of a longer line that is the answer: to count on would let one caller stall all others.
   */
  placeOf(entry: E): number {
    let before = entry.before;
    let behind = entry.behind;
    for (let steps = 0; steps < FARTHEST_PLACE; steps++) {
      if (before === undefined) return steps;
      if (behind === undefined) return this.length - 1 - steps;
      before = before.before;
      behind = behind.behind;
    }
    return FARTHEST_PLACE;
  }

  #put(entry: E, before: E | undefined, behind: E | undefined): void {
    entry.before = before;
    entry.behind = behind;
    if (before === undefined) this.head = entry;
    else before.behind = entry;
    if (behind === undefined) this.tail = entry;
    else behind.before = entry;
    this.#count(entry, 1);
  }

  #count(entry: E, by: 1 | -1): void {
    this.length += by;
    if (entry.isCaller) this.callers += by;
    if (entry.takesRoom) this.taken += by;
    if (!entry.brokeOff) return;
    this.brokenOff += by;
    if (entry.takesRoom) this.takenByBrokenOff += by;
  }
}
