/** The segment that is written to: appends one after another, made safe together. */
import type { Buffer } from 'node:buffer';
import { constants } from 'node:fs';
import { type FileHandle, open, unlink } from 'node:fs/promises';
import { dirname } from 'node:path';
import { syncDirectory } from './directory.js';

export class AppendFile {
  /** Up to where everything is whole. */
  size = 0;
  items = 0;

  private constructor(
    readonly number: number,
    readonly path: string,
    readonly handle: FileHandle,
  ) {}

  /** Makes the file, and its name safe. */
  static async create(number: number, path: string, title: Buffer): Promise<AppendFile> {
    const { O_CREAT, O_EXCL, O_WRONLY } = constants;
    const file = new AppendFile(number, path, await open(path, O_CREAT | O_EXCL | O_WRONLY, 0o600));
    try {
      await file.append(title, 0);
      await file.sync();
      await syncDirectory(dirname(path));
      return file;
    } catch (error) {
      // Half a title in front of later segments would be damage.
      await file.close().catch(() => undefined);
      await unlink(path).catch(() => undefined);
      throw error;
    }
  }

  async append(bytes: Buffer, items: number): Promise<void> {
    for (let done = 0; done < bytes.length; ) {
      const { bytesWritten } = await this.handle.write(bytes, done, bytes.length - done, this.size + done);
      done += bytesWritten;
    }
    this.size += bytes.length;
    this.items += items;
  }

  sync(): Promise<void> {
    return this.handle.datasync();
  }

  /** Cuts away what an append left that failed, for good: with segments after it, it would be damage. */
  async mend(): Promise<void> {
    await this.handle.truncate(this.size);
    await this.handle.sync();
  }

  close(): Promise<void> {
    return this.handle.close();
  }
}
