/**
 * Rows as keys and values. The layout is the project's own and small: a row of an item is its fields and some 40 bytes.
 * A common format with names or types in it would be a third larger and take twice as long to read.
 *
 * Each value begins with a checksum over the rest and over its key, so that neither a bit that flipped nor a value in
 * the wrong place is taken for a row.
 */
import { Buffer } from 'node:buffer';
import { crc32 } from 'node:zlib';
import type {
  AfterRef,
  DoneKeyRow,
  FloorRow,
  InboxRow,
  ItemRow,
  LimitsRow,
  ParkRow,
  PauseRow,
  ProgressRow,
  Row,
  RowId,
  SessionRow,
  Table,
} from '../../../core/contract/rows.js';
import { type ByteReader, NotAValue } from './byte-reader.js';
import type { ByteWriter } from './byte-writer.js';
import { hasFar, readFar, readItem, readRefs, writeEnd, writeFar, writeFinished, writeRefs } from './item-codec.js';
import { readLeader, writeLeader } from './leader-codec.js';
import { readOptional, writeOptional } from './optional.js';
import { readParcel, writeParcel } from './parcel-codec.js';
import { readToken, writeToken } from './token-codec.js';
import { DEATH_CAUSES, PARK_CAUSES } from './words.js';

/** Items that are open have a content beside: `writeItem`. */
export type SimpleRow = Exclude<Row, ItemRow>;

/** A key in its table: a number, or names. */
export type RowKey = number | Buffer;

/** Tables whose keys are numbers; the rest have names for keys. */
export const NUMBERED: ReadonlySet<Table> = new Set(['items', 'progress', 'tokens', 'floor', 'outbox', 'inbox']);

const TABLE_NUMBERS: Readonly<Record<Table | 'contents', number>> = {
  floor: 1,
  pauses: 2,
  sessions: 3,
  tokens: 4,
  keys: 5,
  parks: 6,
  progress: 7,
  items: 8,
  contents: 9,
  limits: 10,
  leaders: 11,
  outbox: 12,
  inbox: 13,
};

/** What a checksum begins with. */
export function seedOf(table: Table | 'contents', key: RowKey): number {
  const number = TABLE_NUMBERS[table];
  if (typeof key !== 'number') return crc32(key, number);
  const high = Math.floor(key / 0x1_0000_0000);
  return (Math.imul(key | 0, 0x9e3779b1) ^ Math.imul(high + 1, 0x85ebca6b) ^ Math.imul(number, 0xc2b2ae35)) >>> 0;
}

export function keyOf(id: RowId | Row): RowKey {
  switch (id.table) {
    case 'items':
    case 'progress':
      return id.seq;
    case 'tokens':
      return id.token;
    case 'floor':
      return 0;
    case 'outbox':
      return id.stamp;
    case 'inbox':
      return id.source;
    case 'keys':
      return names(id.queue, id.key, id.idempotencyKey);
    case 'parks':
      return id.lane === undefined ? names(id.queue, id.key) : names(id.queue, id.key, String(id.lane));
    case 'pauses':
    case 'limits':
      return names(id.queue);
    case 'leaders':
      return names(id.group);
    case 'sessions':
      return names(id.id);
  }
}

/** What the library takes for a key, bytes; the limits of names stay below it. */
const LONGEST_KEY = 1_978;

/** Texts behind their length in bytes, two bytes each. */
function names(...texts: readonly string[]): Buffer {
  const lengths = texts.map((text) => Buffer.byteLength(text));
  const size = lengths.reduce((sum, length) => sum + length + 2, 0);
  if (size > LONGEST_KEY) throw new RangeError(`names of ${size} bytes; up to ${LONGEST_KEY} can be kept`);
  const key = Buffer.allocUnsafeSlow(size);
  let at = 0;
  texts.forEach((text, index) => {
    at = key.writeUInt16BE(lengths[index] ?? 0, at);
    at += key.write(text, at);
  });
  return key;
}

export function writeRow(to: ByteWriter, row: SimpleRow, key: RowKey): void {
  const seed = seedOf(row.table, key);
  if (row.table === 'items') return row.state === 'ended' ? writeEnd(to, row, seed) : writeFinished(to, row, seed);
  to.begin();
  writeFields(to, row);
  to.seal(seed);
}

