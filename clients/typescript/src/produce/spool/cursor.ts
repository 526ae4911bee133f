/**
 * How far the oldest segment was handed over, and the highest number of a segment that is gone. It saves work, it is not
 * needed: where it is missing or cut off, the segment is handed over from its start, and the sidecar knows the items again by
 * their ids. So it is never synced. But it must never be taken for the cursor of another segment: what that one has before
 * the place would be lost. So no number is used again while the cursor has one, and the place must be the start of a record.
 */
import { Buffer } from 'node:buffer';
import { type FileHandle, open, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { encodeRecord, recordAt } from './record.js';

interface Position {
  readonly segment: number;
  readonly offset: number;
}

const SEGMENT_AT = 0;
const OFFSET_AT = 8;
const SIZE = 16;
/** No record begins here: the first one stands before every item. */
const DONE = 0;

export class Cursor {
  private constructor(readonly handle: FileHandle) {}

  static async open(directory: string): Promise<{ readonly cursor: Cursor; readonly position: Position | undefined }> {
    const path = join(directory, 'cursor');
    const handle = await open(path, 'a+').then(async (made) => {
      await made.close();
      return open(path, 'r+');
    });
    return { cursor: new Cursor(handle), position: decode(await readFile(path)) };
  }

  async write({ segment, offset }: Position): Promise<void> {
    const body = Buffer.alloc(SIZE);
    body.writeDoubleLE(segment, SEGMENT_AT);
    body.writeDoubleLE(offset, OFFSET_AT);
    const record = encodeRecord(body);
    await this.handle.write(record, 0, record.length, 0);
  }

  /** The segment is done, and about to be removed. Its number stays: the next one has a higher one. */
  forget(segment: number): Promise<void> {
    return this.write({ segment, offset: DONE });
  }

  close(): Promise<void> {
    return this.handle.close();
  }
}

function decode(bytes: Buffer): Position | undefined {
  const body = recordAt(bytes, 0);
  if (body === undefined || body.length !== SIZE) return undefined;
  return { segment: body.readDoubleLE(SEGMENT_AT), offset: body.readDoubleLE(OFFSET_AT) };
}
