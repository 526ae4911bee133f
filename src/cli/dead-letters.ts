import { Buffer } from 'node:buffer';
import type {
  ChangeBounds,
  DeadLetterPage,
  DeadLetterView,
  ItemChoiceCall,
  Keyturn,
  Unavailable,
} from '@keyturn/client';
import type { Command } from 'commander';
import { harmlessJson } from '../observability/harmless.js';
import { act } from './action.js';
import { type BulkOutcome, inSteps, type Step } from './bulk.js';
import { type FilterOptions, filterOf, filterOptions } from './dead-letter-filter.js';
import { EXIT } from './exit-codes.js';
import { CommandFailure } from './failure.js';
import { findQueue, tellNoQueue } from './find-queue.js';
import { tellIncomplete, unavailableIn } from './incomplete.js';
import { collect, type SidecarOptions, sidecarOptions, text, wholeBetween } from './options.js';
import { ago, alignColumns, count, isoInstant, plain } from './output.js';
import { type Reasoned, reasonOption } from './reason.js';
import { withSidecar } from './sidecar.js';
import { traceIdOf } from './trace-id.js';

interface QueueOptions extends SidecarOptions, FilterOptions {
  readonly queue: string;
  readonly key?: string;
  readonly json?: boolean;
}

interface ListOptions extends QueueOptions {
  readonly limit: number;
  readonly pageToken?: string;
}

interface ChoiceOptions extends QueueOptions, Reasoned {
  readonly itemId?: readonly string[];
  readonly dryRun?: boolean;
}

interface DiscardOptions extends ChoiceOptions {
  readonly waiting?: boolean;
  readonly yes?: boolean;
}

/** Entries of a page: the contract's limit. */
const LARGEST_PAGE = 1_000;

const HELP = `
--cause, --error, --after and --before choose by what went wrong and when; --dry-run says how many that are. What is done to
many is done in steps: a terminal shows how far it is, and Ctrl-C calls the rest off (exit code 1).

Examples:
  $ keyturn dead-letters list orders
  $ keyturn dead-letters redrive --queue orders --error "connection refused" --after 2h --dry-run
  $ keyturn dead-letters redrive --queue orders --key customer-7
  $ keyturn dead-letters discard --queue orders --item-id 41 --item-id 42
`;

export function registerDeadLetters(program: Command): void {
  const group = program
    .command('dead-letters')
    .summary('list, redrive or discard items that ran out of attempts')
    .description('Dead letters are items that ran out of attempts or were refused for good.')
    .addHelpText('after', HELP);
  registerList(group);
  registerRedrive(group);
  registerDiscard(group);
}

function registerList(group: Command): void {
  common(group.command('list'))
    .description('Lists dead letters in the order of their submission.')
    .option('--limit <n>', 'the most to list', wholeBetween(1, 1_000_000), 100)
    .option('--page-token <token>', 'go on where an earlier list ended')
    .action((queue: string | undefined, options: ListOptions) => act(() => list(withQueue(queue, options))));
}

function registerRedrive(group: Command): void {
  common(reasonOption(group.command('redrive')))
    .description(
      'Puts dead letters back before what waits, attempts from 1. Without --key and --item-id: all of the queue.',
    )
    .option('--item-id <id>', 'only this one, may be given again', collect)
    .option('--dry-run', 'change nothing, say how many it would be')
    .action((queue: string | undefined, options: ChoiceOptions) => act(() => redrive(withQueue(queue, options))));
}

function registerDiscard(group: Command): void {
  common(reasonOption(group.command('discard')))
    .description('Removes dead letters for good. Without --key and --item-id: all of the queue, and only with --yes.')
    .option('--item-id <id>', 'only this one, may be given again', collect)
    .option('--waiting', 'also items that still wait')
    .option('--dry-run', 'change nothing, say how many it would be')
    .option('--yes', 'yes, all of them')
    .action((queue: string | undefined, options: DiscardOptions) => act(() => discard(withQueue(queue, options))));
}

function common(command: Command): Command {
  const narrowed = command
    .argument('[queue]', 'the queue')
    .option('--queue <queue>', 'the same', text)
    .option('--key <key>', 'only those of this key')
    .option('--json', 'print one JSON object');
  return sidecarOptions(filterOptions(narrowed));
}

/** The queue is an argument, or the value of --queue. */
function withQueue<T extends QueueOptions>(queue: string | undefined, options: T): T {
  const said = [queue, options.queue].filter((one) => one !== undefined && one !== '');
  if (said.length === 1) return { ...options, queue: said[0] };
  throw new CommandFailure('name the queue once, as an argument or by --queue', EXIT.usage);
}

async function list(options: ListOptions): Promise<number> {
  const { letters, next, unavailable, isThere } = await withSidecar(options, async (client) => {
    const pages = await readPages(client, options);
    const isFound = pages.letters.length > 0 || (await findQueue(client.admin, options.queue)) !== undefined;
    // Where not all could be asked nobody knows.
    return { ...pages, isThere: isFound || pages.unavailable.length > 0 };
  });
  if (!isThere) tellNoQueue(options.queue);
  if (options.json === true) {
    process.stdout.write(
      `${harmlessJson({ dead_letters: letters.map(toJson), next_page_token: next, unavailable })}\n`,
    );
  } else {
    process.stdout.write(letters.length === 0 ? 'no dead letters\n' : table(letters));
    if (next !== '') process.stdout.write(`there are more: --page-token ${plain(next)}\n`);
  }
  tellIncomplete(unavailable);
  return EXIT.ok;
}

