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

export interface StoredChange {
  readonly table: Table;
  readonly key: RowKey;
  /** Unset: it is deleted. In the memory of the writer, until that is used again. */
  readonly value: Buffer | undefined;
}

/** A row as it is kept. */
export interface StoredRow {
  readonly table: Table;
  readonly key: RowKey;
  readonly value: Buffer;
}

/** A batch that was kept for who reads ahead. */
export interface FollowedBatch {
  /** Number of the batch before it. */
  readonly before: number;
  readonly seq: number;
  readonly changes: readonly StoredChange[];
}

/** What was kept for who reads ahead. */
export interface Followed {
  /** Number of the last batch by the guard: of no later moment than `batches`. */
  readonly seq: number;
  /** Of the epoch that was followed, and of none after it; in no order. */
  readonly batches: readonly FollowedBatch[];
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
  /** What a home before left half done is done, and what it only began is forgotten. Rejects with `io` if the owner is not this one. */
  tidy(partition: number, owner: string): Promise<void>;
  /** {@link tidy}, and all rows in the order of `TABLES`, those of numbered tables by number. Rejects with `io` if the owner is not this one. */
  read(partition: number, owner: string): AsyncIterable<readonly StoredRow[]>;
  stage(partition: number): Promise<Stage<P>>;
  /**
   * From now on each batch of the owner of now is kept beside in the same step as it is written: until another one writes, until some
   * seconds have passed, until they are too many bytes, or until somebody else follows. What cannot be kept is told by a number
   * that is missing.
   * @returns under what it is kept, and the number of the last batch before; undefined: nobody has the partition, or something is
   *   left half done
   */
  follow(partition: number): Promise<{ readonly id: string; readonly seq: number } | undefined>;
  /** All rows that count, whoever is the home, each as it is when it is read. Otherwise as `read`. */
  readAhead(partition: number): AsyncIterable<readonly StoredRow[]>;
  /** What was kept under this id; undefined: nothing is any more, or it is another server than it was. */
  followed(partition: number, id: string): Promise<Followed | undefined>;
}
