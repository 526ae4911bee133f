/** Whether rows are whole, and agree with each other. */
import type { Row, TurnRow } from '../../../core/contract/rows.js';
import { LARGEST_CONTENT_INSIDE } from '../codec/item-codec.js';
import { JournalError } from '../journal.js';
import type { DataReader } from './data-reader.js';
import { show } from './slices.js';

interface Checked {
  readonly rows: number;
  readonly contents: number;
}

/** @param bad gets each row that is wrong, and why */
export async function checkRows(reader: DataReader, bad: (problem: string) => void): Promise<Checked> {
  const check = new RowCheck(reader, bad);
  const badRow = ({ table, key, why }: { table: string; key: number | Buffer; why: string }) =>
    bad(`${table}, row ${show(key)}: ${why}`);
  for await (const rows of reader.rows(badRow)) for (const row of rows) check.take(row);
  check.end();
  return check;
}

class RowCheck implements Checked {
  rows = 0;
  contents = 0;
  #floor: number | undefined;
  readonly #sessions = new Set<string>();
  /** Live turns by their lane. */
  readonly #live = new Map<string, number>();
  /** Rows of progress whose item has not come yet: items are read last. */
  readonly #progress = new Set<number>();
  readonly #open = new Set<number>();

  constructor(
    private readonly reader: DataReader,
    private readonly bad: (problem: string) => void,
  ) {}

  take(row: Row): void {
    this.rows += 1;
    switch (row.table) {
      case 'floor':
        this.#floor = row.token;
        break;
      case 'sessions':
        this.#sessions.add(row.id);
        break;
      case 'tokens':
        this.#takeToken(row);
        break;
      case 'progress':
        this.#progress.add(row.seq);
        break;
      case 'items':
        this.#takeItem(row);
        break;
      case 'pauses':
      case 'keys':
      case 'parks':
      case 'limits':
      case 'outbox':
      case 'inbox':
        break;
      case 'leaders':
        this.#takeLeader(row);
        break;
    }
  }

  /** What no item has come for. */
  end(): void {
    for (const seq of this.#progress) this.bad(`progress, row ${seq}: there is no open item with that number`);
    for (const seq of this.reader.largeContents()) {
      if (!this.#open.delete(seq)) this.bad(`contents, row ${seq}: there is no open item with that number`);
    }
  }

  #takeLeader({ group, term }: Extract<Row, { table: 'leaders' }>): void {
    if (term !== undefined && (this.#floor === undefined || term.token >= this.#floor)) {
      this.bad(
        `leaders, row ${JSON.stringify(group)}: the floor is ${this.#floor ?? 'missing'}, so term ${term.token} may be given again`,
      );
    }
  }

  #takeToken(row: Extract<Row, { table: 'tokens' }>): void {
    const { token } = row;
    if (this.#floor === undefined || token >= this.#floor) {
      this.bad(`tokens, row ${token}: the floor is ${this.#floor ?? 'missing'}, so the token may be given again`);
    }
    if (row.state === 'live') this.#takeLive(row);
  }

  #takeLive({ token, queue, key, lane, session }: TurnRow): void {
    const name = JSON.stringify([queue, key, lane ?? null]);
    const other = this.#live.get(name);
    if (other !== undefined) this.bad(`tokens, row ${token}: ${name} has another live turn, ${other}`);
    this.#live.set(name, token);
    if (session !== undefined && !this.#sessions.has(session)) {
      this.bad(`tokens, row ${token}: its session ${JSON.stringify(session)} is missing`);
    }
  }

  #takeItem(row: Extract<Row, { table: 'items' }>): void {
    if (row.state !== 'open') return;
    this.#progress.delete(row.seq);
    if (row.contentBytes > LARGEST_CONTENT_INSIDE) this.#open.add(row.seq);
    try {
      this.reader.content(row.seq);
      this.contents += 1;
    } catch (error) {
      if (!(error instanceof JournalError)) throw error;
      this.bad(`items, row ${row.seq}: its payload cannot be read: ${error.message}`);
    }
  }
}
