/** Items on the disk. A small content stands in the row of its item, behind what the start reads; a large one has its own. */
import type { AfterRef, Content, EndRow, FinishedRow, ItemRef, ItemRow } from '../../../core/contract/rows.js';
import { type ByteReader, NotAValue } from './byte-reader.js';
import type { ByteWriter } from './byte-writer.js';
import { FINISHED_STATES } from './words.js';

const OPEN = 1;
const FINISHED = 2;

const HAS = {
  idempotencyKey: 1,
  notBefore: 2,
  takesRoom: 4,
  after: 8,
  /** The content is a row of its own. */
  contentElsewhere: 16,
  /** Some of `after` are of other groups. Since format 2. */
  far: 32,
  /** Versions that do not know it pass it over: it stands last before the content. */
  principal: 64,
} as const;

const HAS_OF_FINISHED = { result: 1, error: 2, contentHash: 4 } as const;

/**
 * A larger content is a row of its own, so that a start need not go past it. (Two checksums in one row, so that a start
 * has not to look at small contents either, cost more than to look: a checksum costs its call, not its bytes.)
 */
export const LARGEST_CONTENT_INSIDE = 512;

/** Checksum, and length of what stands before the content. */
const PREFIX = 8;

/**
 * Writes an item with its content, or without it when that is large.
 *
 * @returns whether the content goes into a row of its own
 */
export function writeItem(to: ByteWriter, row: ItemRow, content: Content, seed: number): boolean {
  return write(to, row, content, seed, row.contentBytes > LARGEST_CONTENT_INSIDE);
}

/** Writes an item with its content, however large that is: for where items are read whole. */
export function writeWholeItem(to: ByteWriter, row: ItemRow, content: Content, seed: number): void {
  write(to, row, content, seed, false);
}

function write(to: ByteWriter, row: ItemRow, content: Content, seed: number, elsewhere: boolean): boolean {
  to.begin();
  to.skip(4);
  to.byte(OPEN);
  to.byte(
    (row.idempotencyKey === undefined ? 0 : HAS.idempotencyKey) |
      (row.notBefore === 0 ? 0 : HAS.notBefore) |
      (row.takesRoom ? HAS.takesRoom : 0) |
      (row.after.length === 0 ? 0 : HAS.after) |
      (elsewhere ? HAS.contentElsewhere : 0) |
      (hasFar(row.after) ? HAS.far : 0) |
      (row.principal === undefined ? 0 : HAS.principal),
  );
  to.number(row.contentHash);
  to.number(row.submittedAt);
  if (row.notBefore !== 0) to.number(row.notBefore);
  to.whole(row.contentBytes);
  to.text(row.queue);
  to.text(row.key);
  to.text(row.id);
  if (row.idempotencyKey !== undefined) to.text(row.idempotencyKey);
  if (row.after.length > 0) writeRefs(to, row.after);
  if (hasFar(row.after)) writeFar(to, row.after);
  if (row.principal !== undefined) to.text(row.principal);
  to.fixed(4, to.length - PREFIX);
  if (!elsewhere) writeContentFields(to, content);
  to.seal(seed);
  return elsewhere;
}

export function writeFinished(to: ByteWriter, row: FinishedRow, seed: number): void {
  to.begin();
  to.skip(4);
  to.byte(FINISHED);
  to.byte(
    (row.result === undefined ? 0 : HAS_OF_FINISHED.result) |
      (row.error === undefined ? 0 : HAS_OF_FINISHED.error) |
      (row.contentHash === undefined ? 0 : HAS_OF_FINISHED.contentHash),
  );
  to.byte(FINISHED_STATES.number(row.state));
  to.number(row.until);
  to.whole(row.attempt);
  to.text(row.queue);
  to.text(row.id);
  if (row.contentHash !== undefined) to.number(row.contentHash);
  if (row.error !== undefined) to.text(row.error);
  if (row.result !== undefined) to.bytes(row.result);
  to.seal(seed);
}

/**
 * As a finished item that is remembered until the instant 0, with how it ended in the place of its error: versions that
 * know nothing of it take it for one that is over, and delete it.
 */
export function writeEnd(to: ByteWriter, { table, seq, queue, id, end }: EndRow, seed: number): void {
  const state = end === 'done' || end === 'superseded' ? end : 'discarded';
  const nothing = { result: undefined, contentHash: undefined, attempt: 0, until: NO_INSTANT };
  writeFinished(to, { table, seq, queue, id, state, error: end, ...nothing }, seed);
}

const NO_INSTANT = 0;

/** A content as a row of its own. */
export function writeContent(to: ByteWriter, content: Content, seed: number): void {
  to.begin();
  writeContentFields(to, content);
  to.seal(seed);
}

/** @throws NotAValue */
export function readItem(from: ByteReader, seq: number, seed: number): ItemRow | FinishedRow | EndRow {
  from.check(seed);
  from.at = PREFIX;
  const tag = from.byte();
  if (tag === OPEN) return readOpen(from, seq);
  if (tag === FINISHED) return readFinished(from, seq);
  throw new NotAValue(`an item of the kind ${tag}`);
}

