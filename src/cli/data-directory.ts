import { Option } from 'commander';
import { JournalError } from '../local/journal/journal.js';
import { DataReader } from '../local/journal/lmdb/data-reader.js';
import { StopSignals } from './action.js';
import { EXIT } from './exit-codes.js';
import { CommandFailure } from './failure.js';
import { text } from './options.js';

export interface DataDirectoryOptions {
  readonly dataDir: string;
}

export function dataDirectoryOption(): Option {
  return new Option('--data-dir <directory>', 'the data directory')
    .env('KEYTURN_DATA_DIR')
    .argParser(text)
    .makeOptionMandatory();
}

/**
 * Opens a data directory, and closes it when the work is done, or when a signal ends the command: as long as it is open a
 * sidecar uses no page again that it frees. What is wrong with it is told to people.
 */
export async function withData<T>(
  { dataDir }: DataDirectoryOptions,
  work: (reader: DataReader) => Promise<T>,
  badPage?: (why: string) => void,
): Promise<T> {
  return toldToPeople(async () => {
    const reader = await DataReader.open(dataDir, badPage);
    const signals: StopSignals = new StopSignals(() => {
      reader.abandon();
      process.exit(signals.exitCode);
    });
    try {
      return await work(reader);
    } finally {
      signals.release();
      await reader.close();
    }
  });
}

export async function toldToPeople<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw error instanceof JournalError ? new CommandFailure(error.message, EXIT.failure) : error;
  }
}
