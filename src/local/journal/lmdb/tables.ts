/** The tables of a data file. Each is a database of the library, so that it has its own count of rows and pages. */
import { Buffer } from 'node:buffer';
import { rm, stat, writeFile } from 'node:fs/promises';
import { type Database, open, type RootDatabase } from 'lmdb';
import { TABLES, type Table } from '../../../core/contract/rows.js';
import type { Shown } from '../codec/byte-reader.js';
import { NUMBERED, type RowKey } from '../codec/row-codec.js';
import { accessError, journalError } from '../failures.js';

/**
 * What a sidecar alone keeps. Limits that a person set, and what goes from one partition to another, are kept in clusters only: a
 * directory has no table of them, so that this version and the one before it read and write the same.
 */
export type DiskTable = Exclude<Table, OfClusters>;
type OfClusters = 'limits' | 'outbox' | 'inbox';
export const DISK_TABLES: readonly DiskTable[] = TABLES.filter(isOfDisks);

/** `contents` are those that are too large to stand in the row of their item. */
export type StoredTable = DiskTable | 'contents';
export const STORED_TABLES: readonly StoredTable[] = [...DISK_TABLES, 'contents'];

export function diskTable(table: Table): DiskTable {
  if (!isOfDisks(table)) throw new TypeError(`${table} are kept in a cluster only`);
  return table;
}

function isOfDisks(table: Table): table is DiskTable {
  return table !== 'limits' && table !== 'outbox' && table !== 'inbox';
}

export const DATA_FILE = 'data.mdb';
export const LIBRARY_LOCK_FILE = 'lock.mdb';

/** The layout that this version writes. */
export const FORMAT = 1;

/** Read as what it shows, written as bytes. */
export type StoredDatabase = Database<Shown | Buffer, RowKey>;

export interface Tables {
  /** It knows the tables, is written with each batch therefore, and says itself what is known of the file as a whole. */
  readonly root: RootDatabase<unknown, string>;
  readonly of: Readonly<Record<Exclude<StoredTable, 'leaders'>, StoredDatabase>> & {
    /** Unset: a version that knew no leaders wrote the file, and it is only read. */
    readonly leaders?: StoredDatabase | undefined;
  };
}

/** Keys of the root. */
export const ABOUT = { format: 'format', lastWrite: 'last_write' } as const;

/**
 * Opens the tables of a data file that is there.
 *
 * Without `overlappingSync` a commit is flushed before its promise settles: data first, then the page that says that
 * they are there. With it (the library's own setting) the promise means visible, a flush that fails rejects nothing,
 * and the next commit goes on from pages that may not be on the disk.
 * Without `eventTurnBatching` all writes of a batch have one promise; with it there is a second one that nobody
 * handles, and a write that fails would end the process.
 * With `txnStartThreshold` 1 a write starts the transaction that the one before it had asked for, instead of the end of the
 * turn of the event loop. `batchStartThreshold` keeps a batch from being begun before it is whole.
 * `noMemInit` stays off: it would save zeroing pages, and write whatever was in memory before to the disk.
 * The map grows with the file; it is address space, not memory.
 *
 * @throws JournalError
 */
export async function openTables(directory: string, mode: 'create' | 'write' | 'read'): Promise<Tables> {
  const file = `${directory}/${DATA_FILE}`;
  let root: RootDatabase<unknown, string> | undefined;
  try {
    if (mode !== 'read') await makeLockFile(`${directory}/${LIBRARY_LOCK_FILE}`);
    root = open<unknown, string>({
      path: directory,
      // A directory, also when its name has a dot in it.
      noSubdir: false,
      encoder: JSON_VALUES,
      maxDbs: STORED_TABLES.length,
      overlappingSync: false,
      eventTurnBatching: false,
      readOnly: mode === 'read',
      ...NOT_TYPED,
    });
    const tables = openAll(root);
    if (mode !== 'create') checkFormat(file, tables);
    return tables;
  } catch (error) {
    await root?.close();
    throw accessError('opening', file, error);
  }
}

/** What the library needs for as many readers as it allows, and a little more, bytes. */
const LOCK_FILE_BYTES = 12_288;

/**
 * The library maps its lock file and writes to the map: where the device has no room for it, the kernel would end the
 * process with SIGBUS. With its bytes written before, that is an error as any other. Only of a new one: an old one may be
 * in use by who reads the directory.
 */
async function makeLockFile(path: string): Promise<void> {
  try {
    await writeFile(path, Buffer.alloc(LOCK_FILE_BYTES), { flag: 'wx', mode: 0o600 });
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST') return;
    await rm(path, { force: true });
    throw error;
  }
}

/** Not among the library's types. */
const NOT_TYPED: object = {
  permissionsMode: 0o600,
  txnStartThreshold: 1,
  batchStartThreshold: Number.MAX_SAFE_INTEGER,
};

