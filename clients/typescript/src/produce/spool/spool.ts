import type { Buffer } from 'node:buffer';
import { readFile, unlink } from 'node:fs/promises';
import type { Clock } from '../../time/clock.js';
import { decodeItem, encodeItem, type NamedItem } from './item-record.js';
import { type Found, openDirectory } from './opening.js';
import { encodeRecord, RECORD_HEADER, recordAt } from './record.js';
import type { Sealed } from './segment.js';
import { SegmentWriter, type SpoolSettings, type Usage } from './segment-writer.js';
import { SpoolError } from './spool-error.js';

/** Items in the order in which they were appended. */
interface Chunk {
  readonly items: readonly NamedItem[];
  /** Where the segment is read on after them. */
  readonly end: number;
}

/** The oldest segment, while its items are handed over. */
interface Reading {
  readonly segment: Sealed;
  readonly bytes: Buffer;
  offset: number;
}

/**
 * Items on disk, first in, first out: appended to the newest segment, read from the oldest, which is removed when all its
 * items were handed over. An append is confirmed when it is synced. One writer and one reader, which do not meet: a segment
 * is read when it is not written to any more.
 *
 * After a failure of the file system nothing more is appended until {@link mend}; what is there is still read.
 */
export class Spool {
  readonly #found: Found;
  readonly #sealed: Sealed[];
  readonly #usage: Usage;
  readonly #writer: SegmentWriter;
  #reading: Reading | undefined;

  /** @throws SpoolError */
  static async open(settings: SpoolSettings, clock: Clock): Promise<Spool> {
    return new Spool(settings, clock, await openDirectory(settings.directory, settings.queue));
  }

  private constructor(settings: SpoolSettings, clock: Clock, found: Found) {
    this.#found = found;
    this.#sealed = [...found.segments];
    this.#usage = { bytes: found.segments.reduce((sum, { bytes }) => sum + bytes, 0), items: found.items };
    this.#writer = new SegmentWriter(settings, clock, found.nextNumber, this.#usage, (segment) => {
      this.#sealed.push(segment);
    });
  }

  /** What was cut away from the newest segment when the spool was opened. */
  get torn(): SpoolError | undefined {
    return this.#found.torn;
  }

  /** Why nothing more is appended. */
  get broken(): SpoolError | undefined {
    return this.#writer.broken;
  }

  /** How many items are left, those on their way to disk included. */
  get items(): number {
    return this.#usage.items;
  }

  /** Everything that is left stands in the segment that is being read. */
  get isNearlyEmpty(): boolean {
    return !this.#writer.isWriting && this.#sealed.length <= 1;
  }

  /** What an item takes on disk. */
  static encode(item: NamedItem): Buffer {
    return encodeRecord(encodeItem(item));
  }

  /** Whether so many bytes fit in, now; `ever`: into an empty spool. */
  fits(size: number, ever = false): boolean {
    return this.#writer.fits(size, ever);
  }

  /**
   * Resolves when the items are synced. The caller has looked whether they fit.
   *
   * @throws SpoolError: they may be on disk or not
   */
  append(records: readonly Buffer[]): Promise<void> {
    return this.#writer.append(records);
  }

  /** After a failure. If this fails too, the spool is as broken as it was. */
  mend(): Promise<void> {
    return this.#writer.mend();
  }

  /**
   * The next items, up to `most` and about `bytes`, at least one; undefined when there are none. They stay until
   * {@link advance}.
   *
   * @throws SpoolError
   */
  async read(most: number, bytes: number): Promise<Chunk | undefined> {
    const reading = this.#reading ?? (await this.#openOldest());
    if (reading === undefined) return undefined;
    const items: NamedItem[] = [];
    let { offset } = reading;
    for (let size = 0; items.length < most && offset < reading.segment.bytes; ) {
      const body = recordAt(reading.bytes, offset);
      if (body === undefined) throw new SpoolError('damaged', reading.segment.path, `damaged at byte ${offset}`);
      if (items.length > 0 && size + body.length > bytes) break;
      items.push(decodeItem(body));
      size += body.length;
      offset += RECORD_HEADER + body.length;
    }
    return { items, end: offset };
  }

  /**
   * These items, the last that were read, are done with: the next {@link read} goes on after them, whatever this throws. What
   * could not be noted is handed over again after the next start, and is there once, by the ids of the items.
   *
   * @throws SpoolError
   */
  async advance({ items, end }: Chunk): Promise<void> {
    const reading = this.#reading;
    if (reading === undefined) return;
    reading.offset = end;
    this.#usage.items -= items.length;
    const { segment } = reading;
    if (end < segment.bytes)
      return this.#noting(segment, this.#found.cursor.write({ segment: segment.number, offset: end }));
    this.#reading = undefined;
    this.#sealed.shift();
    this.#usage.bytes -= segment.bytes;
    await this.#noting(segment, this.#remove(segment));
  }

  /** The cursor is forgotten first: one that outlives its segment could be taken for that of another. */
  async #remove({ number, path }: Sealed): Promise<void> {
    const forgotten = this.#found.cursor.forget(number);
    // Whether or not: without room for the cursor the segment makes some.
    await forgotten.catch(() => undefined);
    await unlink(path);
    await forgotten;
  }

  async #noting({ path }: Sealed, noted: Promise<void>): Promise<void> {
    try {
      await noted;
    } catch (error) {
      throw new SpoolError('io', path, 'what was handed over cannot be noted', error);
    }
  }

  /** Syncs what is not yet, and lets go of the directory. What is left is there for the next start. */
  async close(): Promise<void> {
    await this.#writer.close();
    try {
      await this.#found.cursor.close();
    } finally {
      await this.#found.lock.release();
    }
  }

  async #openOldest(): Promise<Reading | undefined> {
    if (this.#sealed.length === 0) await this.#writer.seal();
    const [segment] = this.#sealed;
    if (segment === undefined) return undefined;
    const isFirst = segment === this.#found.segments[0];
    try {
      const bytes = await readFile(segment.path);
      const offset = isFirst ? this.#found.offset : RECORD_HEADER + (recordAt(bytes, 0)?.length ?? 0);
      this.#reading = { segment, bytes, offset };
    } catch (error) {
      throw new SpoolError('io', segment.path, 'cannot be read', error);
    }
    return this.#reading;
  }
}
