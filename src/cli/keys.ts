import type { KeyPage, Keyturn, KeyView, Unavailable } from '@keyturn/client';
import { type Command, Option } from 'commander';
import { harmlessJson } from '../observability/harmless.js';
import { act } from './action.js';
import { EXIT } from './exit-codes.js';
import { findQueue, tellNoQueue } from './find-queue.js';
import { tellIncomplete, unavailableIn } from './incomplete.js';
import { type SidecarOptions, sidecarOptions, text, wholeBetween } from './options.js';
import { ago, alignColumns, count, isoInstant, plain } from './output.js';
import { withSidecar } from './sidecar.js';

interface KeysOptions extends SidecarOptions {
  readonly state?: KeyView['state'];
  readonly limit: number;
  readonly pageToken?: string;
  readonly json?: boolean;
}

/** In the order of the help of `keyturn explain`, which says what they mean. */
const STATES: readonly KeyView['state'][] = ['INIT', 'PROCESS', 'BLOCK', 'READY', 'DELAY', 'PARK'];
/** Entries of a page: the contract's limit. */
const LARGEST_PAGE = 1_000;

const HELP = `
SINCE is how long the key has been in its state, WAITING how many stand in its line, HOLDER who has its turn.
Without --state all keys are listed that have something to do. "keyturn explain --help" tells what the states mean.

Examples:
  $ keyturn keys orders --state PARK       keys that somebody has to resume
  $ keyturn keys orders --state READY      keys that wait for a worker or a gate
  $ keyturn keys orders --json
`;

export function registerKeys(program: Command): void {
  const command = program
    .command('keys')
    .summary('list the keys of a queue, by their state')
    .description('Lists the keys of a queue: their state, since when, who waits and who holds them.')
    .argument('<queue>', 'the queue', text)
    .addOption(new Option('--state <state>', 'only keys in this state').choices(STATES))
    .option('--limit <n>', 'the most to list', wholeBetween(1, 1_000_000), 100)
    .option('--page-token <token>', 'go on where an earlier list ended')
    .option('--json', 'print one JSON object');
  sidecarOptions(command)
    .addHelpText('after', HELP)
    .action((queue: string, options: KeysOptions) => act(() => listKeys(queue, options)));
}

async function listKeys(queue: string, options: KeysOptions): Promise<number> {
  const { keys, next, unavailable, isThere } = await withSidecar(options, async (client) => {
    const pages = await readPages(client, queue, options);
    const isFound = pages.keys.length > 0 || (await findQueue(client.admin, queue)) !== undefined;
    // Where not all could be asked nobody knows.
    return { ...pages, isThere: isFound || pages.unavailable.length > 0 };
  });
  if (!isThere) tellNoQueue(queue);
  if (options.json === true) {
    process.stdout.write(`${harmlessJson({ keys: keys.map(toJson), next_page_token: next, unavailable })}\n`);
  } else {
    process.stdout.write(keys.length === 0 ? 'no keys\n' : table(keys));
    if (next !== '') process.stdout.write(`there are more: --page-token ${plain(next)}\n`);
  }
  tellIncomplete(unavailable);
  return EXIT.ok;
}

interface Pages {
  readonly keys: readonly KeyView[];
  /** Empty: that was the last. */
  readonly next: string;
  readonly unavailable: readonly Unavailable[];
}

async function readPages(client: Keyturn, queue: string, { state, limit, pageToken }: KeysOptions): Promise<Pages> {
  const keys: KeyView[] = [];
  const pages: KeyPage[] = [];
  let next = pageToken ?? '';
  do {
    const pageSize = Math.min(limit - keys.length, LARGEST_PAGE);
    const page = await client.admin.listKeys({ queue, state, pageSize, pageToken: next });
    keys.push(...page.keys);
    pages.push(page);
    next = page.nextPageToken;
  } while (next !== '' && keys.length < limit);
  return { keys, next, unavailable: unavailableIn(pages) };
}

function table(keys: readonly KeyView[]): string {
  const rows = keys.map(({ key, state, since, waiting, consumerId }) => {
    const held = since === undefined ? '-' : ago(since);
    return [
      plain(key),
      state,
      held,
      count(waiting),
      consumerId === undefined || consumerId === '' ? '-' : plain(consumerId),
    ];
  });
  return alignColumns([['KEY', 'STATE', 'SINCE', 'WAITING', 'HOLDER'], ...rows]);
}

/** With the names of the contract; instants in ISO 8601. What is unset is left out. */
function toJson({ key, state, since, waiting, consumerId }: KeyView): Readonly<Record<string, unknown>> {
  return { key, state, since: since === undefined ? undefined : isoInstant(since), waiting, consumer_id: consumerId };
}
