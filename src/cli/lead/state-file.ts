import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** What a hand-over may leave, bytes. */
const LARGEST = 65_536;

/** The file in which a command finds what its predecessor left, and leaves what its successor is given. */
export class StateFile {
  private constructor(
    readonly path: string,
    private readonly directory: string,
  ) {}

  static async make(): Promise<StateFile> {
    const directory = await mkdtemp(join(tmpdir(), 'keyturn-lead-'));
    return new StateFile(join(directory, 'state'), directory);
  }

  async put(state: Uint8Array): Promise<void> {
    await writeFile(this.path, state, { mode: 0o600 });
  }

  /** @throws Error when it is too large, or cannot be read */
  async take(): Promise<Uint8Array> {
    const { size } = await stat(this.path);
    if (size > LARGEST) throw new Error(`${this.path} has ${size} bytes; a state has up to ${LARGEST}`);
    return readFile(this.path);
  }

  remove(): Promise<void> {
    return rm(this.directory, { recursive: true, force: true });
  }
}
