import { constants } from 'node:fs';
import { type FileHandle, mkdtemp, open, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

/** What a hand-over may leave, bytes. */
const LARGEST = 65_536;

/** The file in which a command finds what its predecessor left, and leaves what its successor is given. */
export class StateFile {
  private constructor(public path: string) {}

  /** @throws Error when there is no room for one */
  static async make(): Promise<StateFile> {
    return new StateFile(await newPath());
  }

  /**
   * In a folder of its own for each term: who stands may do so for weeks, and folders that nobody touches are swept away; and
   * what the command of the term before made of its file is none of this one's.
   *
   * @throws Error when it cannot be written
   */
  async put(state: Uint8Array): Promise<void> {
    await this.remove();
    this.path = await newPath();
    await writeFile(this.path, state, { mode: 0o600 });
  }

  /** @throws Error when it is too large, is no file, or cannot be read */
  async take(): Promise<Uint8Array> {
    // A pipe would be waited for.
    const file = await open(this.path, constants.O_RDONLY | constants.O_NONBLOCK);
    try {
      const about = await file.stat();
      if (!about.isFile()) throw new Error(`${this.path} is no file any more`);
      if (about.size > LARGEST) throw new Error(`${this.path} has ${about.size} bytes; a state has up to ${LARGEST}`);
      return await readUpTo(file, about.size);
    } finally {
      await file.close();
    }
  }

  remove(): Promise<void> {
    return rm(dirname(this.path), { recursive: true, force: true });
  }
}

async function newPath(): Promise<string> {
  return join(await mkdtemp(join(tmpdir(), 'keyturn-lead-')), 'state');
}

/** It may grow, or shrink, while it is read. */
async function readUpTo(file: FileHandle, size: number): Promise<Uint8Array> {
  const bytes = new Uint8Array(size);
  let length = 0;
  for (;;) {
    const { bytesRead } = await file.read(bytes, length, size - length);
    length += bytesRead;
    if (bytesRead === 0) return bytes.subarray(0, length);
  }
}