interface Pages {
  readonly letters: readonly DeadLetterView[];
  /** Empty: that was the last. */
  readonly next: string;
  readonly unavailable: readonly Unavailable[];
}

async function readPages(client: Keyturn, options: ListOptions): Promise<Pages> {
  const { queue, key, limit, pageToken } = options;
  const filter = filterOf(options);
  const letters: DeadLetterView[] = [];
  const pages: DeadLetterPage[] = [];
  let next = pageToken ?? '';
  do {
    const pageSize = Math.min(limit - letters.length, LARGEST_PAGE);
    const page = await client.admin.listDeadLetters({ queue, key, filter, pageSize, pageToken: next });
    letters.push(...page.deadLetters);
    pages.push(page);
    next = page.nextPageToken;
  } while (next !== '' && letters.length < limit);
  return { letters, next, unavailable: unavailableIn(pages) };
}

/** The trace is told when one of them has one: who does not trace has no column for it. */
function table(letters: readonly DeadLetterView[]): string {
  const traces = letters.map(({ item }) => traceIdOf(item.headers));
  const isTraced = traces.some((trace) => trace !== undefined);
  const traceOf = (at: number) => (isTraced ? [traces[at] ?? '-'] : []);
  const rows = letters.map(({ item, key, attempts, diedAt, cause, lastError }, at) => {
    return [plain(item.itemId), plain(key), String(attempts), ago(diedAt), cause, ...traceOf(at), lastError ?? ''];
  });
  const head = ['ITEM', 'KEY', 'ATTEMPTS', 'DIED', 'CAUSE', ...(isTraced ? ['TRACE'] : []), 'LAST ERROR'];
  return alignColumns([head, ...rows]);
}

/** With the names of the contract; instants in ISO 8601, the payload in base64. */
function toJson({ item, key, attempts, lastError, diedAt, cause }: DeadLetterView): Readonly<Record<string, unknown>> {
  return {
    item_id: item.itemId,
    key,
    attempts,
    last_error: lastError,
    died_at: isoInstant(diedAt),
    cause,
    submitted_at: isoInstant(item.submittedAt),
    idempotency_key: item.idempotencyKey,
    trace_id: traceIdOf(item.headers),
    headers: Object.fromEntries(item.headers ?? []),
    payload: Buffer.from(item.payload).toString('base64'),
  };
}

async function redrive(options: ChoiceOptions): Promise<number> {
  const outcome = await change(options, (admin, choice, bounds, why) => admin.redriveSome(choice, bounds, why));
  return tell(outcome, options, 'redriven');
}

async function discard(options: DiscardOptions): Promise<number> {
  const { key, itemId, waiting, yes, dryRun } = options;
  const isAll = key === undefined && itemId === undefined && filterOf(options) === undefined;
  if (isAll && yes !== true && dryRun !== true) {
    const what = waiting === true ? 'dead letters and waiting items' : 'dead letters';
    throw new CommandFailure(
      `this would discard all ${what} of ${options.queue} for good; say --yes if you mean it`,
      EXIT.usage,
    );
  }
  const outcome = await change(
    options,
    (admin, choice, bounds, why) => admin.discardSome({ ...choice, waiting }, bounds, why),
    waiting === true,
  );
  return tell(outcome, options, 'discarded');
}

/**
 * How many were changed; 0 of a queue that is not there is said to be that.
 * @param isWhole in one step: of items that wait what is submitted between two steps would be taken too (S88)
 */
async function change(options: ChoiceOptions, step: Step, isWhole = false): Promise<BulkOutcome> {
  return withSidecar(options, async ({ admin }) => {
    const { dryRun, reason } = options;
    const choice = choiceOf(options);
    const run = (part: ItemChoiceCall, bounds: ChangeBounds) => step(admin, part, bounds, { reason });
    const outcome =
      dryRun === true || isWhole
        ? { ...(await run(choice, { dryRun })), isCalledOff: false }
        : await inSteps(run, choice);
    if (outcome.changed === 0 && outcome.chosen === 0 && (await findQueue(admin, options.queue)) === undefined)
      tellNoQueue(options.queue);
    return outcome;
  });
}

function tell({ changed, chosen, isCalledOff }: BulkOutcome, { json, dryRun }: ChoiceOptions, done: string): number {
  if (json === true) {
    const rest =
      dryRun === true ? { chosen, dry_run: true } : { ...(isCalledOff && { called_off: true, left: chosen }) };
    process.stdout.write(`${harmlessJson({ [done]: changed, ...rest })}\n`);
  } else if (dryRun === true) process.stdout.write(`${count(chosen)} would be ${done}\n`);
  else
    process.stdout.write(`${count(changed)} ${done}${isCalledOff ? `; called off, ${count(chosen)} are left` : ''}\n`);
  return isCalledOff ? EXIT.failure : EXIT.ok;
}

function choiceOf(options: ChoiceOptions): ItemChoiceCall {
  const { queue, key, itemId } = options;
  return { queue, key, itemIds: itemId, filter: filterOf(options) };
}
