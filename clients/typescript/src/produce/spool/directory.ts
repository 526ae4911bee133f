/** Directories whose names outlive a power cut. */
import { constants } from 'node:fs';
import { mkdir, open, stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import process from 'node:process';

/**
 * Makes the directory, with those that it stands in. The name of each one that was made is synced in its parent: else all of
 * the spool is gone after a power cut, whatever was synced inside.
 */
export async function makeDirectory(directory: string, sync = syncDirectory): Promise<void> {
  for (const made of await makeAll(resolve(directory))) await sync(dirname(made));
}

/**
 * Not by `recursive`: where none can be made, as below `/proc`, Node tries for ever.
 *
 * @returns those that were made, from the innermost
 */
async function makeAll(path: string): Promise<readonly string[]> {
  if (await isDirectory(path)) return [];
  const parent = dirname(path);
  const made = parent === path ? [] : await makeAll(parent);
  try {
    await mkdir(path, { mode: 0o700 });
    return [path, ...made];
  } catch (error) {
    // Another process made it meanwhile, and may not have synced its name yet.
    if (await isDirectory(path)) return [path, ...made];
    throw error;
  }
}

async function isDirectory(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isDirectory();
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return false;
    throw error;
  }
}

/** A name that is not on disk is not there after a power cut. Windows has no such call and needs none. */
export async function syncDirectory(directory: string): Promise<void> {
  if (process.platform === 'win32') return;
  const handle = await open(directory, constants.O_RDONLY);
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
