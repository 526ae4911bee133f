/** Errors of the library and of the system as errors of the journal: what is wrong with which file, and what to do. */
import { statfs } from 'node:fs/promises';
import { JournalError, type LocalProblem } from './journal.js';

/** By number, as the library has them, and by name, as Node has them. */
const FULL: ReadonlySet<unknown> = new Set(['ENOSPC', 'EDQUOT', 'EFBIG', 28, 122, 27]);
const FORBIDDEN: ReadonlySet<unknown> = new Set(['EACCES', 'EPERM', 'EROFS', 13, 1, 30]);
/** No such file, not a directory, a loop of links, a name that is too long. */
const NOWHERE: ReadonlySet<unknown> = new Set(['ENOENT', 'ENOTDIR', 'EEXIST', 'ELOOP', 'ENAMETOOLONG']);
/** Page not found, corrupted, not a file of the library, another version of it. */
const DAMAGED: ReadonlySet<unknown> = new Set([-30797, -30796, -30793, -30794]);

const TO_DO: Readonly<Record<LocalProblem, string>> = {
  full: 'make room on that device (or raise the limit of file size or quota); it goes on by itself then',
  io: 'look at the device and the kernel log; what was answered is on the disk',
  damaged: 'run "keyturn data check" on a copy, and restore a backup; the file was left as it is',
  newer_format: 'start the version of keyturn that wrote it, or a newer one',
  in_use: 'stop that process, or give this one a directory of its own',
  not_writable: 'give the user that runs keyturn the right to read and write there',
  no_directory: 'name a directory: --data-dir, KEYTURN_DATA_DIR or data_dir',
  no_data: 'name the directory that data_dir of the sidecar names, or look whether a durable queue was ever used',
  fenced: 'there is nothing to do: another member of the cluster is the home of this partition now',
};

export function journalError(problem: LocalProblem, what: string, cause?: unknown): JournalError {
  return new JournalError(problem, `${what}; ${TO_DO[problem]}`, cause === undefined ? {} : { cause });
}

/** Free room below which an error of writing is taken for a full device, bytes. */
const NEARLY_NOTHING = 1_048_576;

/**
 * The library tells a write that was cut off, as it is when a device runs full, as an error of input and output. So the
 * device is asked.
 *
 * @param bytes of the batch
 */
export async function writeError(file: string, error: unknown, bytes: number): Promise<JournalError> {
  const { code, message } = await causeOf(error);
  const problem = problemOf(code);
  if (problem === 'full' || (problem === 'io' && (await isFull(file, bytes)))) {
    return journalError('full', `no room to write ${file}`, error);
  }
  return journalError(problem, `writing ${file} failed: ${message}`, error);
}

/** For what fails at once: opening, reading. */
export function accessError(doing: string, file: string, error: unknown): JournalError {
  if (error instanceof JournalError) return error;
  const { code, message } = plain(error);
  return journalError(problemOf(code), `${doing} ${file} failed: ${message}`, error);
}

/** For what a setting or an option names as a directory. */
export function directoryError(directory: string, error: unknown): JournalError {
  if (error instanceof JournalError) return error;
  const { code } = plain(error);
  if (!NOWHERE.has(code)) return accessError('using the directory', directory, error);
  const what =
    code === 'ENOENT'
      ? 'does not exist'
      : code === 'ELOOP' || code === 'ENAMETOOLONG'
        ? 'is no usable path'
        : 'is no directory, or stands below something that is none';
  return journalError('no_directory', `${directory} ${what}`, error);
}

function problemOf(code: unknown): LocalProblem {
  if (FULL.has(code)) return 'full';
  if (FORBIDDEN.has(code)) return 'not_writable';
  return DAMAGED.has(code) ? 'damaged' : 'io';
}

async function isFull(file: string, bytes: number): Promise<boolean> {
  try {
    const { bavail, bsize } = await statfs(file);
    return bavail * bsize < NEARLY_NOTHING + 2 * bytes;
  } catch {
    // Then it is no question of room.
    return false;
  }
}

interface Plain {
  readonly code: unknown;
  readonly message: string;
}

/** A rejected commit says only that it was; the reason is what the promise rejects with that it carries. */
async function causeOf(error: unknown): Promise<Plain> {
  if (typeof error !== 'object' || error === null || !('commitError' in error)) return plain(error);
  try {
    await error.commitError;
  } catch (cause) {
    return plain(cause);
  }
  return plain(error);
}

function plain(error: unknown): Plain {
  if (!(error instanceof Error)) return { code: undefined, message: String(error) };
  return { code: 'code' in error ? error.code : undefined, message: error.message };
}
