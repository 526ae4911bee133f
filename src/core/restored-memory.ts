/** What is remembered only: done idempotency keys, items that finished. */
import { name } from './idempotency.js';
import { NO_NUMBER } from './own-id.js';
import type { Queue } from './queue.js';
import type { DoneKey, FinishedItem, Memory } from './remembered.js';
import type { Restored } from './restored.js';
import type { DoneKeyRow, FinishedRow, RowId } from './rows.js';
import type { CoreState } from './state.js';

interface Remembered {
  /** The least is forgotten first. */
  readonly until: number;
  remember(): void;
}

/**
 * Gathered first, and remembered in the order in which they are to be forgotten: in which they were used is not known,
 * but all of one queue were remembered for the same time.
 */
export class RestoredMemory {
  #gathered: Remembered[] = [];
  /** All of them, also those that are not remembered any more. */
  #ended: FinishedRow[] = [];

  constructor(private readonly restored: Restored) {}

  addKey(row: DoneKeyRow, now: number): void {
    const { table, queue: queueName, key, idempotencyKey, result } = row;
    const queue = this.restored.queue(queueName, now);
    const id = { table, queue: queueName, key, idempotencyKey } as const;
    const value: DoneKey = { result };
    if (queue === undefined) this.#drop(id);
    else this.#gather(queue.doneKeys, name(key, idempotencyKey), value, row, id, now);
  }

  addFinished(row: FinishedRow, now: number): void {
    const { table, seq, state, result, error, attempt, fingerprint } = row;
    this.#ended.push(row);
    const queue = this.restored.queue(row.queue, now);
    const id = { table, seq } as const;
    const value: FinishedItem = { state, result, error, attempt, fingerprint, seq };
    if (queue === undefined) this.#drop(id);
    else this.#gather(queue.finished, row.id, value, row, id, now);
  }

  /** One that counts as finished while its turn lives; its row says nothing of it yet. */
  addHandedOut(queue: Queue, id: string, value: FinishedItem, until: number, now: number): void {
    if (until > now) this.#add(queue.finished, id, value, until);
  }

  /**
   * Whoever waits for one of them is told, though it is over or may be remembered no more by what the configuration says
   * now. Precondition: all items are read. To be called before {@link finish}.
   */
  endAwaited({ dependencies }: CoreState): void {
    const ended = this.#ended;
    this.#ended = [];
    for (const { queue, id, state } of ended) dependencies.end(queue, id, state);
  }

  finish(): void {
    const gathered = this.#gathered.sort((a, b) => a.until - b.until);
    this.#gathered = [];
    for (const one of gathered) one.remember();
  }

  #gather<T extends DoneKey>(
    memory: Memory<T>,
    id: string,
    value: T,
    row: DoneKeyRow | FinishedRow,
    rowId: RowId,
    now: number,
  ): void {
    const until = this.restored.moment(row.until);
    if (until <= now) this.#drop(rowId);
    else this.#add(memory, id, value, until);
  }

  #add<T extends DoneKey>(memory: Memory<T>, id: string, value: T, until: number): void {
    const bytes = value.result?.length ?? 0;
    this.#gathered.push({ until, remember: () => memory.add({ id, number: NO_NUMBER }, value, until, bytes) });
  }

  #drop(id: RowId): void {
    this.restored.state.changes?.stray(id);
  }
}
