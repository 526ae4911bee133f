import { Buffer } from 'node:buffer';
import { readFile, unlink } from 'node:fs/promises';
import type { Clock } from '../../time/clock.js';
import { AppendFile } from './append-file.js';
import { decodeItem, encodeItem, type NamedItem } from './item-record.js';
import { type Found, openDirectory } from './opening.js';
import { encodeRecord, RECORD_HEADER, recordAt } from './record.js';
import { encodeTitle, type Sealed, segmentPath } from './segment.js';
import { SpoolError } from './spool-error.js';

export interface SpoolSettings {
  readonly directory: string;
  readonly queue: string;
  /** What was written is synced after this many ms, */
  readonly interval: number;
  /** or after this many items, whatever comes first. */
  readonly count: number;
  /** All segments together. */
  readonly maxBytes: number;
}

/** Items in the order in which they were appended. */
export interface Chunk {
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

interface Waiter {
  resolve(): void;
  reject(error: SpoolError): void;
}

const LARGEST_SEGMENT = 8 * 1_048_576;
/** Space comes free by segments: a small spool has small ones. */
const SEGMENTS = 8;

/**
 * Items on disk, first in, first out: appended to the newest segment, read from the oldest, which is removed when all its
 * items were handed over. An append is confirmed when it is synced. One writer and one reader, which do not meet: a segment
 * is read when it is not written to any more.
 *
 * After a failure of the file system nothing more is appended, because nobody knows what is on disk, until {@link mend}; what
 * is there is still read.
 */
export class Spool {
  readonly #settings: SpoolSettings;
  readonly #clock: Clock;
  readonly #found: Found;
  readonly #title: Buffer;
  readonly #sealed: Sealed[];
  #active: AppendFile | undefined;
  #nextNumber: number;
  /** Of all segments, with what is about to be written. */
  #bytes: number;
  #items: number;
  #reading: Reading | undefined;
  /** Everything that touches the newest segment, one after another. */
  #turn: Promise<void> = Promise.resolve();
  #unsynced: Waiter[] = [];
  #unsyncedItems = 0;
  #callOffSync: (() => void) | undefined;
  #broken: SpoolError | undefined;
  /** Set aside while it was not whole: nothing is appended to another segment before its end was cut away. */
  #ragged: AppendFile | undefined;

  /** @throws SpoolError */
  static async open(settings: SpoolSettings, clock: Clock): Promise<Spool> {
    return new Spool(settings, clock, await openDirectory(settings.directory, settings.queue));
  }

  private constructor(settings: SpoolSettings, clock: Clock, found: Found) {
    this.#settings = settings;
    this.#clock = clock;
    this.#found = found;
    this.#title = encodeTitle(settings.queue);
    this.#sealed = [...found.segments];
    this.#nextNumber = found.nextNumber;
    this.#bytes = found.segments.reduce((sum, { bytes }) => sum + bytes, 0);
    this.#items = found.items;
  }

  /** What was cut away from the newest segment when the spool was opened. */
  get torn(): SpoolError | undefined {
    return this.#found.torn;
  }

  /** Why nothing more is appended. */
  get broken(): SpoolError | undefined {
    return this.#broken;
  }

  /** How many items are left, those on their way to disk included. */
  get items(): number {
    return this.#items;
  }

  /** Everything that is left stands in the segment that is being read. */
  get isNearlyEmpty(): boolean {
    return this.#active === undefined && this.#sealed.length <= 1;
  }

  /** What an item takes on disk. */
  static encode(item: NamedItem): Buffer {
    return encodeRecord(encodeItem(item));
  }

