/** Rows of a single sidecar as rows of partitions: where each belongs, and which are left behind. */
import type { PartitionMap } from '../../cluster/partitions/partition-map.js';
import type { CoordinatorSettings } from '../../coordinator.js';
import type { Content, EndRow, FinishedRow, ItemRef, ItemRow, ProgressRow, Row } from '../../core/contract/rows.js';
import { HandedOut } from '../data-handed-out.js';
import { EXIT } from '../exit-codes.js';
import { CommandFailure } from '../failure.js';

/** What came over, each thing once. */
export interface Imported {
  items: number;
  deadLetters: number;
  results: number;
  idempotencyKeys: number;
  parkedKeys: number;
  pausedQueues: number;
  /** That were ended. */
  liveTurns: number;
}

interface Source {
  rows(): AsyncIterable<readonly Row[]>;
  content(seq: number): Content;
}

/** A row, and the partitions that have it. */
type Placed = readonly [Row, readonly number[]];

export class ImportedRows {
  readonly counts: Imported = {
    items: 0,
    deadLetters: 0,
    results: 0,
    idempotencyKeys: 0,
    parkedKeys: 0,
    pausedQueues: 0,
    liveTurns: 0,
  };
  readonly #progress = new Map<number, ProgressRow>();
  readonly #handedOut = new HandedOut();

  constructor(
    private readonly source: Source,
    private readonly map: PartitionMap,
  ) {}

  /** Slices, in the order of the directory; to be read once. Numbers of items stay, so their order does. */
  async *read(): AsyncGenerator<readonly Placed[], void> {
    for await (const rows of this.source.rows()) yield rows.flatMap((row) => this.#placed(row));
    this.counts.results += this.#handedOut.results.length;
    yield this.#handedOut.results.map((row) => [row, this.map.all(row.queue)]);
  }

  #placed(row: Row): readonly Placed[] {
    const { counts, map } = this;
    switch (row.table) {
      case 'items':
        return this.#item(row);
      case 'progress':
        this.#progress.set(row.seq, row);
        return [];
      case 'tokens':
        if (row.state === 'live') counts.liveTurns += 1;
        this.#handedOut.addTurn(row);
        return [];
      case 'keys':
        counts.idempotencyKeys += 1;
        // Of an item without a key the part is that of its id, which is not told any more.
        return [[row, row.key === '' ? map.all(row.queue) : [map.of(row.queue, row.key)]]];
      case 'parks':
        counts.parkedKeys += 1;
        return [[row, [map.of(row.queue, row.key, row.itemId)]]];
      case 'pauses':
        counts.pausedQueues += 1;
        return [[row, map.all(row.queue)]];
      // Its leader comes back with its term, as after a restart.
      case 'leaders':
        return [[row, [map.ofLeaders(row.group)]]];
      // Tokens are raised with the guard; sessions have no turns any more; the rest are rows in a cluster only.
      case 'floor':
      case 'sessions':
      case 'limits':
      case 'outbox':
      case 'inbox':
        return [];
    }
  }

  #item(row: ItemRow | FinishedRow | EndRow): readonly Placed[] {
    const { counts, map } = this;
    // A result does not tell its key: of a spread queue each part knows it, so that a repeated id is known wherever it goes.
    if (row.state === 'ended') return [[row, map.all(row.queue)]];
    const progress = this.#progress.get(row.seq);
    this.#progress.delete(row.seq);
    if (this.#handedOut.takes(row, progress)) return [];
    if (row.state !== 'open') {
      counts.results += 1;
      return [[row, map.all(row.queue)]];
    }
    if (progress?.dead === undefined) counts.items += 1;
    else counts.deadLetters += 1;
    const where = [map.of(row.queue, row.key, row.id)];
    const whole: Placed = [{ ...row, content: this.source.content(row.seq) }, where];
    return progress === undefined ? [whole] : [whole, [progress, where]];
  }
}

/**
 * Before anything is written: the tokens that were given, and whether all can be where the cluster has it.
 * @returns all tokens given so far are smaller
 * @throws CommandFailure
 */
export async function checkRows(source: Source, map: PartitionMap, settings: CoordinatorSettings): Promise<number> {
  let floor = 0;
  const progress = new Map<number, ProgressRow>();
  for await (const rows of source.rows()) {
    for (const row of rows) {
      if (row.table === 'floor') floor = Math.max(floor, row.token);
      if (row.table === 'tokens') floor = Math.max(floor, row.token + 1);
      if ('queue' in row) checkQueue(row.queue, settings);
      if (row.table === 'progress') progress.set(row.seq, row);
      if (row.table === 'items' && row.state === 'open')
        checkAfter(row, progress.get(row.seq)?.after ?? row.after, map);
    }
  }
  return floor;
}

function checkQueue(queue: string, { queues, autoCreate }: CoordinatorSettings): void {
  if (autoCreate || queues.has(queue)) return;
  const todo = 'auto_create_queues is false: name it in the settings, too';
  throw new CommandFailure(
    `the directory has the queue ${queue}, which the settings do not name; ${todo}`,
    EXIT.failure,
  );
}

function checkAfter({ queue, id }: ItemRow, after: readonly ItemRef[], map: PartitionMap): void {
  for (const { queue: other, itemId } of after) {
    if (map.groupOf(queue) === map.groupOf(other) && !map.isSpread(queue) && !map.isSpread(other)) continue;
    const what = `item ${JSON.stringify(id)} of the queue ${queue} waits for ${JSON.stringify(itemId)} of the queue ${other}`;
    const todo = `give both one "group" (and no "spread") in the settings, or let a single sidecar finish it before`;
    throw new CommandFailure(`${what}, which a cluster does only within a group; ${todo}`, EXIT.failure);
  }
}
