/** Directories whose names outlive a power cut. */
import { constants } from 'node:fs';
import { mkdir, open } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import process from 'node:process';

/**
 * Makes the directory, with those that it stands in. The name of each one that was made is synced in its parent: else all of
 * the spool is gone after a power cut, whatever was synced inside.
 */
export async function makeDirectory(directory: string, sync = syncDirectory): Promise<void> {
  const first = await mkdir(directory, { recursive: true, mode: 0o700 });
  if (first === undefined) return;
  const above = dirname(resolve(first));
  for (let made = resolve(directory); made !== above; made = dirname(made)) await sync(dirname(made));
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
