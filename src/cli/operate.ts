/** What an operator changes: one command each, which says what changed. */
import type { Keyturn, QueueInfo, RetryNowCall } from '@keyturn/client';
import type { Command } from 'commander';
import { pastedCommand } from '../core/contract/pasted-command.js';
import { harmless, harmlessJson } from '../observability/harmless.js';
import { act } from './action.js';
import { EXIT } from './exit-codes.js';
import { CommandFailure } from './failure.js';
import { findQueue, tellNewQueue, tellNoQueue } from './find-queue.js';
import { type SidecarOptions, sidecarOptions, text } from './options.js';
import { amount, humanDuration, plain } from './output.js';
import { type Reasoned, reasonOption } from './reason.js';
import { withSidecar } from './sidecar.js';

interface OperateOptions extends SidecarOptions, Reasoned {
  readonly json?: boolean;
}

/** What a command did, for people and as JSON with the names of the contract. */
interface Outcome {
  readonly sentence: string;
  readonly json: Readonly<Record<string, unknown>>;
}

type Admin = Keyturn['admin'];

const RESUME_HELP = `
A key stops (PARK) after a dead letter when its queue has "on_dead_letter: park". Its dead letter stays where it is:
"keyturn dead-letters redrive --queue <queue> --key <key>" puts it back first.

Examples:
  $ keyturn resume orders customer-7     the key goes on
  $ keyturn resume orders                the queue, after "keyturn pause orders"
`;

const PAUSE_HELP = `
A paused queue gives no turns: callers wait, items stay, live turns go on. A durable queue stays paused after a restart.
Other queues do not.

Example:
  $ keyturn pause orders
`;

const EVICT_HELP = `
The holder is told that its turn is lost. Calls with its token are refused from now on and change nothing. Its items go
back to the head of their line, and no attempt is counted. With --discard they are removed for good instead: what makes every worker
fail is not given to the next one.

Examples:
  $ keyturn evict orders customer-7
  $ keyturn evict orders customer-7 --discard
`;

const RETRY_HELP = `
Ends what only time keeps back: the back-off of an item that failed, a delay, min_interval. A parked key is resumed with
"keyturn resume", a dead letter is put back with "keyturn dead-letters redrive".

Examples:
  $ keyturn retry orders customer-7
  $ keyturn retry orders --item-id 4711
`;

export function registerResume(program: Command): void {
  command(program, 'resume', '<queue> [key]', RESUME_HELP)
    .summary('let a parked key or a paused queue go on')
    .description('Lets a parked key go on, or a paused queue.')
    .action((queue: string, key: string | undefined, options: OperateOptions) =>
      act(() =>
        perform(options, (admin, why) =>
          key === undefined ? resumeQueue(admin, queue, why) : resumeKey(admin, queue, key, why),
        ),
      ),
    );
}

export function registerPause(program: Command): void {
  command(program, 'pause', '<queue>', PAUSE_HELP)
    .summary('hold a queue back until it is resumed')
    .description('Holds a queue back: it gives no turns until it is resumed.')
    .action((queue: string, options: OperateOptions) =>
      act(() => perform(options, (admin, why) => pause(admin, queue, why))),
    );
}

export function registerEvict(program: Command): void {
  command(program, 'evict', '<queue> <key>', EVICT_HELP)
    .summary('take the turn of a key away from its holder')
    .description('Takes the turn of a key away from its holder.')
    .option('--discard', 'its items do not go back: they are discarded in the same step')
    .action((queue: string, key: string, options: OperateOptions & Pick<Evicted, 'discard'>) =>
      act(() => perform(options, (admin, why) => evict(admin, { queue, key, discard: options.discard }, why))),
    );
}

export function registerRetry(program: Command): void {
  command(program, 'retry', '<queue> [key]', RETRY_HELP)
    .summary('start now what only time keeps back')
    .description('Lets a key or an item that waits for a time start now.')
    .option('--item-id <id>', 'the item, instead of a key', text)
    .action((queue: string, key: string | undefined, options: OperateOptions & { readonly itemId?: string }) =>
      act(() => perform(options, (admin, why) => retry(admin, { queue, key, itemId: options.itemId }, why))),
    );
}

function command(program: Command, name: string, operands: string, help: string): Command {
  const made = program.command(`${name} ${operands}`).option('--json', 'print one JSON object');
  return sidecarOptions(reasonOption(made)).addHelpText('after', help);
}

async function perform(
  options: OperateOptions,
  change: (admin: Admin, why: Reasoned) => Promise<Outcome>,
): Promise<number> {
  const { reason } = options;
  const { sentence, json } = await withSidecar(options, ({ admin }) => change(admin, { reason }));
  process.stdout.write(options.json === true ? `${harmlessJson(json)}\n` : `${sentence}\n`);
  return EXIT.ok;
}

