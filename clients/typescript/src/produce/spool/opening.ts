/** What a spool's directory has when a process takes it over. */
import { open, readdir, readFile, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { Cursor } from './cursor.js';
import { makeDirectory } from './directory.js';
import { DirectoryLock } from './directory-lock.js';
import { type Sealed, scanSegment, segmentNumber } from './segment.js';
import { SpoolError } from './spool-error.js';

export interface Found {
  readonly lock: DirectoryLock;
  readonly cursor: Cursor;
  /** Oldest first; each has items. */
  readonly segments: readonly Sealed[];
  /** From where the oldest is read. */
  readonly offset: number;
  /** Higher than that of every segment that is there or was noted. */
  readonly nextNumber: number;
  /** How many items are left. */
  readonly items: number;
  /** What was cut away from the last segment. */
  readonly torn: SpoolError | undefined;
}

/** @throws SpoolError; nothing was changed then */
export async function openDirectory(directory: string, queue: string): Promise<Found> {
  try {
    await makeDirectory(directory);
  } catch (error) {
    throw new SpoolError('io', directory, 'cannot be made', error);
  }
  const lock = await DirectoryLock.take(directory);
  try {
    return { lock, ...(await look(directory, queue)) };
  } catch (error) {
    await lock.release();
    throw error instanceof SpoolError ? error : new SpoolError('io', directory, 'cannot be read', error);
  }
}

interface Segment extends Sealed {
  readonly starts: readonly number[];
  readonly torn: number;
}

async function look(directory: string, queue: string): Promise<Omit<Found, 'lock'>> {
  const names = (await readdir(directory)).filter((name) => segmentNumber(name) !== undefined).sort();
  const all: Segment[] = [];
  for (const [at, name] of names.entries()) {
    all.push(await read(join(directory, name), queue, at === names.length - 1));
  }
  // All of them are looked at before any is changed.
  const torn = await mend(all.at(-1));
  const segments = await withoutEmpty(all);
  const { cursor, position } = await Cursor.open(directory);
  const done = segments[0] === undefined ? 0 : doneOf(segments[0], position);
  const [first] = segments;
  const items = segments.reduce((sum, segment) => sum + segment.items, 0) - done;
  const offset = first?.starts[done] ?? 0;
  // Where each record begins is not kept: it would be the largest thing in memory.
  const sealed = segments.map(({ number, path, bytes, items: count }) => ({ number, path, bytes, items: count }));
  const nextNumber = 1 + Math.max(0, position?.segment ?? 0, ...all.map(({ number }) => number));
  return { cursor, segments: sealed, offset, nextNumber, items, torn };
}

async function read(path: string, queue: string, isLast: boolean): Promise<Segment> {
  const bytes = await readFile(path);
  const { starts, torn } = scanSegment(path, bytes, queue, isLast);
  const items = Math.max(0, starts.length - 1);
  return { number: segmentNumber(path) ?? 0, path, bytes: bytes.length - torn, items, starts, torn };
}

async function mend(last: Segment | undefined): Promise<SpoolError | undefined> {
  if (last === undefined || last.torn === 0) return undefined;
  const file = await open(last.path, 'r+');
  try {
    await file.truncate(last.bytes);
    // What was cut away must not come back in front of later segments.
    await file.sync();
  } finally {
    await file.close();
  }
  return new SpoolError('torn', last.path, `${last.torn} bytes of a record that was never confirmed were cut away`);
}

async function withoutEmpty(all: readonly Segment[]): Promise<Segment[]> {
  const segments: Segment[] = [];
  for (const segment of all) {
    if (segment.items > 0) segments.push(segment);
    else await unlink(segment.path);
  }
  return segments;
}

/** How many items of a segment were handed over. */
function doneOf(
  { number, starts, items }: Segment,
  position: { readonly segment: number; readonly offset: number } | undefined,
): number {
  const at = position?.segment === number ? starts.indexOf(position.offset) : 0;
  return Math.min(Math.max(0, at), items);
}