/** @throws NotAValue */
export function readRow(from: ByteReader, table: Table, key: RowKey): Row {
  const seed = seedOf(table, key);
  if (table === 'items') return readItem(from, numberOf(key), seed);
  from.check(seed);
  return readFields(from, table, key);
}

function numberOf(key: RowKey): number {
  if (typeof key !== 'number') throw new TypeError('a key that is no number, in a table of numbers');
  return key;
}

/** Names stand in the value too: the key is there to find it, and is not taken apart again. */
function writeFields(to: ByteWriter, row: Exclude<SimpleRow, { readonly table: 'items' }>): void {
  switch (row.table) {
    case 'progress':
      return writeProgress(to, row);
    case 'tokens':
      return writeToken(to, row);
    case 'keys':
      to.text(row.queue);
      to.text(row.key);
      to.text(row.idempotencyKey);
      writeOptional(to, row.result, to.bytes);
      return to.number(row.until);
    case 'parks':
      to.text(row.queue);
      to.text(row.key);
      writeOptional(to, row.lane, to.whole);
      to.number(row.since);
      to.byte(PARK_CAUSES.number(row.because));
      return to.text(row.itemId);
    case 'pauses':
      return to.text(row.queue);
    case 'sessions':
      to.text(row.id);
      return to.number(row.ttl);
    case 'floor':
      return to.whole(row.token);
    case 'limits':
      return writeLimits(to, row);
    case 'leaders':
      return writeLeader(to, row);
    case 'outbox':
      return writeParcel(to, row);
    case 'inbox':
      return to.whole(row.stamp);
  }
}

function readFields(from: ByteReader, table: Exclude<Table, 'items'>, key: RowKey): Row {
  switch (table) {
    case 'progress':
      return readProgress(from, numberOf(key));
    case 'tokens':
      return readToken(from, numberOf(key));
    case 'keys':
      return readDoneKey(from);
    case 'parks':
      return readPark(from);
    case 'pauses':
      return { table, queue: from.text() } satisfies PauseRow;
    case 'sessions':
      return { table, id: from.text(), ttl: from.number() } satisfies SessionRow;
    case 'floor':
      return { table, token: from.whole() } satisfies FloorRow;
    case 'limits':
      return readLimits(from);
    case 'leaders':
      return readLeader(from);
    case 'outbox':
      return readParcel(from, numberOf(key));
    case 'inbox':
      return { table, source: numberOf(key), stamp: from.whole() } satisfies InboxRow;
  }
}

/** In a byte: nothing was set of it, it was taken away, or what follows was set. */
const LIMIT_IS = { unset: 0, none: 1, set: 2 } as const;

function writeLimits(to: ByteWriter, { queue, rate, maxInFlight }: LimitsRow): void {
  to.text(queue);
  to.byte(limitByte(rate));
  if (typeof rate === 'object') {
    to.number(rate.perSecond);
    to.number(rate.burst);
  }
  to.byte(limitByte(maxInFlight));
  if (typeof maxInFlight === 'number') to.whole(maxInFlight);
}

function limitByte(limit: unknown): number {
  return limit === undefined ? LIMIT_IS.unset : limit === 'none' ? LIMIT_IS.none : LIMIT_IS.set;
}

function readLimits(from: ByteReader): LimitsRow {
  const queue = from.text();
  const rate = readLimit(from, () => ({ perSecond: from.number(), burst: from.number() }));
  const maxInFlight = readLimit(from, () => from.whole());
  return { table: 'limits', queue, rate, maxInFlight };
}

function readLimit<T>(from: ByteReader, read: () => T): T | 'none' | undefined {
  const is = from.byte();
  if (is === LIMIT_IS.unset) return undefined;
  if (is === LIMIT_IS.none) return 'none';
  if (is === LIMIT_IS.set) return read();
  throw new NotAValue(`${is} where a limit is unset, none or set`);
}

