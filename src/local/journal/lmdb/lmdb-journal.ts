import type { Content, Row, RowChange } from '../../../core/contract/rows.js';
import { readFileHeader } from '../checks/file-header.js';
import { checkPages } from '../checks/pages.js';
import { ByteReader, NotAValue } from '../codec/byte-reader.js';
import { ByteWriter } from '../codec/byte-writer.js';
import { accessError, journalError, writeError } from '../failures.js';
import type { Journal, JournalPast } from '../journal.js';
import { type EncodedBatch, encode } from './batch.js';
import { createData, hasData, makeDirectory } from './directory.js';
import { type DirectoryLock, lockDirectory } from './directory-lock.js';
import { Room } from './room.js';
import { badRowError, refuse, slices } from './slices.js';
import { contentOf } from './stored-content.js';
import { ABOUT, DATA_FILE, DISK_TABLES, numberIn, openTables, type StoredTable, type Tables } from './tables.js';

/**
 * Opens the journal in a directory, which is made if it is not there. The directory is this process's own until the
 * journal is closed or the process ends.
 *
 * @throws JournalError that names the file and says what to do; a directory whose data cannot be read is left as it is
 */
export async function openJournal(directory: string): Promise<Journal> {
  await makeDirectory(directory);
  const lock = await lockDirectory(directory);
  try {
    if (await hasData(directory)) await checkAllPages(`${directory}/${DATA_FILE}`);
    else await createData(directory);
    const tables = await openTables(directory, 'write');
    const room = await Room.open(`${directory}/${DATA_FILE}`);
    return new LmdbJournal(directory, lock, room, tables);
  } catch (error) {
    await lock.release();
    throw accessError('opening', `${directory}/${DATA_FILE}`, error);
  }
}

/** A fifth of a second for a million items; the library would end the process at a page that is none. */
async function checkAllPages(file: string): Promise<void> {
  await checkPages(file, await readFileHeader(file), (why) => {
    throw journalError('damaged', `${file} is damaged, or cut off: ${why}`);
  });
}

/**
 * Batches after which it is looked whether a reader died. What it showed would be kept for it for ever, and the file would
 * grow by all that is written.
 */
const LOOK_AFTER = 32;

class LmdbJournal implements Journal {
  readonly before: JournalPast;
  readonly #reader = new ByteReader();
  /** The library has only the addresses of the bytes of a batch: it is used again when that was written. */
  readonly #writer = new ByteWriter();
  /** Unset after a write that failed, until the next one. */
  #tables: Tables | undefined;
  #writing: Promise<void> | undefined;
  #closed = false;
  /** Batches since it was looked for dead readers. */
  #batches = 0;
  /** Bytes. Of the file: it does not change. */
  readonly #pageSize: number;
  /** Whether there may be rows of contents: without, none has to be looked for when an item ends. */
  #contents: boolean;

  constructor(
    private readonly directory: string,
    private readonly lock: DirectoryLock,
    private readonly room: Room,
    tables: Tables,
  ) {
    this.#tables = tables;
    this.#contents = countOf(tables, 'contents') > 0;
    this.#pageSize = numberIn(tables.root.getStats(), 'pageSize');
    this.before = { lastWrite: lastWriteOf(tables), rows: rowsOf(tables) };
  }

