/** What is remembered only: done idempotency keys, items that finished. Nothing here holds a key or takes a place. */

import type { DoneKeyRow, FinishedRow, RowId } from '../contract/rows.js';
import { name } from '../items/idempotency.js';
import { keptItem } from '../items/item-status.js';
import { nameOf } from '../state/item-names.js';
import type { Queue } from '../state/records.js';
import type { CoreState } from '../state/state.js';
import { isOver } from '../structures/due.js';
import { NO_NUMBER } from '../structures/own-id.js';
import type { DoneKey, FinishedItem, RetentionCache } from '../structures/retention-cache.js';
import type { Restored } from './restored.js';

interface Remembered {
  /** The least is forgotten first. */
  readonly until: number;
  remember(): void;
}

/** An item that counts as finished while its turn lives. */
interface HandedOut {
  readonly queue: Queue;
  readonly id: string;
  readonly value: FinishedItem & { readonly seq: number };
  readonly until: number;
}

/** An item that finished has an error, too. */
type Charged = DoneKey & { readonly error?: string | undefined };

/**
 * Gathered first, and remembered in the order in which they are to be forgotten: in which they were used is not known,
 * but all of one queue were remembered for the same time.
 */
export class RestoredMemory {
  #gathered: Remembered[] = [];
  /** All of them, also those that are not remembered any more. */
  #ended: FinishedRow[] = [];
  #handedOut: HandedOut[] = [];

  constructor(private readonly restored: Restored) {}

  /** How many are to be remembered, and are not yet. */
  get size(): number {
    return this.#gathered.length;
  }

  /** A key whose queue is not durable now, or whose `idempotency_ttl` is over, is dropped from the disk, too (S55). */
  addKey(row: DoneKeyRow, now: number): void {
    const { table, queue: queueName, key, idempotencyKey, result } = row;
    const queue = this.restored.queue(queueName, now);
    const id = { table, queue: queueName, key, idempotencyKey } as const;
    const value: DoneKey = { result };
    if (queue === undefined) this.#drop(id);
    else this.#gather(queue.doneKeys, name(key, idempotencyKey), value, row, id, now);
  }

  /** The same for a finished item. That it ended is noted in any case: an item that waits for it has to learn of it. */
  addFinished(row: FinishedRow, now: number): void {
    const { table, seq, state, result, error, attempt, contentHash } = row;
    this.#ended.push(row);
    const queue = this.restored.queue(row.queue, now);
    const id = { table, seq } as const;
    const value: FinishedItem = { state, result, error, attempt, contentHash, seq };
    if (queue === undefined) this.#drop(id);
    else this.#gather(queue.finished, row.id, value, row, id, now);
  }

  /** One that counts as finished while its turn lives; its row says nothing of it yet. */
  addHandedOut(handedOut: HandedOut, now: number): void {
    if (!isOver(handedOut.until, now)) this.#handedOut.push(handedOut);
  }

  /**
   * Items that wait for one of them are notified, though it is over or may be remembered no more by what the
   * configuration says now. Precondition: all items are read. To be called before {@link finish}.
   */
  endAwaited({ dependencies }: CoreState): void {
    const ended = this.#ended;
    this.#ended = [];
    this.#addNewestHandedOut(ended);
    for (const { queue, id, state } of ended) dependencies.end(queue, id, state);
  }

  /**
   * Remembers all, the shortest left first. With more than `max_remembered` these are the first to be forgotten again.
   */
  finish(): void {
    const gathered = this.#gathered.sort((a, b) => a.until - b.until);
    this.#gathered = [];
    for (const one of gathered) one.remember();
  }

  /**
   * That it is done may have been forgotten while its turn lived on, and its id be another item's by now: only the
   * newest of an id counts.
   */
  #addNewestHandedOut(ended: readonly FinishedRow[]): void {
    const handedOut = this.#handedOut.sort((a, b) => b.value.seq - a.value.seq);
    this.#handedOut = [];
    if (handedOut.length === 0) return;
    const left = new Map<string, HandedOut>();
    for (const one of handedOut) {
      const { queue, id } = one;
      const item = nameOf({ queue: queue.name, itemId: id });
      if (!left.has(item) && keptItem(queue, id) === undefined) left.set(item, one);
    }
    for (const { queue, id } of ended) left.delete(nameOf({ queue, itemId: id }));
    for (const { queue, id, value, until } of left.values()) this.#add(queue.finished, id, value, until);
  }

  /** Precondition: the row is of a queue that is durable. What is over by the clock becomes a stray. */
  #gather<T extends Charged>(
    memory: RetentionCache<T>,
    id: string,
    value: T,
    row: DoneKeyRow | FinishedRow,
    rowId: RowId,
    now: number,
  ): void {
    const until = this.restored.moment(row.until);
    if (isOver(until, now)) this.#drop(rowId);
    else this.#add(memory, id, value, until);
  }

  #add<T extends Charged>(memory: RetentionCache<T>, id: string, value: T, until: number): void {
    const bytes = (value.result?.length ?? 0) + (value.error?.length ?? 0);
    this.#gathered.push({ until, remember: () => memory.add({ id, number: NO_NUMBER }, value, until, bytes) });
  }

  #drop(id: RowId): void {
    this.restored.state.changes?.stray(id);
  }
}
