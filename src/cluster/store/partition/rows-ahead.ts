/**
 * The rows of a partition, read by who is going to claim it while its home still serves. It is a cache: it is used only if the
 * store proves, after the claim, that it is all there is.
 *
 * The proof. Since `follow` the store keeps each batch of the one epoch that was followed, in the step that writes it. Rows are read
 * in any moments after that; then the batches are put over them, in their order, as far as their numbers join. A row that is newer
 * than the batch which is put over it becomes as it should be with a later one, so at a number that is not smaller than the guard's
 * after the last row was read, the rows are those of that number. After the claim nobody else writes: if the numbers join up to that
 * of the claimed guard, nothing is missing. Whatever is not a batch of that epoch in one piece (another home, rows that were written
 * anew, a batch of several pieces) is no part of the chain, and breaks it. A store that fell back may have lost what was read of it,
 * so nothing is used that was read from another server.
 */
import { type Row, TABLES, type Table } from '../../../core/contract/rows.js';
import { ByteReader } from '../../../local/journal/codec/byte-reader.js';
import { NUMBERED, type RowKey } from '../../../local/journal/codec/row-codec.js';
import type { Guard, PartitionAhead } from '../cluster-store.js';
import { decode } from './encode.js';
import type { Engine, Followed, Packed, StoredChange, StoredRow } from './engine.js';

/** More are read when it is claimed: they would be in memory for nothing, should it not be. */
const MOST_ROWS = 500_000;
const MOST_BYTES = 64 * 1_048_576;
/** Rows of a slice: a few milliseconds of what is made of them. */
const SLICE = 2_048;

type Rows = Map<RowKey | string, Row>;
type Source = Pick<Engine<Packed>, 'follow' | 'readAhead' | 'followed'>;

export class RowsAhead implements PartitionAhead {
  readonly #tables = new Map<Table, Rows>(TABLES.map((table) => [table, new Map()]));
  readonly #reader = new ByteReader();
  /** All batches up to this one are in the rows. */
  #seq: number;
  #rows = 0;
  #bytes = 0;

  /**
   * @param where of the partition, for an error text
   * @param isWanted asked between slices: what nobody wants any more takes the place of a reading that somebody waits for
   * @returns undefined: it cannot be read ahead, or is not wanted any more. @throws JournalError
   */
  static async read(
    engine: Source,
    partition: number,
    where: string,
    isWanted: () => boolean,
  ): Promise<RowsAhead | undefined> {
    const followed = await engine.follow(partition);
    if (followed === undefined || !isWanted()) return undefined;
    const ahead = new RowsAhead(engine, partition, followed.id, where, followed.seq);
    for await (const slice of engine.readAhead(partition)) if (!isWanted() || !ahead.#take(slice)) return undefined;
    return (await ahead.catchUp()) ? ahead : undefined;
  }

  private constructor(
    private readonly engine: Source,
    private readonly partition: number,
    private readonly id: string,
    private readonly where: string,
    seq: number,
  ) {
    this.#seq = seq;
  }

  async catchUp(): Promise<boolean> {
    const followed = await this.engine.followed(this.partition, this.id);
    return followed !== undefined && this.#follow(followed);
  }

  /**
   * Whether it has all rows of a guard that was claimed. Reads what was written last. @throws JournalError: nothing is known, and it
   * is of no use any more
   */
  async isAllOf({ partition, seq }: Guard): Promise<boolean> {
    return partition === this.partition && (await this.catchUp()) && this.#seq === seq;
  }

  /** In the order in which they are to be read. */
  *slices(): Generator<readonly Row[]> {
    for (const table of TABLES) {
      const rows = this.#tables.get(table) ?? new Map<RowKey, Row>();
      const ordered = NUMBERED.has(table) ? inOrder(rows) : [...rows.values()];
      for (let from = 0; from < ordered.length; from += SLICE) yield ordered.slice(from, from + SLICE);
    }
  }

  /** @returns whether the rows are those of one number now: no smaller one than any that was read has */
  #follow({ seq, batches }: Followed): boolean {
    const next = new Map(batches.map((batch) => [batch.before, batch]));
    for (let batch = next.get(this.#seq); batch !== undefined; batch = next.get(this.#seq)) {
      // A number that does not grow would go round for ever.
      if (batch.seq <= this.#seq) return false;
      for (const change of batch.changes) this.#change(change);
      this.#seq = batch.seq;
    }
    return this.#seq >= seq && this.#isSmall;
  }

  #take(slice: readonly StoredRow[]): boolean {
    for (const { value } of slice) this.#bytes += value.length;
    for (const [at, row] of decode(this.#reader, slice, this.where).entries()) {
      const key = slice[at]?.key;
      if (key !== undefined) this.#put(row, key);
    }
    return this.#isSmall;
  }

  get #isSmall(): boolean {
    return this.#rows <= MOST_ROWS && this.#bytes <= MOST_BYTES;
  }

  #change({ table, key, value }: StoredChange): void {
    if (value === undefined) {
      if (this.#tables.get(table)?.delete(nameOf(key)) === true) this.#rows -= 1;
      return;
    }
    this.#bytes += value.length;
    for (const row of decode(this.#reader, [{ table, key, value }], this.where)) this.#put(row, key);
  }

  #put(row: Row, key: RowKey): void {
    const rows = this.#tables.get(row.table);
    if (rows === undefined) return;
    const before = rows.size;
    rows.set(nameOf(key), row);
    this.#rows += rows.size - before;
  }
}

function nameOf(key: RowKey): number | string {
  return typeof key === 'number' ? key : key.toString('latin1');
}

/** Mostly they are: what is written meanwhile has the largest numbers. */
function inOrder(rows: Rows): readonly Row[] {
  const keys = [...rows.keys()];
  if (keys.every((key, at) => at === 0 || Number(keys[at - 1]) < Number(key))) return [...rows.values()];
  return [...rows].sort(([a], [b]) => Number(a) - Number(b)).map(([, row]) => row);
}