  async *read(): AsyncIterable<readonly Row[]> {
    yield* slices(await this.#open(), this.directory, refuse(this.directory));
  }

  async write(changes: readonly RowChange[], at: number): Promise<void> {
    if (this.#closed) throw new TypeError('a write after the journal was closed');
    if (this.#writing !== undefined) throw new TypeError('a write began before the one before it had ended');
    try {
      this.#writing = this.#write(changes, at);
      await this.#writing;
    } finally {
      this.#writing = undefined;
    }
  }

  content(seq: number): Content {
    const tables = this.#tables;
    if (tables === undefined) throw journalError('io', `${this.#path} is not open after a write that failed`);
    try {
      return contentOf(tables, this.#reader, seq);
    } catch (error) {
      if (error instanceof NotAValue)
        throw badRowError(this.directory, { table: 'items', key: seq, why: error.message });
      throw accessError('reading', this.#path, error);
    }
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    // Its own caller learns how it ends.
    await this.#writing?.catch(() => {});
    try {
      await this.#tables?.root.close();
      await this.room.close();
    } finally {
      await this.lock.release();
    }
  }

  get #path(): string {
    return `${this.directory}/${DATA_FILE}`;
  }

  /**
   * A batch is one transaction. No write of it is waited for by itself: they are all in, or none.
   *
   * It is under way when this call returns, unless the file has to be opened or to grow: what the caller does next, mostly
   * sending answers, is done while the disk works.
   */
  async #write(changes: readonly RowChange[], at: number): Promise<void> {
    const tables = this.#tables ?? (await this.#open());
    // First all of it is turned into bytes: a row that cannot be would leave half a batch.
    const batch = encode(this.#writer, changes, this.#contents);
    const room = this.#makeRoom(tables, batch);
    if (room !== undefined) await room;
    // Also if it fails: then it may be there all the same.
    this.#contents ||= batch.contents;
    try {
      await commit(tables, batch, at);
    } catch (error) {
      const failure = await writeError(this.#path, error, batch.bytes);
      await this.#openAnew(tables);
      throw failure;
    }
    this.#forgetDeadReaders(tables);
  }

  /** By batches and not by time: without any the file does not grow. */
  #forgetDeadReaders({ root }: Tables): void {
    this.#batches += 1;
    if (this.#batches < LOOK_AFTER) return;
    this.#batches = 0;
    root.readerCheck();
  }

  /** @returns unset: there is room already */
  #makeRoom({ root }: Tables, { writes, bytes }: EncodedBatch): Promise<void> | undefined {
    const used = () => numberIn(root.getStats(), 'lastPageNumber') + 1;
    const room = this.room.make({ writes: writes.length, bytes }, this.#pageSize, used);
    return room?.catch((error: unknown) => this.#noRoom(error, bytes));
  }

  async #noRoom(error: unknown, bytes: number): Promise<never> {
    throw await writeError(this.#path, error, bytes);
  }

  async #open(): Promise<Tables> {
    this.#tables ??= await openTables(this.directory, 'write');
    return this.#tables;
  }

  /**
   * When the page that makes a commit valid could not be written, the library refuses all writes to come, and its
   * promises never settle. So after each failure the file is opened anew.
   */
  async #openAnew(tables: Tables): Promise<void> {
    this.#tables = undefined;
    await tables.root.close();
    try {
      await this.#open();
    } catch {
      // The next write tries again, and tells why it cannot.
    }
  }
}

/**
 * Resolves when all of it is flushed. The library starts a transaction when the event loop has turned, or when a write finds
 * one that is to be started then. So the moment of the batch is put once more behind it, in the same transaction: nothing
 * was started before it, because a batch of any size is no reason for that ({@link openTables}).
 */
async function commit({ root, of }: Tables, { writes }: EncodedBatch, at: number): Promise<void> {
  const batch = root.batch(() => {
    for (const { table, key, value } of writes) {
      // Settled with the batch; none has a promise of its own.
      if (value === undefined) void of[table]?.remove(key);
      else void of[table]?.put(key, value);
    }
    void root.put(ABOUT.lastWrite, at);
  });
  // The same promise, as the library is set.
  await Promise.all([batch, root.put(ABOUT.lastWrite, at)]);
}

function countOf(tables: Tables, table: StoredTable): number {
  const rows = tables.of[table];
  return rows === undefined ? 0 : numberIn(rows.getStats(), 'entryCount');
}

export function lastWriteOf({ root }: Pick<Tables, 'root'>): number | undefined {
  const at = root.get(ABOUT.lastWrite);
  return typeof at === 'number' ? at : undefined;
}

function rowsOf(tables: Tables): number {
  return DISK_TABLES.reduce((sum, table) => sum + countOf(tables, table), 0);
}
