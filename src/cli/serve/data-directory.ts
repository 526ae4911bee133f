/** The directory of durable queues: opened before anything listens, so that what is wrong with it is said at once. */
import type { Config } from '../../config/config.js';
import { MemoryShortError, StrandedError } from '../../local/durable/recovery.js';
import { type Journal, JournalError, type JournalProblem } from '../../local/journal/journal.js';
import { EXIT } from '../exit-codes.js';
import { CommandFailure } from '../failure.js';

/** Unset: there is none, and nothing is durable. @throws CommandFailure */
export async function openDataDirectory({ server: { dataDir } }: Config): Promise<Journal | undefined> {
  if (dataDir === undefined) return undefined;
  // Only here: without a directory the library need not be there.
  const { openJournal } = await import('../../local/journal/lmdb/lmdb-journal.js');
  return openJournal(dataDir).catch(failData);
}

/** What is wrong with the data is for people to put right: one message, without a stack. */
export function failData(error: unknown): never {
  if (error instanceof MemoryShortError) throw new CommandFailure(`data_dir: ${error.message}`, EXIT.failure);
  if (!(error instanceof JournalError || error instanceof StrandedError)) throw error;
  throw new CommandFailure(`data_dir: ${error.message}`, isSetting(error) ? EXIT.usage : EXIT.failure);
}

/** Another value of a setting would help. Else the data or the device has to be looked after. */
function isSetting(error: JournalError | StrandedError): boolean {
  return error instanceof StrandedError || SETTINGS.has(error.problem);
}

const SETTINGS: ReadonlySet<JournalProblem> = new Set(['no_directory', 'not_writable']);
