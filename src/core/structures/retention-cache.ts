import type { Bytes, ItemState } from '../contract/model.js';
import { BloomFilter, bloomHash } from './bloom-filter.js';
import { ChunkedArray } from './chunked-array.js';
import { isOver } from './due.js';
import { NO_NUMBER, OWN_ID, OwnIds } from './own-id.js';

/** What is left of an item that finished. */
export interface FinishedItem {
  readonly state: Exclude<ItemState, 'waiting' | 'in_flight' | 'dead' | 'unknown'>;
  readonly result: Bytes | undefined;
  readonly error: string | undefined;
  readonly attempt: number;
  /** Of its content, to tell a resend from another item with the same id; unset if the id was made here. */
  readonly contentHash: number | undefined;
  /** Where it stands on disk. Unset: nowhere. */
  readonly seq?: number;
  /** at_most_once: the order of submission of the item, whose turn may live on when this is forgotten. */
  readonly of?: number;
}

/** What is known of an idempotency key that is done. */
export interface DoneKey {
  readonly result: Bytes | undefined;
  /** The order of submission of the item that did it. Unset: a caller did, or it was before the start. */
  readonly by?: number;
}

/**
 * All results that are remembered, over all queues, the oldest first: together they may use `bound` bytes. This is
 * beside the LRU of each queue, because a bound by count says nothing when a result may have 1 MiB.
 */
export class ResultLedger {
  readonly #kept = new Set<{ readonly bytes: number; forget(): void }>();
  #bytes = 0;
  /** Entries of all caches by texts and by numbers, as often as they stand in a Map, and the lengths of the texts. */
  named = 0;
  numbered = 0;
  nameBytes = 0;

  /** @param bound bytes; where it is made smaller, what is too much stays until the next is added, or {@link trim} */
  constructor(public bound: number) {}

  get bytes(): number {
    return this.#bytes;
  }

  /** So many entries more stand in Maps, by texts of so many bytes. */
  charge(entries: number, bytes: number): void {
    this.named += entries;
    this.nameBytes += bytes;
  }

  /** How many have a result. */
  get size(): number {
    return this.#kept.size;
  }

  /** Forgets the oldest. @returns whether there was one */
  forgetOldest(): boolean {
    for (const oldest of this.#kept) {
      oldest.forget();
      return true;
    }
    return false;
  }

