/** Reading all rows of a data file. */
import { Buffer } from 'node:buffer';
import type { Transaction } from 'lmdb';
import type { Row } from '../../../core/contract/rows.js';
import { ByteReader, NotAValue, type Shown } from '../codec/byte-reader.js';
import { NUMBERED, type RowKey, readRow } from '../codec/row-codec.js';
import { accessError, journalError } from '../failures.js';
import type { JournalError } from '../journal.js';
import { DATA_FILE, DISK_TABLES, type DiskTable, type Tables } from './tables.js';

/** Rows of a slice: a few milliseconds of reading. */
const SLICE = 2_048;

/** A row that is none. */
export interface BadRow {
  readonly table: DiskTable;
  readonly key: RowKey;
  readonly why: string;
}

/** All rows in the order of the tables, in slices; other work of the process has its turn between them. */
export async function* slices(
  tables: Tables,
  directory: string,
  bad: (row: BadRow) => void,
  snapshot?: Transaction,
): AsyncGenerator<readonly Row[], void> {
  const reader = new ByteReader();
  for (const table of DISK_TABLES) {
    for (let after: RowKey | undefined; ; ) {
      const found = slice(tables, directory, { table, after, snapshot }, reader, bad);
      if (found.rows.length > 0) yield found.rows;
      if (found.last === undefined) break;
      after = found.last;
      await new Promise((resolve) => setImmediate(resolve));
    }
  }
}

/** What a reader of the start does with a row that is none: nothing may be left out. */
export function refuse(directory: string): (row: BadRow) => never {
  return (row) => {
    throw badRowError(directory, row);
  };
}

export function badRowError(directory: string, { table, key, why }: BadRow): JournalError {
  return journalError(
    'damaged',
    `${directory}/${DATA_FILE} is damaged: in the table ${table}, row ${show(key)}: ${why}`,
  );
}

export function show(key: RowKey): string {
  return typeof key === 'number' ? String(key) : JSON.stringify(key.toString('utf8'));
}

/** Where a slice begins. */
interface Place {
  readonly table: DiskTable;
  readonly after: RowKey | undefined;
  /** Set: all slices show one and the same moment, whatever is written meanwhile. */
  readonly snapshot: Transaction | undefined;
}

interface Slice {
  readonly rows: readonly Row[];
  /** Undefined: the table ends here. */
  readonly last: RowKey | undefined;
}

function slice(
  tables: Tables,
  directory: string,
  { table, after, snapshot }: Place,
  reader: ByteReader,
  bad: (row: BadRow) => void,
): Slice {
  const rows: Row[] = [];
  let count = 0;
  let last: RowKey | undefined;
  const from = after === undefined ? { start: leastKey(table) } : { start: after, exclusiveStart: true };
  const options = { ...from, ...(snapshot === undefined ? {} : { transaction: snapshot }), limit: SLICE };
  try {
    for (const { key, value } of tables.of[table]?.getRange(options) ?? []) {
      count += 1;
      last = key;
      try {
        reader.show(shown(value));
        rows.push(readRow(reader, table, key));
      } catch (error) {
        if (!(error instanceof NotAValue)) throw error;
        bad({ table, key, why: error.message });
      }
    }
  } catch (error) {
    throw accessError(`reading the table ${table} of`, `${directory}/${DATA_FILE}`, error);
  }
  return { rows, last: count < SLICE ? undefined : last };
}

function leastKey(table: DiskTable): RowKey {
  return NUMBERED.has(table) ? 0 : Buffer.alloc(1);
}

/** What is read is shown; only what is written are bytes. */
export function shown(value: Shown | Buffer): Shown {
  return 'size' in value ? value : { bytes: value, size: value.length };
}
