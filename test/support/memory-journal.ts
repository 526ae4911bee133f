/**
 * A journal that is kept in Maps, on a disk that outlives it: open the disk again to see what a restart reads of the bytes that
 * were written. Writes can be made to fail, to be torn, or to wait, at the port where a real disk would.
 */
import { Buffer } from 'node:buffer';
import { bytesOfPayload } from '../../src/core/contract/payload.js';
import {
  type Content,
  type ItemRow,
  type Row,
  type RowChange,
  type RowId,
  TABLES,
} from '../../src/core/contract/rows.js';
import { ByteReader } from '../../src/local/journal/codec/byte-reader.js';
import { ByteWriter } from '../../src/local/journal/codec/byte-writer.js';
import { readWholeItem, writeWholeItem } from '../../src/local/journal/codec/item-codec.js';
import { keyOf, readRow, seedOf, writeRow } from '../../src/local/journal/codec/row-codec.js';
import { type Journal, JournalError, type JournalPast, type JournalProblem } from '../../src/local/journal/journal.js';

/** What happens to a write. */
export type Fate =
  | { readonly does: 'succeed' }
  /** Nothing of it is there. */
  | { readonly does: 'fail'; readonly problem?: JournalProblem }
  /** It rejects, though it may be there: the answer of the disk was lost. */
  | { readonly does: 'tear'; readonly applied: boolean; readonly problem?: JournalProblem }
  /** It has its fate when `until` is settled; it is not there before. */
  | { readonly does: 'wait'; readonly until: Promise<unknown>; readonly then?: Fate };

/** Of all disks: a row is written and read in one step. */
const writer = new ByteWriter();
const reader = new ByteReader();

/** A disk as one process after another has it. */
export class MemoryDisk {
  readonly #rows = new Map<string, Row>();
  readonly #contents = new Map<number, Content>();
  #lastWrite: number | undefined;
  #open: MemoryJournal | undefined;
  #writes = 0;
  /** The fate of the n-th write, counted from 1 over all journals of this disk. */
  fate: (n: number, changes: readonly RowChange[]) => Fate = () => ({ does: 'succeed' });
  /** Set: contents cannot be read. */
  contentProblem: JournalProblem | undefined;

  /** @param keepsContents contents stay in memory: they are read with the rows, and never alone */
  constructor(readonly keepsContents = false) {}

