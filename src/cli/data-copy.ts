import { mkdir, readdir } from 'node:fs/promises';
import type { Command } from 'commander';
import { act } from './action.js';
import { type DataDirectoryOptions, dataDirectoryOption, withData } from './data-directory.js';
import { EXIT } from './exit-codes.js';
import { CommandFailure } from './failure.js';

const HELP = `
The copy is the directory as it was at one moment, without free pages: a backup that can be made while a sidecar
runs, and a smaller file for one that grew. A sidecar can be started on it as it is.
`;

export function registerDataCopy(group: Command): void {
  group
    .command('copy')
    .description('Copies a data directory to another one, compactly.')
    .argument('<target>', 'a directory that is not there yet, or empty')
    .addOption(dataDirectoryOption())
    .addHelpText('after', HELP)
    .action((target: string, options: DataDirectoryOptions) => act(() => copy(target, options)));
}

async function copy(target: string, options: DataDirectoryOptions): Promise<number> {
  await makeEmpty(target);
  await withData(options, (reader) => reader.copyTo(target));
  process.stdout.write(`copied to ${target}\n`);
  return EXIT.ok;
}

async function makeEmpty(directory: string): Promise<void> {
  try {
    await mkdir(directory, { recursive: true, mode: 0o700 });
    if ((await readdir(directory)).length === 0) return;
  } catch (error) {
    throw new CommandFailure(`${directory} cannot be made: ${String(error)}`, EXIT.failure);
  }
  throw new CommandFailure(`${directory} is not empty; name one that is not there yet`, EXIT.usage);
}