  /** Whether so many bytes fit in, now; `ever`: into an empty spool. */
  fits(size: number, ever = false): boolean {
    return (ever ? 0 : this.#bytes) + size + this.#title.length <= this.#settings.maxBytes;
  }

  /**
   * Resolves when the items are synced. The caller has looked whether they fit.
   *
   * @throws SpoolError: they may be on disk or not
   */
  append(records: readonly Buffer[]): Promise<void> {
    if (this.#broken !== undefined) return Promise.reject(this.#broken);
    const size = records.reduce((sum, { length }) => sum + length, 0);
    this.#bytes += size;
    this.#items += records.length;
    const synced = new Promise<void>((resolve, reject) => {
      this.#inTurn(async () => {
        try {
          const file = await this.#fileFor(size);
          await file.append(Buffer.concat(records), records.length);
        } catch (error) {
          this.#items -= records.length;
          this.#bytes -= size;
          return reject(this.#break(error));
        }
        this.#unsynced.push({ resolve, reject });
        this.#unsyncedItems += records.length;
        if (this.#unsyncedItems >= this.#settings.count) return this.#sync();
        this.#callOffSync ??= this.#clock.after(this.#settings.interval, () => this.#inTurn(() => this.#sync()));
      });
    });
    return synced;
  }

  /**
   * After a failure: what was not whole is cut away, and what comes is appended to another segment. A disk that was full may
   * have room again. If this fails too, the spool is as broken as it was.
   */
  async mend(): Promise<void> {
    await this.#inTurn(async () => {
      if (this.#broken === undefined) return;
      try {
        await (this.#active ?? this.#ragged)?.mend();
      } catch {
        return;
      }
      // What was appended before the failure is confirmed by a sync of the file that it is in, and by no other.
      await this.#sync();
      this.#broken = undefined;
      await this.#ragged?.close().catch(() => undefined);
      this.#ragged = undefined;
      await this.#setAside();
    });
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
    this.#items -= items.length;
    const { segment } = reading;
    if (end < segment.bytes)
      return this.#noting(segment, this.#found.cursor.write({ segment: segment.number, offset: end }));
    this.#reading = undefined;
    this.#sealed.shift();
    this.#bytes -= segment.bytes;
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
    await this.#inTurn(async () => {
      await this.#sync();
      await this.#active?.close().catch((error: unknown) => void this.#break(error));
      this.#active = undefined;
      await this.#ragged?.mend().catch(() => undefined);
      await this.#ragged?.close().catch(() => undefined);
      this.#ragged = undefined;
    });
    try {
      await this.#found.cursor.close();
    } finally {
      await this.#found.lock.release();
    }
  }

  async #openOldest(): Promise<Reading | undefined> {
    if (this.#sealed.length === 0) await this.#inTurn(() => this.#seal());
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

  #inTurn(task: () => Promise<void>): Promise<void> {
    // No task rejects: what fails is kept in #broken and told to those who wait.
    this.#turn = this.#turn.then(task);
    return this.#turn;
  }

  async #fileFor(size: number): Promise<AppendFile> {
    if (this.#broken !== undefined) throw this.#broken;
    const most = Math.min(LARGEST_SEGMENT, this.#settings.maxBytes / SEGMENTS);
    if (this.#active !== undefined && this.#active.items > 0 && this.#active.size + size > most) await this.#seal();
    if (this.#broken !== undefined) throw this.#broken;
    if (this.#active === undefined) {
      const number = this.#nextNumber;
      this.#nextNumber += 1;
      this.#active = await AppendFile.create(number, segmentPath(this.#settings.directory, number), this.#title);
      this.#bytes += this.#title.length;
    }
    return this.#active;
  }

  /** Nothing is written to the newest segment any more: it may be read. */
  async #seal(): Promise<void> {
    await this.#sync();
    await this.#setAside();
  }

  async #setAside(): Promise<void> {
    const file = this.#active;
    if (file === undefined) return;
    this.#active = undefined;
    if (this.#broken === undefined) await file.close().catch((error: unknown) => void this.#break(error));
    else this.#ragged = file;
    const { number, path, size, items } = file;
    if (items > 0) return void this.#sealed.push({ number, path, bytes: size, items });
    this.#bytes -= size;
    await unlink(path).catch((error: unknown) => void this.#break(error));
  }

  async #sync(): Promise<void> {
    this.#callOffSync?.();
    this.#callOffSync = undefined;
    const waiting = this.#unsynced;
    this.#unsynced = [];
    this.#unsyncedItems = 0;
    if (waiting.length === 0) return;
    try {
      await this.#active?.sync();
      for (const { resolve } of waiting) resolve();
    } catch (error) {
      const broken = this.#break(error);
      for (const { reject } of waiting) reject(broken);
    }
  }

  #break(error: unknown): SpoolError {
    const file = this.#active?.path ?? this.#settings.directory;
    this.#broken ??= error instanceof SpoolError ? error : new SpoolError('io', file, 'cannot be written', error);
    return this.#broken;
  }
}
