/**
 * What a store's engine (Redis, …) has to be able to do for the journal of a partition: few steps, each of them atomic
 * there. What they mean together, the journal knows (`guarded-partition.ts`), once for all engines.
 */
import type { Buffer } from 'node:buffer';
import type { RowChange, Table } from '../../../core/contract/rows.js';
import type { RowKey } from '../../../local/journal/codec/row-codec.js';
import type { Guard } from '../cluster-store.js';

/** A batch as the engine sends it: in memory of its own, of which nobody changes anything. */
export interface Packed {
  readonly rows: number;
  readonly bytes: number;
}

/** Who writes, and which number the last batch must have for that. */
export interface Step {
  readonly partition: number;
  readonly owner: string;
  readonly before: number;
  /** The number of the last batch afterwards. */
  readonly after: number;
  readonly at: number;
}

/** A row as it is kept. */
export interface StoredRow {
  readonly table: Table;
  readonly key: RowKey;
  readonly value: Buffer;
}

/** New rows of a partition, beside those that count. */
export interface Stage<P extends Packed> {
  put(batch: P): Promise<void>;
  /**
   * Makes them count, if the guard is as it was seen. @returns undefined: it is done; else the guard that stands there
   * @param seen unset: there must be none
   * @param guard what it becomes
   */
  switchTo(seen: Guard | undefined, guard: Guard): Promise<Guard | undefined>;
}

/** Every promise rejects with a JournalError. `io`: it is not known whether it was done, and it may be done later still. */
export interface Engine<P extends Packed> {
  /** @throws TypeError, RangeError for what is no row */
  pack(changes: readonly RowChange[]): P;
  /** Several batches one after another as one. */
  join(batches: readonly P[]): P;
  isSame(a: P, b: P): boolean;
  /** All of the batch or nothing. @returns undefined: it is there; else nothing was done, and why: the guard */
  write(step: Step, batch: P): Promise<Guard | undefined>;
  /** The guard of a partition; its owner is empty also where there is none, its epoch is 0 only there. */
  look(partition: number): Promise<Guard>;
  /** Whether the record of the cluster still stands there: else the store was emptied, or is another one. Unset: it was never read. */
  hasRecord(): Promise<boolean | undefined>;
  /** Puts the guard back to `mine` with the number of `seen`, if it is still as it was seen. @returns whether it is */
  reassert(seen: Guard, mine: Guard): Promise<boolean>;
  /** Empties the owner, if it is this one. @returns whether it was */
  release(partition: number, owner: string): Promise<boolean>;
  /** All rows in the order of `TABLES`, those of numbered tables by number. Rejects with `io` if the owner is not this one. */
  read(partition: number, owner: string): AsyncIterable<readonly StoredRow[]>;
  stage(partition: number): Promise<Stage<P>>;
}
