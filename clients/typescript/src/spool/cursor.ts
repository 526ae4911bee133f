/**
 * How far the oldest segment was handed over. It saves work, it is not needed: where it is missing or cut off, the segment
 * is handed over from its start, and the sidecar knows the items again by their ids. So it is never synced.
 */
import { Buffer } from 'node:buffer';
import { type FileHandle, open, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { encodeRecord, recordAt } from './record.js';

export interface Position {
  readonly segment: number;
  readonly offset: number;
}

const SEGMENT_AT = 0;
const OFFSET_AT = 8;
const SIZE = 16;

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

  close(): Promise<void> {
    return this.handle.close();
  }
}

function decode(bytes: Buffer): Position | undefined {
  const body = recordAt(bytes, 0);
  if (body === undefined || body.length !== SIZE) return undefined;
  return { segment: body.readDoubleLE(SEGMENT_AT), offset: body.readDoubleLE(OFFSET_AT) };
}
