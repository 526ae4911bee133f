/** The directory of a journal: made when it is not there, and never taken for a new one when it is not. */
import { access, constants, mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { accessError, directoryError, journalError } from '../failures.js';
import { ABOUT, DATA_FILE, FORMAT, LIBRARY_LOCK_FILE, openTables } from './tables.js';

/** Where a new data file is made; what a crash left of one before is removed. */
const NURSERY = 'data.new';

/** @throws JournalError */
export async function makeDirectory(directory: string): Promise<void> {
  try {
    const made = await makeAll(resolve(directory));
    // The name of a directory is on the disk when the directory that it stands in is.
    if (made !== undefined) await flush(dirname(made));
    await access(directory, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (error) {
    throw directoryError(directory, error);
  }
}

/**
 * Makes a directory and those above it. Not by `recursive`: where none can be made, as below `/proc`, Node tries for
 * ever.
 *
 * @returns the topmost that was made; unset: it was there
 */
async function makeAll(path: string): Promise<string | undefined> {
  if (await isDirectory(path)) return undefined;
  const parent = dirname(path);
  const made = parent === path ? undefined : await makeAll(parent);
  try {
    await mkdir(path, { mode: 0o700 });
    return made ?? path;
  } catch (error) {
    // Another process made it meanwhile.
    if (await isDirectory(path)) return made;
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

/** True: there is a data file. @throws JournalError where one should be and is not */
export async function hasData(directory: string): Promise<boolean> {
  let names: readonly string[];
  try {
    names = await readdir(directory);
  } catch (error) {
    throw directoryError(directory, error);
  }
  if (names.includes(DATA_FILE)) return true;
  if (names.includes(LIBRARY_LOCK_FILE)) {
    throw journalError(
      'damaged',
      `${join(directory, DATA_FILE)} is missing, and ${LIBRARY_LOCK_FILE} says it was there`,
    );
  }
  return false;
}

/**
 * Makes an empty data file. It gets its name when it is whole and on the disk, so that no crash leaves one that is
 * empty by accident. The directory is locked.
 *
 * @throws JournalError
 */
export async function createData(directory: string): Promise<void> {
  const nursery = join(directory, NURSERY);
  try {
    await rm(nursery, { recursive: true, force: true });
    await mkdir(nursery, { mode: 0o700 });
    const { root } = await openTables(nursery, 'create');
    try {
      await root.put(ABOUT.format, FORMAT);
    } finally {
      await root.close();
    }
    await rename(join(nursery, DATA_FILE), join(directory, DATA_FILE));
    await flush(directory);
    await rm(nursery, { recursive: true, force: true });
  } catch (error) {
    throw accessError('making a data file in', directory, error);
  }
}

/** A directory too: that the names in it are on the disk. */
export async function flush(path: string): Promise<void> {
  const file = await open(path, 'r');
  try {
    await file.sync();
  } finally {
    await file.close();
  }
}
