import type { Command } from 'commander';
import type { DataReader } from '../local/journal/lmdb/data-reader.js';
import { checkRows } from '../local/journal/lmdb/row-check.js';
import { harmless, harmlessJson } from '../observability/harmless.js';
import { act } from './action.js';
import { type DataDirectoryOptions, dataDirectoryOption, withData } from './data-directory.js';
import { EXIT } from './exit-codes.js';
import { CommandFailure } from './failure.js';
import { amount, count } from './output.js';

interface CheckOptions extends DataDirectoryOptions {
  readonly json?: boolean;
}

/** Problems that are printed; the rest are counted. */
const PRINTED = 100;

const HELP = `
Reads every page, every row with its checksum, every payload, and what rows say of each other. Exits ${EXIT.ok} when all is
well, ${EXIT.failure} when something is not. While a sidecar runs on the directory its pages are left out: they change.
Nothing is repaired: restore a backup, or export what can be read and import that into a new directory.
`;

export function registerDataCheck(group: Command): void {
  group
    .command('check')
    .description('Looks whether a data directory is whole.')
    .addOption(dataDirectoryOption())
    .option('--json', 'print one JSON object')
    .addHelpText('after', HELP)
    .action((options: CheckOptions) => act(() => check(options)));
}

interface Found {
  readonly problems: string[];
  count: number;
}

async function check(options: CheckOptions): Promise<number> {
  const found: Found = { problems: [], count: 0 };
  const bad = (problem: string) => {
    found.count += 1;
    if (found.problems.length < PRINTED) found.problems.push(problem);
  };
  let summary = '';
  try {
    summary = await withData(options, (reader) => read(reader, bad), bad);
  } catch (error) {
    if (!(error instanceof CommandFailure) || found.count === 0) throw error;
    // The pages have said more than that.
  }
  report(options, summary, found);
  return found.count === 0 ? EXIT.ok : EXIT.failure;
}

async function read(reader: DataReader, bad: (problem: string) => void): Promise<string> {
  const { rows, contents } = await checkRows(reader, bad);
  const running = reader.owner === undefined ? '' : `; in use by ${reader.owner}, so its pages were left out`;
  return `${amount(rows, 'row')} and ${amount(contents, 'payload')} in ${reader.file}${running}`;
}

function report({ json }: CheckOptions, summary: string, { problems, count: total }: Found): void {
  if (json === true) {
    process.stdout.write(`${harmlessJson({ ok: total === 0, problems: total, first: problems, summary })}\n`);
    return;
  }
  for (const problem of problems) process.stdout.write(`${harmless(problem)}\n`);
  if (total > problems.length) process.stdout.write(`and ${count(total - problems.length)} more\n`);
  const verdict = total === 0 ? 'all is well' : amount(total, 'problem');
  process.stdout.write(summary === '' ? `${verdict}\n` : `${verdict}: ${summary}\n`);
}