  /** @throws JournalError `in_use`, while another journal is open on it */
  open(): MemoryJournal {
    if (this.#open !== undefined) throw new JournalError('in_use', 'another journal is open on this disk');
    this.#open = new MemoryJournal(this);
    return this.#open;
  }

  /** As `kill -9` of the process: what waits to be written is never there, and its promise never settles. */
  crash(): void {
    this.#open?.abandon();
    this.#open = undefined;
  }

  /** How many writes were begun. */
  get writes(): number {
    return this.#writes;
  }

  get past(): JournalPast {
    return { lastWrite: this.#lastWrite, rows: this.#rows.size };
  }

  /** What is on it now, in the order in which a start reads it; contents left out, unless they stay in memory. */
  rows(): readonly Row[] {
    const all = [...this.#rows.values()].map((row) => this.#whole(row));
    return TABLES.flatMap((table) => all.filter((row) => row.table === table).sort(byNumber));
  }

  content(seq: number): Content {
    if (this.keepsContents) throw new TypeError(`the content of item ${seq} is in memory`);
    if (this.contentProblem !== undefined) throw new JournalError(this.contentProblem, `content of item ${seq}`);
    const content = this.#contents.get(seq);
    if (content === undefined) throw new JournalError('damaged', `there is no content of item ${seq}`);
    return structuredClone(content);
  }

  /** For {@link MemoryJournal} alone. */
  nextFate(changes: readonly RowChange[]): Fate {
    this.#writes += 1;
    return this.fate(this.#writes, changes);
  }

  /** For {@link MemoryJournal} alone. */
  apply(changes: readonly RowChange[], at: number): void {
    for (const change of changes) {
      if ('put' in change) this.#put(change.put);
      else this.#delete(change.delete);
    }
    this.#lastWrite = at;
  }

  /** For {@link MemoryJournal} alone. */
  closed(): void {
    this.#open = undefined;
  }

  #whole(row: Row): Row {
    if (!this.keepsContents || row.table !== 'items' || row.state !== 'open') return row;
    return { ...row, content: structuredClone(this.#contents.get(row.seq)) };
  }

  #put(put: Row): void {
    const row = readAgain(put);
    const isOpen = row.table === 'items' && row.state === 'open';
    if (isOpen && row.content !== undefined) this.#contents.set(row.seq, row.content);
    else if (row.table === 'items') this.#contents.delete(row.seq);
    this.#rows.set(nameOf(row), isOpen ? { ...row, content: undefined } : row);
  }

  #delete(id: RowId): void {
    this.#rows.delete(nameOf(id));
    if (id.table === 'items') this.#contents.delete(id.seq);
  }
}

/** Rows of a slice: small, so that a start of a few rows has several. */
const SLICE = 16;

export class MemoryJournal implements Journal {
  readonly before: JournalPast;
  readonly keepsContents?: true;
  #state: 'open' | 'closed' | 'abandoned' = 'open';
  #writing: Promise<void> | undefined;

  constructor(private readonly disk: MemoryDisk) {
    this.before = disk.past;
    if (disk.keepsContents) this.keepsContents = true;
  }

  async *read(): AsyncIterable<readonly Row[]> {
    const rows = this.disk.rows();
    for (let at = 0; at < rows.length; at += SLICE) {
      await Promise.resolve();
      yield structuredClone(rows.slice(at, at + SLICE));
    }
  }

  async write(changes: readonly RowChange[], at: number): Promise<void> {
    this.#check();
    if (this.#writing !== undefined) throw new TypeError('a write began before the one before it had ended');
    try {
      this.#writing = this.#write(changes, at);
      await this.#writing;
    } finally {
      this.#writing = undefined;
    }
  }

  content(seq: number): Content {
    this.#check();
    return this.disk.content(seq);
  }

  async close(): Promise<void> {
    if (this.#state !== 'open') return;
    this.#state = 'closed';
    await this.#writing?.catch(() => {});
    this.disk.closed();
  }

  /** For {@link MemoryDisk} alone. */
  abandon(): void {
    this.#state = 'abandoned';
  }

  async #write(changes: readonly RowChange[], at: number): Promise<void> {
    // As the real one does: nobody may write into the values of a batch while it is under way.
    const cut = changes.map(copy);
    // Never in the turn of the loop in which it was asked for.
    await Promise.resolve();
    await this.#meet(this.disk.nextFate(changes), cut, at);
  }

  async #meet(fate: Fate, changes: readonly RowChange[], at: number): Promise<void> {
    if (fate.does === 'wait') {
      await fate.until;
      return this.#meet(fate.then ?? { does: 'succeed' }, changes, at);
    }
    if (this.#state === 'abandoned') return new Promise(() => {});
    if (fate.does === 'succeed' || (fate.does === 'tear' && fate.applied)) this.disk.apply(changes, at);
    if (fate.does !== 'succeed') {
      throw new JournalError(fate.problem ?? 'io', `the write was made to ${fate.does} by the test`);
    }
  }

  #check(): void {
    if (this.#state !== 'open') throw new TypeError(`the journal is ${this.#state}`);
  }
}

/** The fate of the writes with these numbers; all others succeed. */
export function fates(of: Readonly<Record<number, Fate>>): MemoryDisk['fate'] {
  return (n) => of[n] ?? { does: 'succeed' };
}

function copy(change: RowChange): RowChange {
  if (!('put' in change)) return change;
  const row = change.put;
  if (row.table !== 'items' || row.state !== 'open') return { put: structuredClone(row) };
  return { put: structuredClone({ ...row, content: plainContent(contentOf(row)) }) };
}

function contentOf({ seq, content }: ItemRow): Content {
  if (content === undefined) throw new TypeError(`item ${seq} is written without its content`);
  return content;
}

/** What a start reads of the bytes of a row: no more than is written of it. */
function readAgain(row: Row): Row {
  const key = keyOf(row);
  writer.reset();
  if (row.table !== 'items' || row.state !== 'open') writeRow(writer, row, key);
  else writeWholeItem(writer, row, contentOf(row), seedOf('items', row.seq));
  const bytes = writer.end();
  reader.show({ bytes, size: bytes.length });
  return row.table === 'items'
    ? readWholeItem(reader, row.seq, seedOf('items', row.seq))
    : readRow(reader, row.table, key);
}

/** As it is read back; a Buffer may be a window on a pool of 8 KiB, and a clone would hold all of it. */
function plainContent({ payload, headers }: Content): Content {
  return { payload: Uint8Array.from(bytesOfPayload(payload)), headers };
}

/** The name of a row, unique on the disk. */
function nameOf(id: RowId | Row): string {
  switch (id.table) {
    case 'items':
    case 'progress':
      return JSON.stringify([id.table, id.seq]);
    case 'tokens':
      return JSON.stringify([id.table, id.token]);
    case 'keys':
      return JSON.stringify([id.table, id.queue, id.key, id.idempotencyKey]);
    case 'parks':
      return JSON.stringify([id.table, id.queue, id.key, id.lane ?? null]);
    case 'pauses':
    case 'limits':
      return JSON.stringify([id.table, id.queue]);
    case 'leaders':
      return JSON.stringify([id.table, id.group]);
    case 'sessions':
      return JSON.stringify([id.table, id.id]);
    case 'outbox':
      return JSON.stringify([id.table, id.stamp]);
    case 'inbox':
      return JSON.stringify([id.table, id.source]);
    case 'floor':
      return JSON.stringify([id.table]);
  }
}

function byNumber(a: Row, b: Row): number {
  return numberOf(a) - numberOf(b);
}

function numberOf(row: Row): number {
  if (row.table === 'items' || row.table === 'progress') return row.seq;
  if (row.table === 'outbox') return row.stamp;
  if (row.table === 'inbox') return row.source;
  return row.table === 'tokens' ? row.token : 0;
}

/** For tests that look at payloads as text. */
export function textContent(text: string): Content {
  return { payload: Buffer.from(text), headers: undefined };
}