/** `diedOfCrashes` stands beside the cause max_attempts: a version that does not know it reads that. */
const PROGRESS_IS = {
  takesRoom: 1,
  dependencyFailed: 2,
  far: 4,
  destination: 8,
  crashes: 16,
  diedOfCrashes: 32,
} as const;

function writeProgress(to: ByteWriter, row: ProgressRow): void {
  to.whole(row.attempts);
  to.number(row.notBefore);
  const isFar = row.after !== undefined && hasFar(row.after);
  to.byte(
    (row.takesRoom ? PROGRESS_IS.takesRoom : 0) |
      (row.dependencyFailed ? PROGRESS_IS.dependencyFailed : 0) |
      (isFar ? PROGRESS_IS.far : 0) |
      (row.dead?.destination === undefined ? 0 : PROGRESS_IS.destination) |
      (row.crashes === 0 ? 0 : PROGRESS_IS.crashes) |
      (row.dead?.cause === 'max_crashes' ? PROGRESS_IS.diedOfCrashes : 0),
  );
  to.number(row.rank);
  writeOptional(to, row.lastError, to.text);
  writeOptional(to, row.after, isFar ? writeLeftFar : writeLeft);
  writeOptional(to, row.dead, writeDeath);
  if (row.crashes > 0) to.whole(row.crashes);
}

function writeLeft(this: ByteWriter, refs: readonly AfterRef[]): void {
  writeRefs(this, refs);
}

function writeLeftFar(this: ByteWriter, refs: readonly AfterRef[]): void {
  writeRefs(this, refs);
  writeFar(this, refs);
}

function readLeftFar(this: ByteReader): readonly AfterRef[] {
  return readFar(this, readRefs(this));
}

function readLeft(this: ByteReader): readonly AfterRef[] {
  return readRefs(this);
}

function writeDeath(this: ByteWriter, { cause, at, destination }: NonNullable<ProgressRow['dead']>): void {
  this.byte(DEATH_CAUSES.number(cause === 'max_crashes' ? 'max_attempts' : cause));
  this.number(at);
  if (destination === undefined) return;
  this.text(destination.queue);
  this.text(destination.itemId);
  this.whole(destination.target);
}

function readProgress(from: ByteReader, seq: number): ProgressRow {
  const attempts = from.whole();
  const notBefore = from.number();
  const is = from.byte();
  const row = {
    table: 'progress',
    seq,
    attempts,
    notBefore,
    takesRoom: (is & PROGRESS_IS.takesRoom) !== 0,
    dependencyFailed: (is & PROGRESS_IS.dependencyFailed) !== 0,
    rank: from.number(),
    lastError: readOptional(from, from.text),
    after: readOptional(from, (is & PROGRESS_IS.far) === 0 ? readLeft : readLeftFar),
    dead: readOptional(from, (is & PROGRESS_IS.destination) === 0 ? readDeath : readDeathOfFollowUp),
    // Behind all the rest: rows without are as they were.
    crashes: (is & PROGRESS_IS.crashes) === 0 ? 0 : from.whole(),
  } satisfies ProgressRow;
  if (row.dead === undefined || (is & PROGRESS_IS.diedOfCrashes) === 0) return row;
  return { ...row, dead: { ...row.dead, cause: 'max_crashes' } };
}

function readDeath(this: ByteReader): NonNullable<ProgressRow['dead']> {
  return { cause: DEATH_CAUSES.word(this.byte()), at: this.number() };
}

function readDeathOfFollowUp(this: ByteReader): NonNullable<ProgressRow['dead']> {
  const dead = readDeath.call(this);
  return { ...dead, destination: { queue: this.text(), itemId: this.text(), target: this.whole() } };
}

function readDoneKey(from: ByteReader): DoneKeyRow {
  return {
    table: 'keys',
    queue: from.queue(),
    key: from.text(),
    idempotencyKey: from.text(),
    result: readOptional(from, from.bytes),
    until: from.number(),
  };
}

function readPark(from: ByteReader): ParkRow {
  return {
    table: 'parks',
    queue: from.queue(),
    key: from.text(),
    lane: readOptional(from, from.whole),
    since: from.number(),
    because: PARK_CAUSES.word(from.byte()),
    itemId: from.text(),
  };
}
