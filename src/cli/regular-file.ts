/** Input that is read more than once has to be a regular file: what comes by a pipe is gone when it was read. */
import { createReadStream, createWriteStream } from 'node:fs';
import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { EXIT } from './exit-codes.js';
import { CommandFailure } from './failure.js';
import { inputFailure } from './replay/lines.js';

/**
 * Hands a regular file with the bytes of `file` to `use`: the file itself, or a copy of what came by a pipe, a device,
 * or standard input (`-`), for as long as `use` takes. Only this user can read the copy.
 *
 * @throws CommandFailure when it cannot be read, or not be copied
 */
export async function withRegularFile<T>(file: string, use: (path: string) => Promise<T>): Promise<T> {
  if (file !== '-' && (await isRegular(file))) return use(file);
  const folder = await mkdtemp(join(tmpdir(), 'keyturn-'));
  try {
    const copy = join(folder, 'input');
    await copyTo(copy, file === '-' ? process.stdin : createReadStream(file), file);
    return await use(copy);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function isRegular(file: string): Promise<boolean> {
  try {
    return (await stat(file)).isFile();
  } catch (error) {
    throw inputFailure(file, error);
  }
}

async function copyTo(copy: string, input: Readable, file: string): Promise<void> {
  try {
    await pipeline(input, createWriteStream(copy, { flags: 'wx', mode: 0o600 }));
  } catch (error) {
    if (!(error instanceof Error && 'syscall' in error)) throw error;
    if (error.syscall !== 'write' && error.syscall !== 'open') throw inputFailure(file, error);
    throw new CommandFailure(
      `no copy of ${file} could be kept in ${tmpdir()} (TMPDIR): ${error.message}`,
      EXIT.failure,
    );
  }
}
