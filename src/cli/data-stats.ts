import type { Command } from 'commander';
import type { Row } from '../core/contract/rows.js';
import type { DataReader } from '../local/journal/lmdb/data-reader.js';
import { harmlessJson } from '../observability/harmless.js';
import { act } from './action.js';
import { type DataDirectoryOptions, dataDirectoryOption, withData } from './data-directory.js';
import { EXIT } from './exit-codes.js';
import { alignColumns, count, plain } from './output.js';

interface StatsOptions extends DataDirectoryOptions {
  readonly json?: boolean;
}

const HELP = `
OPEN are items that are not finished, dead letters among them; BYTES are those of their payloads and headers;
RESULTS finished items that are remembered; KEYS done idempotency keys; LIVE turns that live.
Free pages are used again before the file grows; "keyturn data copy" leaves them out.
`;

export function registerDataStats(group: Command): void {
  group
    .command('stats')
    .description('Tells how much a data directory holds, by table and by queue.')
    .addOption(dataDirectoryOption())
    .option('--json', 'print one JSON object')
    .addHelpText('after', HELP)
    .action((options: StatsOptions) => act(() => stats(options)));
}

interface QueueUse {
  open: number;
  dead: number;
  bytes: number;
  results: number;
  keys: number;
  live: number;
}

type FileUse = Awaited<ReturnType<DataReader['use']>>;

async function stats(options: StatsOptions): Promise<number> {
  const [file, queues] = await withData(
    options,
    async (reader) => [await reader.use(), await queuesOf(reader)] as const,
  );
  process.stdout.write(options.json === true ? `${harmlessJson(toJson(file, queues))}\n` : toText(file, queues));
  return EXIT.ok;
}

async function queuesOf(reader: DataReader): Promise<ReadonlyMap<string, QueueUse>> {
  const queues = new Map<string, QueueUse>();
  const dead = new Set<number>();
  for await (const rows of reader.rows()) {
    for (const row of rows) {
      if (row.table === 'progress' && row.dead !== undefined) dead.add(row.seq);
      if ('queue' in row) add(useOf(queues, row.queue), row, dead);
    }
  }
  return new Map([...queues].sort(([a], [b]) => (a < b ? -1 : 1)));
}

function useOf(queues: Map<string, QueueUse>, name: string): QueueUse {
  const known = queues.get(name);
  if (known !== undefined) return known;
  const use = { open: 0, dead: 0, bytes: 0, results: 0, keys: 0, live: 0 };
  queues.set(name, use);
  return use;
}

function add(use: QueueUse, row: Row, dead: ReadonlySet<number>): void {
  if (row.table === 'items' && row.state === 'open') {
    use.open += 1;
    use.bytes += row.contentBytes;
    if (dead.has(row.seq)) use.dead += 1;
  } else if (row.table === 'items') use.results += 1;
  else if (row.table === 'keys') use.keys += 1;
  else if (row.table === 'tokens' && row.state === 'live') use.live += 1;
}

function toText(file: FileUse, queues: ReadonlyMap<string, QueueUse>): string {
  const { size, pageSize, freePages } = file;
  const head = `${count(size)} bytes, ${count(freePages * pageSize)} of them free (pages of ${count(pageSize)})\n\n`;
  const tables = Object.entries(file.tables).map(([name, { rows, pages }]) => [
    name,
    count(rows),
    count(pages * pageSize),
  ]);
  const byQueue = [...queues].map(([name, use]) => [
    plain(name),
    ...[use.open, use.dead, use.bytes, use.results, use.keys, use.live].map(count),
  ]);
  const queueHead = ['QUEUE', 'OPEN', 'DEAD', 'BYTES', 'RESULTS', 'KEYS', 'LIVE'];
  return `${head}${alignColumns([['TABLE', 'ROWS', 'BYTES'], ...tables])}\n${alignColumns([queueHead, ...byQueue])}`;
}

function toJson(file: FileUse, queues: ReadonlyMap<string, QueueUse>): Readonly<Record<string, unknown>> {
  const { size, pageSize, freePages } = file;
  const tables = Object.entries(file.tables).map(([name, { rows, pages }]) => {
    return [name, { rows, bytes: pages * pageSize }] as const;
  });
  const byQueue = [...queues].map(([name, use]) => {
    const { open, dead, bytes, results, keys, live } = use;
    return {
      name,
      open_items: open,
      dead_letters: dead,
      content_bytes: bytes,
      results,
      done_keys: keys,
      live_turns: live,
    };
  });
  return { file_bytes: size, free_bytes: freePages * pageSize, tables: Object.fromEntries(tables), queues: byQueue };
}