interface Evicted {
  readonly queue: string;
  readonly key: string;
  readonly discard?: boolean | undefined;
}

const WHICH = 'say which: a key, or --item-id with the id of an item (one without a key has nothing else)';
const ONE_OF_TWO = 'a key and --item-id: name one of the two';
const KEYLESS_TURNS =
  'name a key: items without one share no turn. Each of theirs ends when its worker settles it, or with its lease';

/** To be said when the call was not refused. */
async function lookFor(admin: Admin, queue: string): Promise<QueueInfo | undefined> {
  const info = await findQueue(admin, queue);
  if (info === undefined) tellNoQueue(queue);
  return info;
}

async function resumeKey(admin: Admin, queue: string, key: string, why: Reasoned): Promise<Outcome> {
  const { resumed, state } = await admin.resumeKey(queue, key, why);
  await lookFor(admin, queue);
  const sentence = resumed
    ? `key ${plain(key)} in queue ${queue} goes on, now ${state}`
    : `key ${plain(key)} in queue ${queue} was not parked: it is ${state}`;
  return { sentence, json: { queue, key, resumed, state } };
}

async function resumeQueue(admin: Admin, queue: string, why: Reasoned): Promise<Outcome> {
  const before = await findQueue(admin, queue);
  await admin.resumeQueue(queue, why);
  if (before === undefined) tellNoQueue(queue);
  const done = before?.paused === true ? 'gives turns again' : 'was not paused';
  return { sentence: `queue ${plain(queue)} ${done}${parkedKeys(before)}`, json: { queue, paused: false } };
}

/** Who resumes a queue may mean those. */
function parkedKeys(info: QueueInfo | undefined): string {
  const parked = info?.states.PARK ?? 0;
  if (info === undefined || parked === 0) return '';
  return `; ${amount(parked, 'key')} of it ${parked === 1 ? 'is' : 'are'} parked: "${pastedCommand(['resume'], [info.name, 'KEY'])}" lets one go on`;
}

async function pause(admin: Admin, queue: string, why: Reasoned): Promise<Outcome> {
  const isThere = (await findQueue(admin, queue)) !== undefined;
  await admin.pauseQueue(queue, why);
  if (!isThere) tellNewQueue(queue);
  const sentence = `queue ${plain(queue)} gives no turns until "${pastedCommand(['resume'], [queue])}"`;
  return { sentence, json: { queue, paused: true } };
}

async function evict(admin: Admin, { queue, key, discard = false }: Evicted, why: Reasoned): Promise<Outcome> {
  if (key === '') throw new CommandFailure(KEYLESS_TURNS, EXIT.usage);
  const did = await admin.evictHolder(queue, key, { ...why, discard });
  const { evicted, token, consumerId, itemsReturned, itemsDiscarded, state } = did;
  await lookFor(admin, queue);
  const name = `key ${plain(key)} in queue ${queue}`;
  if (!evicted) return { sentence: `nobody holds ${name}: it is ${state}`, json: { queue, key, evicted, state } };
  const back = itemsReturned === 0 ? '' : `, ${amount(itemsReturned, 'item')} went back`;
  const gone = itemsDiscarded === 0 ? '' : `, ${amount(itemsDiscarded, 'item')} discarded`;
  const items = { items_returned: itemsReturned, items_discarded: itemsDiscarded };
  return {
    sentence: `took ${name} away from ${plain(consumerId)} (token ${token})${back}${gone}; now ${state}`,
    json: { queue, key, evicted, token, consumer_id: consumerId, ...items, state },
  };
}

async function retry(admin: Admin, { queue, key, itemId }: RetryNowCall, why: Reasoned): Promise<Outcome> {
  if (key !== undefined && itemId !== undefined) throw new CommandFailure(ONE_OF_TWO, EXIT.usage);
  if ((key === undefined || key === '') && itemId === undefined) throw new CommandFailure(WHICH, EXIT.usage);
  const view = await admin.retryNow({ queue, key, itemId }, why);
  const name = `key ${plain(view.key)} in queue ${queue}`;
  const early = view.wasUntil === undefined ? '' : `, ${humanDuration(view.wasUntil - Date.now())} early`;
  const still = view.why === '' ? '' : `; ${view.why}`;
  const sentence = view.changed
    ? `${name} does not wait for its ${view.ended.join(' and ')} any more${early}; now ${view.state}${still}`
    : `no time keeps ${name} back: it is ${view.state}${still}`;
  return {
    sentence: harmless(sentence),
    json: {
      queue,
      key: view.key,
      item_id: view.itemId,
      changed: view.changed,
      ended: view.ended,
      was_until: view.wasUntil === undefined ? undefined : new Date(view.wasUntil).toISOString(),
      state: view.state,
      why: view.why,
    },
  };
}
