import type { JournalStats } from '../../coordinator.js';
import type { Batch } from '../../core/core.js';
import { Histogram, SECONDS } from '../../core/structures/histogram.js';
import type { Clock } from '../clock.js';
import { type Journal, JournalError } from '../journal/journal.js';

/** A write that failed is tried again after this long, ms; each time twice as long. */
const FIRST_BACK_OFF = 100;
const LONGEST_BACK_OFF = 5_000;

/** Rows of a batch. */
const SIZES = Object.freeze(Array.from({ length: 21 }, (_, i) => 2 ** i));

interface WriterListener {
  /** It is on the disk. Whatever failed before is over. */
  flushed(batch: Batch): void;
  /** It may or may not be on the disk, and is going to be written again. */
  failed(error: unknown): void;
}

/**
 * Writes batches, one at a time. One that failed is written again until it succeeds, before any newer one: rows of a
 * newer one may build upon its rows, and what is on the disk of it is not known.
 */
export class JournalWriter {
  #batch: Batch | undefined;
  #isWriting = false;
  #callOffRetry: (() => void) | undefined;
  #backOff = FIRST_BACK_OFF;
  #stopped = false;
  #failures = 0;
  /** ms since the Unix epoch. */
  #lastWrite: number | undefined;
  readonly #commit = new Histogram(SECONDS);
  readonly #sizes = new Histogram(SIZES);

  constructor(
    private readonly journal: Journal,
    private readonly clock: Clock,
    private readonly listener: WriterListener,
  ) {}

  /** A batch is being written, or waits until that is tried again. */
  get isBusy(): boolean {
    return this.#batch !== undefined;
  }

  /** The disk has not answered yet. */
  get isWriting(): boolean {
    return this.#isWriting;
  }

  /** Changes in the batch that is being written. */
  get writing(): number {
    return this.#batch?.changes.length ?? 0;
  }

  /** Precondition: it is not busy. */
  write(batch: Batch): void {
    this.#batch = batch;
    this.#sizes.add(batch.changes.length);
    this.#begin(batch);
  }

  /** Does not wait for the end of a back-off. */
  retryNow(): void {
    if (this.#callOffRetry === undefined || this.#batch === undefined) return;
    this.#callOffRetry();
    this.#callOffRetry = undefined;
    this.#begin(this.#batch);
  }

  /** Nothing is tried again, and how the write under way ends is not reported. */
  stop(): void {
    this.#stopped = true;
    this.#callOffRetry?.();
  }

  stats(): Omit<JournalStats, 'unwritten'> {
    const failures = this.#failures;
    return { commit: this.#commit, batchRows: this.#sizes, failures, lastWrite: this.#lastWrite };
  }

  #begin(batch: Batch): void {
    const begun = this.clock.now();
    this.#isWriting = true;
    this.journal.write(batch.changes, batch.instant).then(
      () => this.#flushed(batch, begun),
      (error: unknown) => this.#failed(batch, error),
    );
  }

  #flushed(batch: Batch, begun: number): void {
    this.#isWriting = false;
    if (this.#stopped) return;
    this.#commit.add((this.clock.now() - begun) / 1_000);
    this.#lastWrite = this.clock.wall();
    this.#backOff = FIRST_BACK_OFF;
    this.#batch = undefined;
    this.listener.flushed(batch);
  }

  #failed(batch: Batch, error: unknown): void {
    this.#isWriting = false;
    if (this.#stopped) return;
    this.#failures += 1;
    const isBroken = error instanceof JournalError && error.problem === 'io';
    const longest = (isBroken ? this.journal.longestPause : undefined) ?? LONGEST_BACK_OFF;
    this.#callOffRetry = this.clock.after(Math.min(this.#backOff, longest), () => {
      this.#callOffRetry = undefined;
      this.#begin(batch);
    });
    this.#backOff = Math.min(this.#backOff * 2, longest);
    this.listener.failed(error);
  }
}