/** What {@link writeWholeItem} or {@link writeFinished} wrote. @throws NotAValue */
export function readWholeItem(from: ByteReader, seq: number, seed: number): ItemRow | FinishedRow | EndRow {
  const row = readItem(from, seq, seed);
  if (row.state !== 'open') return row;
  from.at = PREFIX + from.fixed(4);
  return { ...row, content: readContentFields(from) };
}

/** The content of a row that {@link writeItem} wrote; undefined: it is a row of its own. @throws NotAValue */
export function readContentInside(from: ByteReader, seed: number): Content | undefined {
  from.check(seed);
  const head = from.fixed(4);
  from.at = PREFIX;
  if (from.byte() !== OPEN) throw new NotAValue('an item that is finished, where one was to be handed out');
  if ((from.byte() & HAS.contentElsewhere) !== 0) return undefined;
  from.at = PREFIX + head;
  return readContentFields(from);
}

/** @throws NotAValue */
export function readContent(from: ByteReader, seed: number): Content {
  from.check(seed);
  return readContentFields(from);
}

export function writeContentFields(to: ByteWriter, { payload, headers }: Content): void {
  to.payload(payload);
  // One more than there are; 0: no headers.
  to.whole(headers === undefined ? 0 : headers.size + 1);
  for (const [name, value] of headers ?? []) {
    to.text(name);
    to.text(value);
  }
}

/** @throws NotAValue */
export function readContentFields(from: ByteReader): Content {
  const payload = from.bytes();
  const count = from.whole();
  if (count === 0) return { payload, headers: undefined };
  const headers = new Map<string, string>();
  for (let at = 1; at < count; at += 1) headers.set(from.text(), from.text());
  return { payload, headers };
}

export function writeRefs(to: ByteWriter, refs: readonly ItemRef[]): void {
  to.whole(refs.length);
  for (const { queue, itemId } of refs) {
    to.text(queue);
    to.text(itemId);
  }
}

/** @throws NotAValue */
export function readRefs(from: ByteReader): readonly ItemRef[] {
  const refs: ItemRef[] = [];
  for (let left = from.whole(); left > 0; left -= 1) refs.push({ queue: from.text(), itemId: from.text() });
  return refs;
}

export function hasFar(refs: readonly AfterRef[]): boolean {
  return refs.some(({ isFar }) => isFar === true);
}

/** Behind the refs themselves, and only where one is: rows without are as they were in format 1. */
export function writeFar(to: ByteWriter, refs: readonly AfterRef[]): void {
  for (const { isFar } of refs) to.byte(isFar === true ? 1 : 0);
}

/** @throws NotAValue */
export function readFar(from: ByteReader, refs: readonly AfterRef[]): readonly AfterRef[] {
  return refs.map((ref) => (from.byte() === 1 ? { ...ref, isFar: true } : ref));
}

const NO_REFS: readonly ItemRef[] = [];

function readOpen(from: ByteReader, seq: number): ItemRow {
  const has = from.byte();
  const contentHash = from.number();
  const submittedAt = from.number();
  const notBefore = (has & HAS.notBefore) === 0 ? 0 : from.number();
  const contentBytes = from.whole();
  const queue = from.queue();
  const key = from.text();
  const id = from.text();
  const idempotencyKey = (has & HAS.idempotencyKey) === 0 ? undefined : from.text();
  const refs = (has & HAS.after) === 0 ? NO_REFS : readRefs(from);
  const after = (has & HAS.far) === 0 ? refs : readFar(from, refs);
  const takesRoom = (has & HAS.takesRoom) !== 0;
  const row: ItemRow = {
    table: 'items',
    seq,
    state: 'open',
    queue,
    key,
    id,
    idempotencyKey,
    contentHash,
    submittedAt,
    notBefore,
    takesRoom,
    after,
    contentBytes,
    content: undefined,
  };
  return (has & HAS.principal) === 0 ? row : { ...row, principal: from.text() };
}

function readFinished(from: ByteReader, seq: number): FinishedRow | EndRow {
  const has = from.byte();
  const state = FINISHED_STATES.word(from.byte());
  const until = from.number();
  const attempt = from.whole();
  const queue = from.queue();
  const id = from.text();
  const contentHash = (has & HAS_OF_FINISHED.contentHash) === 0 ? undefined : from.number();
  const error = (has & HAS_OF_FINISHED.error) === 0 ? undefined : from.text();
  const result = (has & HAS_OF_FINISHED.result) === 0 ? undefined : from.bytes();
  if (until === NO_INSTANT) return { table: 'items', seq, state: 'ended', queue, id, end: endOf(error) };
  return { table: 'items', seq, state, queue, id, result, error, attempt, contentHash, until };
}

function endOf(error: string | undefined): EndRow['end'] {
  const end = ENDS.find((one) => one === error);
  if (end === undefined) throw new NotAValue(`an item that ended as ${JSON.stringify(error)}`);
  return end;
}

const ENDS = ['done', 'dead', 'superseded', 'discarded', 'declined'] as const satisfies readonly EndRow['end'][];
