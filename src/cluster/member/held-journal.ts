import type { Content, Row, RowChange } from '../../core/contract/rows.js';
import type { Clock } from '../../local/clock.js';
import { type Journal, JournalError, type JournalPast } from '../../local/journal/journal.js';
import type { PartitionStore } from '../store/cluster-store.js';

/** A request has a deadline, and connections a back-off of their own: a partition need not wait for longer than that, ms. */
const LONGEST_PAUSE = 500;

interface Waiting {
  go: () => void;
  isCovered: boolean;
}

/**
 * The journal of a partition as its coordinator has it. While the home is closed no write passes: it would meet the claim of the
 * same member, and be taken for that of a stranger. After the home was given up none passes for ever.
 */
export class HeldJournal implements Journal {
  readonly before: JournalPast;
  readonly keepsContents = true;
  readonly longestPause = LONGEST_PAUSE;
  #state: 'open' | 'held' | 'stopped' = 'open';
  #waiting: Waiting[] = [];
  /** Called when the store lost more than can be sent again. */
  onFellBack: (() => void) | undefined;
  #underWay: Promise<void> = Promise.resolve();

  constructor(
    private readonly store: PartitionStore,
    private readonly host: { readonly clock: Pick<Clock, 'now'>; wrote(ms: number, rows: number): void },
  ) {
    this.before = store.before;
  }

  read(): AsyncIterable<readonly Row[]> {
    return this.store.read();
  }

  async write(changes: readonly RowChange[], at: number): Promise<void> {
    while (this.#state === 'held') {
      const waiting: Waiting = { go: () => undefined, isCovered: false };
      await new Promise<void>((resolve) => {
        waiting.go = resolve;
        this.#waiting.push(waiting);
      });
      if (waiting.isCovered && !this.#isStopped) return;
    }
    if (this.#state === 'stopped')
      throw new JournalError('fenced', 'this sidecar is not the home of the partition any more');
    const { clock } = this.host;
    const begun = clock.now();
    const writing = this.store.write(changes, at);
    this.#underWay = writing.catch(() => undefined);
    try {
      await writing;
    } catch (error) {
      if (error instanceof JournalError && error.problem === 'fell_back') this.onFellBack?.();
      throw error;
    }
    this.host.wrote(clock.now() - begun, changes.length);
  }

  /** What waits to be written now is part of something that is about to be written. @returns to be called when that is there */
  cover(): () => void {
    const covered = [...this.#waiting];
    return () => {
      for (const waiting of covered) waiting.isCovered = true;
    };
  }

  content(seq: number): Content {
    return this.store.content(seq);
  }

  get #isStopped(): boolean {
    return this.#state === 'stopped';
  }

  get isHeld(): boolean {
    return this.#state === 'held';
  }

  hold(): void {
    if (this.#state === 'open') this.#state = 'held';
  }

  letGo(): void {
    if (this.#state === 'held') this.#state = 'open';
    this.#wake();
  }

  stop(): void {
    this.#state = 'stopped';
    this.#wake();
  }

  /** Resolves when the write under way has ended, however it did. */
  get idle(): Promise<void> {
    return this.#underWay;
  }

  close(): Promise<void> {
    return this.store.close();
  }

  #wake(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const { go } of waiting) go();
  }
}
