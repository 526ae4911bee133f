import { ChunkedArray } from './chunked-array.js';
import { EarlierIds } from './earlier-ids.js';
import { NO_NUMBER, type OwnIds } from './own-id.js';

/** Those that came last, beyond which the oldest of them move on. */
const YOUNG = 16_384;
/** How many may come before the iterator over them is let go of. */
const STILL = 1_024;

/** What is indexed. */
interface Identified {
  readonly id: string;
  /** Of its id, if that was made here; else {@link NO_NUMBER}. */
  readonly number: number;
  /** Order of submission. */
  readonly seq: number;
  readonly isWaiting: boolean;
}

/**
 * Entries by id. Those whose id was made here by its number; those of clients in two Maps. Of these the ones that come and
 * go spend their whole life in the young one; those that stay are moved to the old one, one for each that comes. In a single Map a
 * backlog of a million would make every one that passes walk cold hash chains, and now and then wait for the rehash of
 * all of them.
 */
export class IdIndex<E extends Identified> {
  readonly #own = new ChunkedArray<E>();
  /** Those that were here at the start, with ids that were made here, too. */
  readonly #earlier = new EarlierIds<E>();
  readonly #young = new Map<string, E>();
  readonly #old = new Map<string, E>();
  /** They stand behind others that were submitted later. */
  readonly #again = new Set<E>();
  /**
   * Goes on where it stopped: from the front it would pass all that are gone. Let go of when none had to move on for a
   * while: a Map keeps every table it ever had for an iterator that stands still.
   */
  #aging: Iterator<E> | undefined = undefined;
  /** Items that came since one had to move on. */
  #still = 0;

  constructor(private readonly ownIds: OwnIds) {}

  get size(): number {
    return this.#own.size + this.#earlier.size + this.#young.size + this.#old.size;
  }

  get(id: string): E | undefined {
    const number = this.ownIds.numberOf(id);
    if (number !== NO_NUMBER) return this.#own.get(number);
    return this.#young.get(id) ?? this.#earlier.get(id) ?? (this.#old.size > 0 ? this.#old.get(id) : undefined);
  }

  has(id: string): boolean {
    return this.get(id) !== undefined;
  }

  /** Whether it is this one that its id stands for. */
  holds(entry: E): boolean {
    return (entry.number === NO_NUMBER ? this.get(entry.id) : this.#own.get(entry.number)) === entry;
  }

  set(entry: E): void {
    if (entry.number !== NO_NUMBER) return this.#own.set(entry.number, entry);
    this.#young.set(entry.id, entry);
    if (this.#young.size > YOUNG) this.#age();
    else if (this.#aging !== undefined && ++this.#still > STILL) this.#aging = undefined;
  }

  /** One that has been here for long, before any that came in this run: it need not grow old first. */
  setOld(entry: E): void {
    if (!this.#earlier.add(entry)) this.#old.set(entry.id, entry);
  }

  delete(entry: E): void {
    const { id, number } = entry;
    if (number !== NO_NUMBER) this.#own.delete(number);
    else if (!this.#young.delete(id) && !this.#earlier.delete(id)) this.#old.delete(id);
    if (this.#again.size > 0) this.#again.delete(entry);
  }

  /** It was out of here, and comes back among those that came later. */
  setAgain(entry: E): void {
    this.set(entry);
    this.#again.add(entry);
  }

  /** The one that was submitted first of those that wait. */
  firstWaiting(): E | undefined {
    const inOrder = this.#firstInOrder();
    let first = inOrder;
    for (const entry of this.#again)
      if (entry.isWaiting && (first === undefined || entry.seq < first.seq)) first = entry;
    return first;
  }

  #firstInOrder(): E | undefined {
    const own = waiting(this.#own.values());
    const others = waiting(this.#old.values()) ?? waiting(this.#young.values());
    return earlierOf(waiting(this.#earlier.values()), earlierOf(own, others));
  }

  /**
   * In the order in which they came, but those that grew old last. For a walk with pauses: every one that stays
   * throughout, some of them perhaps twice, and none that has left by then.
   */
  *scan(): Generator<E, undefined> {
    // The young before the old: those that grow old during the walk are met again, not missed.
    const others = both(this.#young, this.#old);
    let other = others.next();
    for (const own of this.#numbered()) {
      // Both were looked at ahead of a pause, perhaps: they may have left meanwhile.
      for (; other.done !== true && other.value.seq < own.seq; other = others.next())
        if (this.holds(other.value)) yield other.value;
      if (this.holds(own)) yield own;
    }
    for (; other.done !== true; other = others.next()) if (this.holds(other.value)) yield other.value;
  }

  /** All of the earlier runs came before all of this one. */
  *#numbered(): Generator<E, undefined> {
    yield* this.#earlier.values();
    yield* this.#own.values();
  }

  #age(): void {
    this.#still = 0;
    this.#aging ??= this.#young.values();
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

function* both<E>(first: ReadonlyMap<string, E>, second: ReadonlyMap<string, E>): Generator<E, undefined> {
  yield* first.values();
  yield* second.values();
}

function earlierOf<E extends Identified>(one: E | undefined, other: E | undefined): E | undefined {
  if (one === undefined || other === undefined) return one ?? other;
  return other.seq < one.seq ? other : one;
}

function waiting<E extends Identified>(entries: Iterable<E>): E | undefined {
  for (const entry of entries) if (entry.isWaiting) return entry;
  return undefined;
}
