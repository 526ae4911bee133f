/** The segments that a spool writes, one after another, and when what was written is confirmed. */
import { Buffer } from 'node:buffer';
import { unlink } from 'node:fs/promises';
import type { Clock } from '../../time/clock.js';
import { AppendFile } from './append-file.js';
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

/** All segments together, with what is about to be written. */
export interface Usage {
  bytes: number;
  items: number;
}

interface Waiter {
  resolve(): void;
  reject(error: SpoolError): void;
}

const LARGEST_SEGMENT = 8 * 1_048_576;
/** Space comes free by segments: a small spool has small ones. */
const SEGMENTS = 8;

/** After a failure of the file system nothing more is appended, because it is not known what is on disk, until {@link mend}. */
export class SegmentWriter {
  readonly #settings: SpoolSettings;
  readonly #clock: Clock;
  readonly #usage: Usage;
  readonly #onSealed: (segment: Sealed) => void;
  readonly #title: Buffer;
  #active: AppendFile | undefined;
  #nextNumber: number;
  /** Everything that touches the newest segment, one after another. */
  #turn: Promise<void> = Promise.resolve();
  #unsynced: Waiter[] = [];
  #unsyncedItems = 0;
  #callOffSync: (() => void) | undefined;
  #broken: SpoolError | undefined;
  /** Set aside while it was not whole: nothing is appended to another segment before its end was cut away. */
  #ragged: AppendFile | undefined;

  /** @param onSealed gets each segment that has items and is not written to any more */
  constructor(
    settings: SpoolSettings,
    clock: Clock,
    nextNumber: number,
    usage: Usage,
    onSealed: (segment: Sealed) => void,
  ) {
    this.#settings = settings;
    this.#clock = clock;
    this.#nextNumber = nextNumber;
    this.#usage = usage;
    this.#onSealed = onSealed;
    this.#title = encodeTitle(settings.queue);
  }

  /** Why nothing more is appended. */
  get broken(): SpoolError | undefined {
    return this.#broken;
  }

  /** A segment is written to. */
  get isWriting(): boolean {
    return this.#active !== undefined;
  }

  /** Whether so many bytes fit in, now; `ever`: into an empty spool. */
  fits(size: number, ever: boolean): boolean {
    return (ever ? 0 : this.#usage.bytes) + size + this.#title.length <= this.#settings.maxBytes;
  }

  /**
   * Resolves when the items are synced. The caller has looked whether they fit.
   *
   * @throws SpoolError: they may be on disk or not
   */
  append(records: readonly Buffer[]): Promise<void> {
    if (this.#broken !== undefined) return Promise.reject(this.#broken);
    const size = records.reduce((sum, { length }) => sum + length, 0);
    this.#usage.bytes += size;
    this.#usage.items += records.length;
    const synced = new Promise<void>((resolve, reject) => {
      this.#inTurn(async () => {
        try {
          const file = await this.#fileFor(size);
          await file.append(Buffer.concat(records), records.length);
        } catch (error) {
          this.#usage.items -= records.length;
          this.#usage.bytes -= size;
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

  /** Nothing is written to the newest segment any more, after what is on its way: it may be read. */
  seal(): Promise<void> {
    return this.#inTurn(() => this.#seal());
  }

  /** Syncs what is not yet, and closes the files. */
  close(): Promise<void> {
    return this.#inTurn(async () => {
      await this.#sync();
      await this.#active?.close().catch((error: unknown) => void this.#break(error));
      this.#active = undefined;
      await this.#ragged?.mend().catch(() => undefined);
      await this.#ragged?.close().catch(() => undefined);
      this.#ragged = undefined;
    });
  }

  #inTurn(task: () => Promise<void>): Promise<void> {
    // No task rejects: a failure is kept in #broken, and appends that wait are rejected with it.
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
      this.#usage.bytes += this.#title.length;
    }
    return this.#active;
  }

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
    if (items > 0) return this.#onSealed({ number, path, bytes: size, items });
    this.#usage.bytes -= size;
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
