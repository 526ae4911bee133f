import { BUILT_IN_POLICY } from '../core/contract/policy.js';
import type { FinishedRow, ItemRow, ProgressRow, Row } from '../core/contract/rows.js';

type TokenRow = Extract<Row, { readonly table: 'tokens' }>;

/**
 * Items of at_most_once whose turn lives. On the disk they are as if they were open, because they may come back; but they
 * were handed out, and whoever imports them must not do them again. Their id may be another item's by now: that one counts.
 */
export class HandedOut {
  /** When, by the order of submission of the item. */
  readonly #since = new Map<number, number>();
  readonly #results = new Map<string, FinishedRow>();

  addTurn(row: TokenRow): void {
    // What is kept for a ticket was handed to nobody.
    if (row.state !== 'live' || row.handed === 'kept' || row.assignment.kind !== 'items' || !row.assignment.done)
      return;
    for (const seq of row.assignment.seqs) this.#since.set(seq, row.startedAt === 0 ? row.since : row.startedAt);
  }

  /** In the order of submission. @returns whether it is one of them */
  takes(row: ItemRow | FinishedRow, progress: ProgressRow | undefined): boolean {
    const name = `${row.queue} ${row.id}`;
    const since = this.#since.get(row.seq);
    if (row.state !== 'open' || since === undefined) {
      this.#results.delete(name);
      return false;
    }
    // Which `result_ttl` its queue has is not on the disk.
    const until = since + BUILT_IN_POLICY.resultTtl;
    const { table, seq, queue, id, contentHash } = row;
    const attempt = (progress?.attempts ?? 0) + 1;
    const done = {
      table,
      seq,
      queue,
      id,
      state: 'done',
      result: undefined,
      error: progress?.lastError,
      attempt,
    } as const;
    this.#results.set(name, { ...done, contentHash, until });
    return true;
  }

  /** At the end: of each id the newest. */
  get results(): readonly FinishedRow[] {
    return [...this.#results.values()];
  }
}