  add(entry: { readonly bytes: number; forget(): void }): void {
    this.#kept.add(entry);
    this.#bytes += entry.bytes;
    // Not even begun where there is room: the front of a Set from which much was deleted is far away.
    if (this.#bytes > this.bound) this.trim(Number.POSITIVE_INFINITY);
  }

  /** Forgets the oldest that are too much, so many at most. */
  trim(budget: number): void {
    let left = budget;
    for (const oldest of this.#kept) {
      if (this.#bytes <= this.bound || left <= 0) break;
      oldest.forget();
      left -= 1;
    }
  }

  remove(entry: { readonly bytes: number; forget(): void }): void {
    if (this.#kept.delete(entry)) this.#bytes -= entry.bytes;
  }
}

/** A memory of what is named by clients alone. */
const NO_IDS = new OwnIds(`${OWN_ID}-`);

/** One that is remembered, in the list of them from the least to the most recently used. */
class Kept<T> {
  older: Kept<T> | undefined = undefined;
  newer: Kept<T> | undefined = undefined;
  /** What of it is charged to the ledger; unset: nothing. */
  charge: { readonly bytes: number; forget(): void } | undefined = undefined;
  constructor(
    /** That a client chose; else the number of one that was made here: the text is made when somebody asks. */
    readonly name: string | number,
    /** Unset: forgotten, though it may still be found. */
    public value: T | undefined,
    readonly until: number,
    /** Which of the Maps it stands in. */
    public generation: number,
  ) {}
}

/**
 * Something remembered by id for a time, the least recently used forgotten first.
 *
 * Exactly `max` are remembered, but what is forgotten is not taken out of a Map: it is marked, and its whole Map is let
 * go when as many newer ones have filled the next. A busy queue remembers an item for each that it finishes, and a
 * delete from a large Map would cost as much as everything else there is to finishing it.
 */
export class RetentionCache<T> {
  /** Those whose id was made here: nothing needs to be let go of in bulk. */
  readonly #own = new ChunkedArray<Kept<T>>();
  #young = new Map<string, Kept<T>>();
  #old = new Map<string, Kept<T>>();
  /** Of the ids in each of the two. */
  /** Lengths of the texts in each of the two. */
  #youngBytes = 0;
  #oldBytes = 0;
  #youngBloomFilter = new BloomFilter(0);
  #oldBloomFilter = new BloomFilter(0);
  /** Of the young ones. Those of the list that are not of it come before all that are. */
  #generation = 0;
  #oldest: Kept<T> | undefined;
  #newest: Kept<T> | undefined;
  #size = 0;
  readonly #max: number;
  /** Called with whatever is not remembered any more, or is about to be remembered otherwise. */
  onForget: ((id: string, value: T) => void) | undefined = undefined;

  constructor(
    max: number,
    private readonly ledger: ResultLedger,
    private readonly ownIds: OwnIds = NO_IDS,
  ) {
    this.#max = Math.max(1, max);
  }

  get size(): number {
    return this.#size;
  }

  /** Unset: nothing is known of it, or no more. It counts as a use. */
  recall(id: string, now: number): T | undefined {
    const kept = this.#find(id);
    if (kept === undefined) return undefined;
    if (isOver(kept.until, now)) {
      this.#forget(kept);
      return undefined;
    }
    this.#use(kept);
    return kept.value;
  }

  /** As it stands, without counting as a use. Perhaps over its time. */
  peek(id: string): { readonly value: T; readonly until: number } | undefined {
    const kept = this.#find(id);
    return kept?.value === undefined ? undefined : { value: kept.value, until: kept.until };
  }

  /** All that is remembered, the least recently used first. Perhaps over its time. */
  *entries(): Generator<{ readonly id: string; readonly value: T }, undefined> {
    for (let kept = this.#oldest; kept !== undefined; kept = kept.newer)
      if (kept.value !== undefined) yield { id: this.#idOf(kept), value: kept.value };
  }

  set(id: string, value: T, until: number, bytes: number): void {
    this.delete(id);
    this.add({ id, number: this.ownIds.numberOf(id) }, value, until, bytes);
  }

  /** As `set`, for an id of which it is known that nothing is remembered: looking would be half of the cost. */
  add(item: { readonly id: string; readonly number: number }, value: T, until: number, bytes: number): void {
    const { number } = item;
    const name = number === NO_NUMBER ? item.id : number;
    const kept = new Kept(name, value, until, this.#generation);
    this.#append(kept);
    if (typeof name === 'string') this.#putYoung(kept, name);
    else {
      this.#own.set(name, kept);
      this.ledger.numbered += 1;
    }
    this.#size += 1;
    if (this.#size > this.#max && this.#oldest !== undefined) this.#forget(this.#oldest);
    if (this.#young.size >= this.#max) this.#turnOver();
    if (bytes === 0) return;
    kept.charge = { bytes, forget: () => this.#forget(kept) };
    this.ledger.add(kept.charge);
  }

  delete(id: string): void {
    const kept = this.#find(id);
    if (kept !== undefined) this.#forget(kept);
  }

  /** Forgets what is over, the least recently used first, looking at `budget` entries at most. */
  purge(now: number, budget: number): void {
    for (let left = budget; left > 0; left--) {
      const oldest = this.#oldest;
      if (oldest === undefined || !isOver(oldest.until, now)) return;
      this.#forget(oldest);
    }
  }

  /**
   * Forgets the older half, and lets go of its texts at once: new Maps are made for the younger one. @returns whether there was
   * anything
   */
  forgetOlder(): boolean {
    if (this.#size === 0) return false;
    for (let left = Math.ceil(this.#size / 2); left > 0 && this.#oldest !== undefined; left--)
      this.#forget(this.#oldest);
    if (this.#size === 0) return true;
    this.#clear();
    this.#generation += 1;
    for (let kept = this.#oldest; kept !== undefined; kept = kept.newer) this.#rejuvenate(kept);
    return true;
  }

  #find(id: string): Kept<T> | undefined {
    const number = this.ownIds.numberOf(id);
    const kept = number === NO_NUMBER ? this.#findByText(id) : this.#own.get(number);
    return kept?.value === undefined ? undefined : kept;
  }

  #findByText(id: string): Kept<T> | undefined {
    if (this.#young.size + this.#old.size === 0) return undefined;
    const hash = bloomHash(id);
    const young = this.#youngBloomFilter.mayHave(hash) ? this.#young.get(id) : undefined;
    return young ?? (this.#oldBloomFilter.mayHave(hash) ? this.#old.get(id) : undefined);
  }

  #idOf({ name }: Kept<T>): string {
    return typeof name === 'string' ? name : this.ownIds.idOf(name);
  }

  #putYoung(kept: Kept<T>, id: string): void {
    const before = this.#young.size;
    this.#young.set(id, kept);
    if (this.#young.size > before) {
      this.#youngBytes += id.length;
      this.ledger.charge(1, id.length);
    }
    this.#youngBloomFilter.add(bloomHash(id));
    if (!this.#youngBloomFilter.isFull) return;
    this.#youngBloomFilter = new BloomFilter(this.#young.size * 2);
    for (const young of this.#young.keys()) this.#youngBloomFilter.add(bloomHash(young));
  }

  #use(kept: Kept<T>): void {
    if (kept.newer === undefined) return;
    this.#takeOut(kept);
    this.#append(kept);
    this.#rejuvenate(kept);
  }

  #rejuvenate(kept: Kept<T>): void {
    const { name } = kept;
    if (typeof name === 'number' || kept.generation === this.#generation) return;
    kept.generation = this.#generation;
    this.#putYoung(kept, name);
  }

  /** The old Map goes; those in it that are still remembered are few: as many as of the young ones were forgotten early. */
  #turnOver(): void {
    for (let kept = this.#oldest; kept !== undefined && kept.generation !== this.#generation; kept = kept.newer)
      this.#rejuvenate(kept);
    this.#letGo(this.#old, this.#oldBytes);
    this.#old = this.#young;
    this.#oldBytes = this.#youngBytes;
    this.#youngBytes = 0;
    this.#oldBloomFilter = this.#youngBloomFilter;
    this.#young = new Map();
    // As many will come as came before.
    this.#youngBloomFilter = new BloomFilter(this.#old.size);
    this.#generation += 1;
  }

  #forget(kept: Kept<T>): void {
    const { name, value } = kept;
    if (value === undefined) return;
    kept.value = undefined;
    this.#takeOut(kept);
    if (typeof name === 'number') {
      this.#own.delete(name);
      this.ledger.numbered -= 1;
    }
    this.#size -= 1;
    if (kept.charge !== undefined) this.ledger.remove(kept.charge);
    // Nothing is left to be found: both may go at once.
    if (this.#size === 0) this.#clear();
    this.onForget?.(this.#idOf(kept), value);
  }

  #clear(): void {
    this.#letGo(this.#young, this.#youngBytes);
    this.#letGo(this.#old, this.#oldBytes);
    this.#youngBytes = 0;
    this.#oldBytes = 0;
    this.#young = new Map();
    this.#old = new Map();
    this.#youngBloomFilter = new BloomFilter(0);
    this.#oldBloomFilter = new BloomFilter(0);
  }

  #letGo({ size }: ReadonlyMap<string, unknown>, bytes: number): void {
    this.ledger.charge(-size, -bytes);
  }

  #append(kept: Kept<T>): void {
    kept.older = this.#newest;
    kept.newer = undefined;
    if (this.#newest === undefined) this.#oldest = kept;
    else this.#newest.newer = kept;
    this.#newest = kept;
  }

  #takeOut(kept: Kept<T>): void {
    const { older, newer } = kept;
    if (older === undefined) this.#oldest = newer;
    else older.newer = newer;
    if (newer === undefined) this.#newest = older;
    else newer.older = older;
    kept.older = undefined;
    kept.newer = undefined;
  }
}
