import type { Keyturn, ListQueuesCall, QueueInfo, QueuePage } from '@keyturn/client';
import type { Command } from 'commander';
import { harmlessJson } from '../observability/harmless.js';
import { act } from './action.js';
import { EXIT } from './exit-codes.js';
import { tellIncomplete, unavailableIn } from './incomplete.js';
import { durationBetween, type SidecarOptions, sidecarOptions } from './options.js';
import { alignColumns, count, humanDuration, isoInstant, plain } from './output.js';
import { withSidecar } from './sidecar.js';

interface QueuesOptions extends SidecarOptions {
  /** ms, or `true`: as long as it usually is. */
  readonly stuck?: number | true;
  readonly json?: boolean;
}

const HELP = `
TEXT chooses queues with it in their name.
LIVE are turns that somebody has now, WAITING entries in all lines, OLDEST how long the oldest of them has
waited, DEAD dead letters; at the end of a line "durable" if what is kept outlives a crash, and with which
durability unless it is on_flush, and "paused". The rest are keys by their state ("keyturn explain --help" tells what they mean).

--stuck leaves out the queues in which nothing is: it shows those with a parked key, with dead letters, paused by a
person, or with somebody who has waited for as long. Then "keyturn explain QUEUE KEY" says why.

Examples:
  $ keyturn queues
  $ keyturn queues --stuck 1m
  $ keyturn queues orders --json
`;

const DAY_MS = 86_400_000;
/** Work that nobody takes up for that long is worth a look; the console looks for it too. */
const STUCK_FOR_MS = 10_000;

const STATES = ['PROCESS', 'BLOCK', 'READY', 'DELAY', 'PARK'] as const;

export function registerQueues(program: Command): void {
  const command = program
    .command('queues')
    .summary('list the queues and how they stand')
    .description('Lists the queues: turns, lines, dead letters, and keys by state.')
    .argument('[text]', 'only queues with this in their name', '')
    .option(
      '--stuck [duration]',
      'only queues in which something is stuck; entries, for as long (10s)',
      durationBetween(0, DAY_MS, '0s to 24h'),
    )
    .option('--json', 'print a JSON array with everything, policies included');
  sidecarOptions(command)
    .addHelpText('after', HELP)
    .action((name: string, options: QueuesOptions) => act(() => listQueues(name, options)));
}

async function listQueues(nameContains: string, options: QueuesOptions): Promise<number> {
  const { queues, startupHoldUntil, unavailable } = await withSidecar(options, ({ admin }) =>
    allQueues(admin, { nameContains, stuckFor: options.stuck === true ? STUCK_FOR_MS : options.stuck }),
  );
  if (options.json === true) process.stdout.write(`${harmlessJson(queues.map(toJson))}\n`);
  else process.stdout.write(toText(queues, nameContains, options.stuck !== undefined) + holdText(startupHoldUntil));
  tellIncomplete(unavailable);
  return EXIT.ok;
}

/** Page after page: thousands of queues do not fit into one answer. */
async function allQueues(admin: Keyturn['admin'], wanted: ListQueuesCall): Promise<Omit<QueuePage, 'nextPageToken'>> {
  let page = await admin.listQueues(wanted);
  const pages = [page];
  while (page.nextPageToken !== '') {
    page = await admin.listQueues({ ...wanted, pageToken: page.nextPageToken });
    pages.push(page);
  }
  const queues = pages.flatMap((one) => one.queues);
  return { queues, startupHoldUntil: page.startupHoldUntil, unavailable: unavailableIn(pages) };
}

function holdText(until: number | undefined): string {
  if (until === undefined) return '';
  return `\nno turns until ${isoInstant(until)} (in ${humanDuration(until - Date.now())}): startup_hold after the start\n`;
}

function toText(queues: readonly QueueInfo[], nameContains: string, isStuck: boolean): string {
  if (queues.length === 0 && isStuck) return 'nothing is stuck\n';
  if (queues.length === 0)
    return nameContains === '' ? 'no queues\n' : `no queue has ${plain(nameContains)} in its name\n`;
  return alignColumns([['QUEUE', 'LIVE', 'WAITING', 'OLDEST', 'DEAD', ...STATES, ''], ...queues.map(row)]);
}

function row(queue: QueueInfo): readonly string[] {
  const { name, liveTurns, waiting, oldestWaiting, deadLetters, states } = queue;
  const oldest = oldestWaiting === undefined ? '-' : humanDuration(oldestWaiting);
  const keys = STATES.map((state) => count(states[state] ?? 0));
  return [name, count(liveTurns), count(waiting), oldest, count(deadLetters), ...keys, remarks(queue)];
}

function remarks({ policy: { durable, durability }, paused }: QueueInfo): string {
  const kept = durability === 'on_flush' ? 'durable' : `durable: ${durability}`;
  return [durable && kept, paused && 'paused'].filter((remark) => remark !== false).join(', ');
}

/** With the names of the contract; durations in ms. What is unset is left out. */
function toJson(queue: QueueInfo): Readonly<Record<string, unknown>> {
  return {
    name: queue.name,
    states: queue.states,
    waiting: queue.waiting,
    live_turns: queue.liveTurns,
    oldest_waiting_ms: queue.oldestWaiting,
    dead_letters: queue.deadLetters,
    paused: queue.paused,
    policy: policyJson(queue.policy),
  };
}

function policyJson(policy: QueueInfo['policy']): Readonly<Record<string, unknown>> {
  const { rate, retry } = policy;
  return {
    waiting_per_key: policy.waitingPerKey,
    when_full: policy.whenFull,
    lease_ms: policy.lease,
    max_hold_ms: policy.maxHold,
    wait_ms: policy.wait,
    on_wait_timeout: policy.onWaitTimeout,
    ticket_ttl_ms: policy.ticketTtl,
    min_interval_ms: policy.minInterval,
    when_too_soon: policy.whenTooSoon,
    rate: rate && { per_second: rate.perSecond, burst: rate.burst },
    max_in_flight: policy.maxInFlight,
    retry: retry && {
      max_attempts: retry.maxAttempts,
      max_crashes: retry.maxCrashes,
      initial_ms: retry.initial,
      factor: retry.factor,
      max_ms: retry.max,
      jitter: retry.jitter,
    },
    on_dead_letter: policy.onDeadLetter,
    delivery: policy.delivery,
    idempotency_ttl_ms: policy.idempotencyTtl,
    result_ttl_ms: policy.resultTtl,
    max_waiting: policy.maxWaiting,
    max_dead_letters: policy.maxDeadLetters,
    max_remembered: policy.maxRemembered,
    durable: policy.durable,
    durability: policy.durability,
    flush_interval_ms: policy.flushInterval,
    flush_count: policy.flushCount,
    on_dependency_dead: policy.onDependencyDead,
    group: policy.group,
    spread: policy.spread,
    slow_hold_ms: policy.slowHold,
  };
}