function openAll(root: Tables['root']): Tables {
  const of: Partial<Record<StoredTable, StoredDatabase | undefined>> = {};
  for (const table of STORED_TABLES) of[table] = openTable(root, table);
  // Each was set in the loop.
  return { root, of: of as Tables['of'] };
}

function openTable(root: Tables['root'], name: StoredTable): StoredDatabase | undefined {
  const isNumbered = name === 'contents' || NUMBERED.has(name);
  const options = {
    cache: false,
    encoder: SHOW,
    ...(isNumbered ? { keyEncoder: NUMBER_KEYS } : { keyEncoding: 'binary' as const }),
  };
  const table = root.openDB<Shown | Buffer, RowKey>(name, options);
  // With `readOnly` the library says in this way that a table is not there, against its types.
  if (table === undefined && name !== 'leaders') throw journalError('damaged', `the table ${name} is missing`);
  return table;
}

/** Values go in as they are, and come out where they lie: the next read writes over them. */
const SHOW = {
  encode: (value: Buffer): Buffer => value,
  decode: (bytes: Uint8Array, size?: unknown): Shown => {
    const shown = Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    return { bytes: shown, size: sizeOf(bytes, size) };
  },
};

/** Not the library's `json`: all tables of the file would inherit that. */
const JSON_VALUES = {
  encode: (value: unknown): Buffer => Buffer.from(JSON.stringify(value)),
  decode: (bytes: Uint8Array, size?: unknown): unknown => {
    return JSON.parse(Buffer.from(bytes.buffer, bytes.byteOffset, sizeOf(bytes, size)).toString());
  },
};

/** What the library says besides the bytes is their number in a range, and the options of a `get`. */
function sizeOf(bytes: Uint8Array, said: unknown): number {
  return typeof said === 'number' ? said : bytes.length;
}

/** Eight bytes, the high ones first, so that the order of the bytes is that of the numbers. */
const NUMBER_KEYS = {
  writeKey(key: number, target: Uint8Array, start: number): number {
    const high = Math.floor(key / 0x1_0000_0000);
    target[start] = high >>> 24;
    target[start + 1] = high >>> 16;
    target[start + 2] = high >>> 8;
    target[start + 3] = high;
    target[start + 4] = key / 0x100_0000;
    target[start + 5] = key / 0x1_0000;
    target[start + 6] = key / 0x100;
    target[start + 7] = key;
    return start + 8;
  },
  readKey(target: Uint8Array, start: number): number {
    let key = 0;
    for (let at = start; at < start + 8; at += 1) key = key * 0x100 + (target[at] ?? 0);
    return key;
  },
};

/** How much of a file is used, and for what. */
export interface FileUse {
  /** Bytes, as is the rest but pages and rows. */
  readonly size: number;
  readonly pageSize: number;
  /** Pages that were used once and are free now: the file grows when there are none. */
  readonly freePages: number;
  readonly tables: Readonly<Record<StoredTable, TableUse>>;
}

export interface TableUse {
  readonly rows: number;
  readonly pages: number;
}

/** Pages that only say where the rest is. */
const HEADER_PAGES = 2;

export async function fileUse({ root, of }: Tables, file: string): Promise<FileUse> {
  const about: unknown = root.getStats();
  const pageSize = numberIn(about, 'pageSize');
  const uses = STORED_TABLES.map((table) => [table, tableUse(of[table]?.getStats())] as const);
  const tables = uses.reduce((sum, [, { pages }]) => sum + pages, 0);
  const used = HEADER_PAGES + tables + pagesIn(about) + pagesIn(Reflect.get(Object(about), 'free'));
  return {
    size: (await stat(file)).size,
    pageSize,
    freePages: numberIn(about, 'lastPageNumber') + 1 - used,
    // One for each of STORED_TABLES.
    tables: Object.fromEntries(uses) as Record<StoredTable, TableUse>,
  };
}

/** @param stats unset: there is no such table */
function tableUse(stats: unknown): TableUse {
  if (stats === undefined) return { rows: 0, pages: 0 };
  return { rows: numberIn(stats, 'entryCount'), pages: pagesIn(stats) };
}

function pagesIn(stats: unknown): number {
  return ['treeBranchPageCount', 'treeLeafPageCount', 'overflowPages'].reduce(
    (sum, name) => sum + numberIn(stats, name),
    0,
  );
}

/** The library's statistics have no type. */
export function numberIn(stats: unknown, name: string): number {
  const value = typeof stats === 'object' && stats !== null ? Reflect.get(stats, name) : undefined;
  if (typeof value !== 'number') throw new TypeError(`no ${name} in the statistics of the library`);
  return value;
}

function checkFormat(file: string, { root }: Tables): void {
  const format = root.get(ABOUT.format);
  if (typeof format !== 'number') throw journalError('damaged', `${file} is no data file of keyturn`);
  if (format > FORMAT) {
    throw journalError('newer_format', `${file} has the format ${format}, and this version reads ${FORMAT}`);
  }
}
