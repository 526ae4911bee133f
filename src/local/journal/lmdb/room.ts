/**
 * Room in the data file for what the next batch may add, taken before the library writes it.
 *
 * A write that fails inside the library overruns a buffer of its own when it puts the error into words (lmdb 3.5.6,
 * `mdb_page_flush`: up to 120 bytes into 100), which sooner or later ends the process. A device that is full, a quota, a
 * limit of file size: each refuses zeros at the end of the file as well, and then the library has not begun.
 *
 * Asking the device how much is free would be cheaper, and knows nothing of quotas and limits. Zeros are written once for
 * each page of the file; a page that becomes free again is used again without them.
 */
import { Buffer } from 'node:buffer';
import { type FileHandle, open } from 'node:fs/promises';

/** Pages that a batch may write besides those of its values: the ways to them, free pages, a little more. */
const PAGES_A_BATCH = 64;
/** A write copies the page that it is on, and may cut it in two. Many are on the same. */
const PAGES_A_WRITE = 2;
const MOST_PAGES_OF_WRITES = 4_096;
/** More than is needed is made room for, bytes: a part of the file, so that it does not grow with every batch. */
const LEAST_AHEAD = 262_144;
const MOST_AHEAD = 16_777_216;
const PART_AHEAD = 1 / 8;

const ZEROS = Buffer.alloc(1_048_576);

/** What of a batch decides how much room it needs. */
interface Load {
  readonly writes: number;
  readonly bytes: number;
}

/** Pages that a batch may add to the file. */
function mostPages({ writes, bytes }: Load, pageSize: number): number {
  return PAGES_A_BATCH + Math.min(PAGES_A_WRITE * writes, MOST_PAGES_OF_WRITES) + 2 * Math.ceil(bytes / pageSize);
}

export class Room {
  /** Bytes of the file, as far as it is known: it may be more. */
  #size = 0;
  /** Pages in use, at most: what was asked for the last time, and all that the batches since may have added. */
  #pages = 0;

  private constructor(private readonly file: FileHandle) {}

  static async open(path: string): Promise<Room> {
    return new Room(await open(path, 'r+'));
  }

  /**
   * @param used asked only when the batches since the last time may have used up what was there: it costs a reader of the
   * library, and no batch is to wait for that
   * @returns unset: there is room. Otherwise resolves when there is; rejects with what the system says when there is none: the
   * file is as it was, but for zeros at its end
   */
  make(load: Load, pageSize: number, used: () => number): Promise<void> | undefined {
    const most = mostPages(load, pageSize);
    if ((this.#pages + most) * pageSize > this.#size) this.#pages = used();
    this.#pages += most;
    const needed = this.#pages * pageSize;
    return needed <= this.#size ? undefined : this.#makeSure(needed, pageSize);
  }

  async close(): Promise<void> {
    await this.file.close();
  }

  async #makeSure(needed: number, pageSize: number): Promise<void> {
    this.#size = (await this.file.stat()).size;
    const ahead = Math.min(MOST_AHEAD, Math.max(LEAST_AHEAD, PART_AHEAD * needed));
    if (needed > this.#size) await this.#grow(needed, Math.ceil((needed + ahead) / pageSize) * pageSize);
  }

  /** As far as there is room, if that is enough. */
  async #grow(needed: number, wanted: number): Promise<void> {
    try {
      while (this.#size < wanted) {
        const length = Math.min(ZEROS.length, wanted - this.#size);
        const { bytesWritten } = await this.file.write(ZEROS, 0, length, this.#size);
        this.#size += bytesWritten;
      }
    } catch (error) {
      if (this.#size < needed) throw error;
    }
  }
}
