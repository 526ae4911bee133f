/** Segments: files of records that are only appended to. The first record says whose items follow. */
import { Buffer } from 'node:buffer';
import { basename, join } from 'node:path';
import { encodeRecord, hasRecordAfter, RECORD_HEADER, recordAt } from './record.js';
import { SpoolError } from './spool-error.js';

const VERSION = 1;
const NAME = /^(\d{10})\.spool$/;

/** A segment that is not written to any more. */
export interface Sealed {
  readonly number: number;
  readonly path: string;
  /** Up to where it is read. */
  readonly bytes: number;
  readonly items: number;
}

export function segmentPath(directory: string, number: number): string {
  return join(directory, `${String(number).padStart(10, '0')}.spool`);
}

/** @returns undefined when the file is no segment */
export function segmentNumber(path: string): number | undefined {
  const found = NAME.exec(basename(path))?.[1];
  return found === undefined ? undefined : Number(found);
}

export function encodeTitle(queue: string): Buffer {
  return encodeRecord(Buffer.from(JSON.stringify({ spool: VERSION, queue })));
}

/** @throws SpoolError when the items are not this queue's, or of a version that we do not know */
function checkTitle(path: string, title: Buffer, queue: string): void {
  const value: unknown = JSON.parse(title.toString());
  if (typeof value !== 'object' || value === null || !('spool' in value) || !('queue' in value)) {
    throw new SpoolError('damaged', path, 'its first record is not that of a spool');
  }
  if (value.spool !== VERSION) {
    throw new SpoolError('damaged', path, `it is of version ${String(value.spool)}; version ${VERSION} is known here`);
  }
  if (value.queue !== queue) {
    const what = `it has items of queue ${String(value.queue)}, this producer is for ${queue}; each needs a directory of its own`;
    throw new SpoolError('other_queue', path, what);
  }
}

interface Scan {
  /** Where each item's record begins, and in the end where the last one ends. */
  readonly starts: readonly number[];
  /** How many bytes after the last record are of one that was cut off. */
  readonly torn: number;
}

/**
 * Reads through a segment. A record that is cut off at the end is what a process leaves behind that is killed; anything else
 * that cannot be read is damage, and is never skipped.
 *
 * @param isLast only the segment that was written last can have been cut off
 * @throws SpoolError
 */
export function scanSegment(path: string, bytes: Buffer, queue: string, isLast: boolean): Scan {
  const title = recordAt(bytes, 0);
  if (title !== undefined) checkTitle(path, title, queue);
  let offset = title === undefined ? 0 : RECORD_HEADER + title.length;
  const starts: number[] = title === undefined ? [] : [offset];
  for (let body = title && recordAt(bytes, offset); body !== undefined; body = recordAt(bytes, offset)) {
    offset += RECORD_HEADER + body.length;
    starts.push(offset);
  }
  const torn = bytes.length - offset;
  if (torn > 0 && (!isLast || hasRecordAfter(bytes, offset + 1))) {
    const what = `damaged at byte ${offset} of ${bytes.length}; nothing of it was used. Move the file away, or mend it`;
    throw new SpoolError('damaged', path, what);
  }
  return { starts, torn };
}
