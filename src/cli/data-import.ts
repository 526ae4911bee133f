import type { Command } from 'commander';
import type { Content, RowChange } from '../core/contract/rows.js';
import { contentHashOf } from '../core/items/content.js';
import type { Journal } from '../local/journal/journal.js';
import { openJournal } from '../local/journal/lmdb/lmdb-journal.js';
import { act } from './action.js';
import { type DataDirectoryOptions, dataDirectoryOption, toldToPeople } from './data-directory.js';
import { type DataLine, type ItemLine, readLine } from './data-lines.js';
import { EXIT } from './exit-codes.js';
import { CommandFailure } from './failure.js';
import { FieldProblem } from './line-fields.js';
import { amount } from './output.js';
import { type Reopen, withRegularFile } from './regular-file.js';
import { inputFailure } from './replay/lines.js';
import { BrokenInput } from './replay/rows.js';
import { NOT_UTF8, textLines } from './replay/text-lines.js';

const HELP = `
The file has what "keyturn data export" writes. Nothing is written unless every line of it is right: so what comes
by a pipe is first copied to a file in TMPDIR, which has no name there. Its items come after those that are there, in its order. No sidecar may run on the directory, which is made
if it is not there. The queues have to be durable when a sidecar starts on it.

Fields of an item: kind ("item"), queue, key, item_id, submitted_at, payload (base64); and if it has them
idempotency_key, not_before, after, attempts, crashes, last_error, headers, waits_for if that is not all of "after" any
more, and doomed (true) if one of these is dead and it could not become a dead letter yet; fingerprint (of the item
as it was submitted, worked out if it is left out); of a "dead_letter" also cause and died_at.
`;

/** Items of a batch, and what their payloads may have together. */
const BATCH = { lines: 500, bytes: 4_194_304 };
/** A payload of the largest size in base64, and all else that a line may have. */
const LONGEST_LINE = 4_194_304;

export function registerDataImport(group: Command): void {
  group
    .command('import')
    .description('Adds items, dead letters and results from JSON lines to a data directory.')
    .argument('<file>', 'a file with JSON lines, - is standard input')
    .addOption(dataDirectoryOption())
    .addHelpText('after', HELP)
    .action((file: string, options: DataDirectoryOptions) => act(() => importLines(file, options)));
}

function importLines(file: string, options: DataDirectoryOptions): Promise<number> {
  return withRegularFile(file, (reopen) =>
    importFile({ reopen, name: file === '-' ? 'standard input' : file }, options),
  );
}

/** What is read, and how it is called in messages. */
interface Source {
  readonly reopen: Reopen;
  readonly name: string;
}

async function importFile(file: Source, { dataDir }: DataDirectoryOptions): Promise<number> {
  // Before a directory is made.
  for await (const _line of linesOf(file)) break;
  await toldToPeople(async () => {
    const journal = await openJournal(dataDir);
    try {
      const { ids, lastSeq } = await knownIn(journal);
      for await (const { line, read } of linesOf(file)) refuseKnown(file.name, line, read, ids);
      const count = await write(journal, file, lastSeq + 1);
      process.stdout.write(`${amount(count, 'line')} imported\n`);
    } finally {
      await journal.close();
    }
  });
  return EXIT.ok;
}

interface Known {
  /** Of items: queue and id. */
  readonly ids: Set<string>;
  readonly lastSeq: number;
}

async function knownIn(journal: Journal): Promise<Known> {
  const ids = new Set<string>();
  let lastSeq = 0;
  for await (const rows of journal.read()) {
    for (const row of rows) {
      if (row.table !== 'items') continue;
      if (row.state !== 'ended') ids.add(idOf(row.queue, row.id));
      lastSeq = Math.max(lastSeq, row.seq);
    }
  }
  return { ids, lastSeq };
}

function idOf(queue: string, id: string): string {
  return `${queue} ${id}`;
}

function refuseKnown(file: string, line: number, read: DataLine, ids: Set<string>): void {
  if (read.kind === 'end') return;
  const { queue, id } = read.kind === 'result' ? read.row : read.item;
  const name = idOf(queue, id);
  if (ids.has(name)) {
    const text = `${JSON.stringify(id)} is there already in the queue ${queue}, or on a line before`;
    throw new CommandFailure(`${file}, line ${line}: field item_id: ${text}`, EXIT.failure);
  }
  ids.add(name);
}

interface ReadLine {
  readonly line: number;
  readonly read: DataLine;
}

async function* linesOf({ reopen, name: file }: Source): AsyncGenerator<ReadLine, void> {
  let at = 0;
  try {
    for await (const { line, text } of textLines(reopen(), LONGEST_LINE)) {
      at = line;
      if (text === undefined) throw new FieldProblem(NOT_UTF8);
      yield { line, read: readLine(text) };
    }
  } catch (error) {
    if (error instanceof CommandFailure) throw error;
    if (error instanceof FieldProblem) throw new CommandFailure(`${file}, line ${at}: ${error.message}`, EXIT.failure);
    if (error instanceof BrokenInput) throw new CommandFailure(`${file}, ${error.message}`, EXIT.failure);
    throw inputFailure(file, error);
  }
}

/** @returns how many */
async function write(journal: Journal, file: Source, firstSeq: number): Promise<number> {
  // Leases that are left are counted from the last batch: this one is none of a run.
  const at = journal.before.lastWrite ?? Date.now();
  let [seq, lines, bytes] = [firstSeq, 0, 0];
  let batch: RowChange[] = [];
  for await (const { read } of linesOf(file)) {
    batch.push(...rowsOf(read, seq));
    seq += 1;
    lines += 1;
    if ('item' in read) bytes += read.item.content.payload.length;
    if (lines < BATCH.lines && bytes < BATCH.bytes) continue;
    await journal.write(batch, at);
    [batch, lines, bytes] = [[], 0, 0];
  }
  if (batch.length > 0) await journal.write(batch, at);
  return seq - firstSeq;
}

function rowsOf(line: DataLine, seq: number): readonly RowChange[] {
  if (line.kind === 'result') return [{ put: { ...line.row, seq } }];
  if (line.kind === 'end') return [{ put: { ...line.row, seq } }];
  const { item, progress } = line;
  const { content } = item;
  const put: RowChange = {
    put: {
      ...item,
      seq,
      notBefore: progress === undefined ? item.notBefore : 0,
      contentHash: line.contentHash ?? workedOut(item),
      takesRoom: true,
      contentBytes: bytesOf(content),
    },
  };
  return progress === undefined ? [put] : [put, progressOf(progress, seq)];
}

function workedOut({ key, idempotencyKey, content: { payload, headers }, after }: ItemLine['item']): number {
  return contentHashOf({ key, idempotencyKey, payload, headers, after: after.length > 0 ? after : undefined });
}

/** What came back takes no room. */
function progressOf(progress: NonNullable<ItemLine['progress']>, seq: number): RowChange {
  return { put: { table: 'progress', seq, ...progress, takesRoom: progress.attempts === 0, rank: seq } };
}

function bytesOf({ payload, headers }: Content): number {
  let bytes = payload.length;
  for (const [name, value] of headers ?? []) bytes += Buffer.byteLength(name) + Buffer.byteLength(value);
  return bytes;
}
