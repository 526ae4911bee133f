import type { Content, Row, RowChange } from '../../core/contract/rows.js';

/**
 * Where the rows of durable queues are kept. One writer. What `write` resolved for is on the disk and outlives the
 * process and the machine; of a write that did not resolve nothing is known but that it is there whole or not at all.
 */
export interface Journal {
  /** What the directory tells about the runs before this one. */
  readonly before: JournalPast;
  /** What items carry stays in memory: `read` gives it with the rows, and `content` is never called. */
  readonly keepsContents?: true;
  /**
   * A write that failed with `io` is tried again no later than after so many ms: behind a network what failed is mostly the
   * connection, which is back at once. Unset: as a disk.
   */
  readonly longestPause?: number;
  /**
   * All rows, in slices, in the order of `TABLES`; contents of items stay on disk. To be read once, before the first
   * write.
   */
  read(): AsyncIterable<readonly Row[]>;
  /**
   * Writes all of these changes or none, in this order, and resolves when they are flushed. One at a time. Rejects with
   * a {@link JournalError}; the same changes may then be written again.
   *
   * @param at the instant of the batch, kept as {@link JournalPast.lastWrite}
   */
  write(changes: readonly RowChange[], at: number): Promise<void>;
  /** What an item carries. Synchronous: it is memory-mapped. Throws a {@link JournalError}. Precondition: its row was flushed. */
  content(seq: number): Content;
  /** Resolves when the directory is free for others. */
  close(): Promise<void>;
}

export interface JournalPast {
  /** Instant of the last batch; unset: the directory is new. */
  readonly lastWrite: number | undefined;
  /** How many rows there are to be read, about; for progress. */
  readonly rows: number;
}

/** Of any journal, and of a cluster's store. */
export type JournalProblem = LocalProblem | StoreProblem;

export type LocalProblem =
  /** No room on the device. */
  | 'full'
  /** Reading or writing failed for another reason. */
  | 'io'
  /** Something was read that was never written. */
  | 'damaged'
  | 'newer_format'
  | 'in_use'
  | 'not_writable'
  /** The path is none of a directory that is there or could be made. */
  | 'no_directory'
  /** There is a directory, without data in it. */
  | 'no_data'
  /** In a cluster: somebody else writes these rows now. Nothing was written, and nothing ever will be. */
  | 'fenced';

export type StoreProblem =
  /** Another home holds the guard. Nothing was written, and nothing will be. */
  | 'fenced'
  /** It fell back further than the home can repair it with its last batches. */
  | 'fell_back'
  /** The guard is gone, and with it perhaps everything else. */
  | 'no_guard'
  /** It cannot be used as it is configured. */
  | 'unfit';

/** `message` names the file and says what to do. */
export class JournalError extends Error {
  override readonly name = 'JournalError';
  constructor(
    readonly problem: JournalProblem,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}
