import { LRUCache } from 'lru-cache';
import type { Bytes, ItemState } from './model.js';

/** What is left of an item that finished. */
export interface FinishedItem {
  readonly state: Exclude<ItemState, 'waiting' | 'in_flight' | 'dead' | 'unknown'>;
  readonly result: Bytes | undefined;
  readonly error: string | undefined;
  readonly attempt: number;
  /** Of its content, to tell a resend from another item with the same id; unset if the id was made here. */
  readonly fingerprint: number | undefined;
}

/** What is known of an idempotency key that is done. */
export interface DoneKey {
  readonly result: Bytes | undefined;
}

interface Kept<T> {
  readonly value: T;
  readonly until: number;
  readonly bytes: number;
  readonly memory: Memory<T>;
  readonly id: string;
}

/**
 * All results that are remembered, over all queues, the oldest first: together they may use `limit` bytes. This is
 * beside the LRU of each queue, because a bound by count says nothing when a result may have 1 MiB.
 */
export class ResultLedger {
  readonly #kept = new Set<{ readonly bytes: number; forget(): void }>();
  #bytes = 0;

  constructor(private readonly limit: number) {}

  get bytes(): number {
    return this.#bytes;
  }

  add(entry: { readonly bytes: number; forget(): void }): void {
    this.#kept.add(entry);
    this.#bytes += entry.bytes;
    // Not even begun where there is room: the front of a Set from which much was deleted is far away.
    if (this.#bytes <= this.limit) return;
    for (const oldest of this.#kept) {
      if (this.#bytes <= this.limit) break;
      oldest.forget();
    }
  }

  remove(entry: { readonly bytes: number; forget(): void }): void {
    if (this.#kept.delete(entry)) this.#bytes -= entry.bytes;
  }
}

/** Something remembered by id for a time, the least recently used forgotten first. */
export class Memory<T> {
  readonly #lru: LRUCache<string, Kept<T> & { forget(): void }>;

  /**
   * @param max how many; bounded as a size, because lru-cache allocates for a `max` in advance and there may be
   * thousands of queues
   */
  constructor(
    max: number,
    private readonly ledger: ResultLedger,
  ) {
    this.#lru = new LRUCache({
      maxSize: Math.max(1, max),
      sizeCalculation: () => 1,
      dispose: (kept) => this.ledger.remove(kept),
    });
  }

  get size(): number {
    return this.#lru.size;
  }

  get(id: string, now: number): T | undefined {
    const kept = this.#lru.get(id);
    if (kept === undefined) return undefined;
    if (now < kept.until) return kept.value;
    this.#lru.delete(id);
    return undefined;
  }

  set(id: string, value: T, until: number, bytes: number): void {
    const lru = this.#lru;
    const kept = { value, until, bytes, memory: this, id, forget: () => void lru.delete(id) };
    lru.set(id, kept);
    if (bytes > 0) this.ledger.add(kept);
  }

  delete(id: string): void {
    this.#lru.delete(id);
  }

  /** Forgets what is over, the least recently used first, looking at `budget` entries at most. */
  purge(now: number, budget: number): void {
    let left = budget;
    for (const id of this.#lru.rkeys()) {
      if (left-- <= 0) return;
      const kept = this.#lru.peek(id);
      if (kept !== undefined && now < kept.until) return;
      this.#lru.delete(id);
    }
  }
}

/** 53 bits of a hash of the parts: two rounds of FNV-1a (G. Fowler, L. C. Noll, K.-P. Vo) with different offsets. */
export function fingerprint(texts: Iterable<string>, bytes: Bytes): number {
  let low = 0x811c9dc5;
  let high = 0x01234567;
  for (const text of texts) {
    for (let i = 0; i <= text.length; i++) {
      const unit = i < text.length ? text.charCodeAt(i) : 0x1_0000;
      low = Math.imul(low ^ unit, 0x01000193);
      high = Math.imul(high ^ unit, 0x01000193);
    }
  }
  for (let i = 0; i < bytes.length; i++) {
    const byte = bytes[i] ?? 0;
    low = Math.imul(low ^ byte, 0x01000193);
    high = Math.imul(high ^ byte, 0x01000193);
  }
  return (high & 0x1f_ffff) * 4_294_967_296 + (low >>> 0);
}
