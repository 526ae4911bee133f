/** Directories on a disk: what is flushed to memory costs nothing. */
import { rmSync } from 'node:fs';
import { mkdtemp, rm, stat, statfs } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** As `statfs` says that a file system is in memory (Linux: tmpfs, ramfs). */
const IN_MEMORY: ReadonlySet<number> = new Set([0x0102_1994, 0x8584_58f6]);

/** The first that is on a disk: people have their temporary files in memory. */
const PLACES = [tmpdir(), '/var/tmp', process.cwd()];

export interface DataDirectory {
  readonly path: string;
  /** Size of the data file, bytes. */
  size(): Promise<number>;
  remove(): Promise<void>;
}

/** A new one. It is gone with this process, if not before. */
export async function makeDataDirectory(): Promise<DataDirectory> {
  const path = await mkdtemp(join(await placeOnDisk(), 'keyturn-bench-data-'));
  const atExit = () => rmSync(path, { recursive: true, force: true });
  process.once('exit', atExit);
  return {
    path,
    size: async () => (await stat(join(path, 'data.mdb'))).size,
    remove: async () => {
      process.off('exit', atExit);
      await rm(path, { recursive: true });
    },
  };
}

async function placeOnDisk(): Promise<string> {
  for (const place of PLACES) {
    const is = await statfs(place).catch(() => undefined);
    if (is !== undefined && !IN_MEMORY.has(is.type)) return place;
  }
  throw new Error(`no directory on a disk: ${PLACES.join(', ')} are in memory, or not there`);
}
