import { createWriteStream } from 'node:fs';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Command } from 'commander';
import type { ProgressRow } from '../core/contract/rows.js';
import type { DataReader } from '../local/journal/lmdb/data-reader.js';
import { act } from './action.js';
import { isGoneReader } from './closed-pipes.js';
import { type DataDirectoryOptions, dataDirectoryOption, withData } from './data-directory.js';
import { HandedOut } from './data-handed-out.js';
import { toEndLine, toItemLine, toResultLine } from './data-lines.js';
import { EXIT } from './exit-codes.js';
import { CommandFailure } from './failure.js';
import { text } from './options.js';
import { amount } from './output.js';

interface ExportOptions extends DataDirectoryOptions {
  readonly output?: string;
  readonly queue?: string;
}

const HELP = `
One JSON object a line, in the order of submission: kind "item" (open, also those that a worker has now),
"dead_letter", "result" (finished and remembered), or "end" (of what items before it wait for). Items that a worker of an
at_most_once queue has now are results: they are done, for ten minutes from when they were handed out. Live turns, done idempotency keys, paused queues and parked
keys are not in it: "keyturn data copy" copies everything.
`;

export function registerDataExport(group: Command): void {
  group
    .command('export')
    .description('Writes items, dead letters and results as JSON lines.')
    .addOption(dataDirectoryOption())
    .option('--output <file>', 'a file that is not there yet; unset: standard output', text)
    .option('--queue <queue>', 'only those of this queue', text)
    .addHelpText('after', HELP)
    .action((options: ExportOptions) => act(() => exportLines(options)));
}

async function exportLines(options: ExportOptions): Promise<number> {
  let count = 0;
  const counted = async function* (reader: DataReader) {
    for await (const lines of linesOf(reader, options.queue)) {
      count += lines.length;
      yield lines.map((line) => `${line}\n`).join('');
    }
  };
  await withData(options, (reader) => write(Readable.from(counted(reader)), options.output));
  process.stderr.write(`${amount(count, 'line')} exported\n`);
  return EXIT.ok;
}

async function write(lines: Readable, file: string | undefined): Promise<void> {
  if (file === undefined) {
    await printed(pipeline(lines, process.stdout, { end: false }));
    return;
  }
  try {
    await pipeline(lines, createWriteStream(file, { flags: 'wx', mode: 0o600, flush: true }));
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && 'syscall' in error)) throw error;
    throw new CommandFailure(`${file} cannot be written: ${error.message}`, EXIT.failure);
  }
}

/** Whoever read it has read enough: `| head -1`. */
async function printed(writing: Promise<void>): Promise<void> {
  try {
    await writing;
  } catch (error) {
    if (isGoneReader(error)) return;
    if (!(error instanceof Error && 'code' in error && 'syscall' in error)) throw error;
    throw new CommandFailure(`standard output cannot be written: ${error.message}`, EXIT.failure);
  }
}

/** Slices of lines. */
async function* linesOf(reader: DataReader, queue: string | undefined): AsyncGenerator<readonly string[], void> {
  const progress = new Map<number, ProgressRow>();
  const handedOut = new HandedOut();
  for await (const rows of reader.rows()) {
    const lines: string[] = [];
    for (const row of rows) {
      if (row.table === 'progress') progress.set(row.seq, row);
      if (row.table === 'tokens') handedOut.addTurn(row);
      if (row.table !== 'items') continue;
      // Those that wait for it may be of any queue.
      if (row.state === 'ended') lines.push(toEndLine(row));
      else if (queue !== undefined && row.queue !== queue) continue;
      else if (handedOut.takes(row, progress.get(row.seq))) continue;
      else if (row.state === 'open') lines.push(toItemLine(row, reader.content(row.seq), progress.get(row.seq)));
      else lines.push(toResultLine(row));
    }
    if (lines.length > 0) yield lines;
  }
  const lines = handedOut.results.map(toResultLine);
  if (lines.length > 0) yield lines;
}
