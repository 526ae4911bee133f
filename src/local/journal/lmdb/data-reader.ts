import { chmod } from 'node:fs/promises';
import type { Transaction } from 'lmdb';
import type { Content, Row } from '../../../core/contract/rows.js';
import { readFileHeader } from '../checks/file-header.js';
import { checkPages } from '../checks/pages.js';
import { ByteReader, NotAValue } from '../codec/byte-reader.js';
import { accessError, journalError } from '../failures.js';
import { flush, hasData } from './directory.js';
import { tryToLock } from './directory-lock.js';
import { type BadRow, badRowError, refuse as refuseRow, slices } from './slices.js';
import { contentOf } from './stored-content.js';
import { DATA_FILE, type FileUse, fileUse, openTables, type Tables } from './tables.js';

/** Gets each page that is wrong, and why. */
type BadPage = (why: string) => void;

/**
 * Reads a data directory as it was at the moment at which it was opened, for people: nothing is written, and a sidecar
 * may run on it, or start. While this is open, pages that the sidecar frees are not used again.
 */
export class DataReader {
  readonly #reader = new ByteReader();

  private constructor(
    private readonly directory: string,
    private readonly tables: Tables,
    private readonly snapshot: Transaction,
    /** The process that has the directory, in words; unset: none. */
    readonly owner: string | undefined,
  ) {}

  /** @param badPage gets each bad page before the directory is refused. @throws JournalError */
  static async open(directory: string, badPage?: BadPage): Promise<DataReader> {
    const file = `${directory}/${DATA_FILE}`;
    if (!(await hasData(directory))) throw journalError('no_data', `there is no ${DATA_FILE} in ${directory}`);
    try {
      const owner = await ownerOf(directory, file, badPage ?? refuse(file));
      const tables = await openTables(directory, 'read');
      return new DataReader(directory, tables, tables.root.useReadTransaction(), owner);
    } catch (error) {
      throw accessError('opening', file, error);
    }
  }

  get file(): string {
    return `${this.directory}/${DATA_FILE}`;
  }

  /** All rows in the order of `TABLES`, contents left out. @param bad gets what is no row; unset: it is an error */
  rows(bad?: (row: BadRow) => void): AsyncGenerator<readonly Row[], void> {
    return slices(this.tables, this.directory, bad ?? refuseRow(this.directory), this.snapshot);
  }

  /** @throws JournalError */
  content(seq: number): Content {
    try {
      return contentOf(this.tables, this.#reader, seq, this.snapshot);
    } catch (error) {
      if (error instanceof NotAValue)
        throw badRowError(this.directory, { table: 'items', key: seq, why: error.message });
      throw accessError('reading', this.file, error);
    }
  }

  /** Items whose content is a row of its own. */
  *largeContents(): Generator<number, void> {
    for (const key of this.tables.of.contents.getKeys({ start: 0, transaction: this.snapshot })) {
      if (typeof key === 'number') yield key;
    }
  }

  use(): Promise<FileUse> {
    return fileUse(this.tables, this.file);
  }

  /** Writes what there is, without free pages, into an empty directory, and on the disk. */
  async copyTo(directory: string): Promise<void> {
    const copy = `${directory}/${DATA_FILE}`;
    try {
      await this.tables.root.backup(directory, true);
      await chmod(copy, 0o600);
      await flush(copy);
      await flush(directory);
    } catch (error) {
      throw accessError('writing', copy, error);
    }
  }

  /** The process is about to end, in the middle of anything: what it shows need not be kept any more. */
  abandon(): void {
    this.snapshot.done();
  }

  async close(): Promise<void> {
    this.snapshot.done();
    await this.tables.root.close();
  }
}

/** The pages of a directory that a process has cannot be checked: they change. That process checked them at its start. */
async function ownerOf(directory: string, file: string, bad: BadPage): Promise<string | undefined> {
  const lock = await tryToLock(directory);
  if ('owner' in lock) return lock.owner;
  try {
    const header = await readFileHeader(file);
    let count = 0;
    await checkPages(file, header, (why) => {
      count += 1;
      bad(why);
    });
    // The library would end the process at one of them.
    if (count > 0) throw journalError('damaged', `${file} has ${count} damaged pages, or is cut off`);
  } finally {
    await lock.release();
  }
  return undefined;
}

function refuse(file: string): BadPage {
  return (why) => {
    throw journalError('damaged', `${file} is damaged, or cut off: ${why}`);
  };
}
