/** Input that is read more than once has to be a regular file: what comes by a pipe is gone when it was read. */
import { createReadStream } from 'node:fs';
import { type FileHandle, mkdtemp, open, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { EXIT } from './exit-codes.js';
import { CommandFailure } from './failure.js';
import { plain } from './output.js';
import { inputFailure } from './replay/lines.js';

/** Opens the bytes of an input from their beginning, as often as they are asked for. */
export type Reopen = () => AsyncIterable<Buffer>;

/**
 * Hands the bytes of `file` to `use`: those of a regular file as they stand, and a copy of what comes by a pipe, a
 * device, or standard input (`-`). The copy has no name as soon as it is open: nobody else can read it, and nothing is
 * left of it however this process ends.
 *
 * @throws CommandFailure when it cannot be read, or not be copied
 */
export async function withRegularFile<T>(file: string, use: (reopen: Reopen) => Promise<T>): Promise<T> {
  if (file !== '-' && (await isRegular(file))) return use(() => createReadStream(file));
  const copy = await openNameless();
  try {
    await copyTo(copy, file === '-' ? process.stdin : createReadStream(file), file);
    return await use(() => bytesOf(copy));
  } finally {
    await copy.close();
  }
}

async function isRegular(file: string): Promise<boolean> {
  try {
    return (await stat(file)).isFile();
  } catch (error) {
    throw inputFailure(file, error);
  }
}

async function openNameless(): Promise<FileHandle> {
  const folder = await mkdtemp(join(tmpdir(), 'keyturn-')).catch(failCopy);
  try {
    return await open(join(folder, 'input'), 'wx+', 0o600);
  } finally {
    await rm(folder, { recursive: true });
  }
}

const SLICE = 65_536;

async function* bytesOf(copy: FileHandle): AsyncGenerator<Buffer, void> {
  for (let position = 0; ; ) {
    const { bytesRead, buffer } = await copy.read(Buffer.allocUnsafe(SLICE), 0, SLICE, position);
    if (bytesRead === 0) return;
    position += bytesRead;
    yield buffer.subarray(0, bytesRead);
  }
}

async function copyTo(copy: FileHandle, input: Readable, file: string): Promise<void> {
  try {
    await pipeline(input, async (chunks: AsyncIterable<Buffer>) => {
      for await (const chunk of chunks) await copy.writeFile(chunk).catch(failCopy);
    });
  } catch (error) {
    throw error instanceof CommandFailure ? error : inputFailure(file, error);
  }
}

function failCopy(error: unknown): never {
  const why = error instanceof Error ? error.message : String(error);
  throw new CommandFailure(`no copy of the input could be kept in ${plain(tmpdir())} (TMPDIR): ${why}`, EXIT.failure);
}
