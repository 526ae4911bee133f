/** `keyturn limits`: shows or changes what a queue may do at once and per second. */
import type { LimitsChange, LimitsView } from '@keyturn/client';
import { type Command, InvalidArgumentError } from 'commander';
import { harmlessJson } from '../observability/harmless.js';
import { act } from './action.js';
import { EXIT } from './exit-codes.js';
import { CommandFailure } from './failure.js';
import { findQueue, tellNewQueue, tellNoQueue } from './find-queue.js';
import { type SidecarOptions, sidecarOptions, wholeBetween } from './options.js';
import { alignColumns, count } from './output.js';
import { type Reasoned, reasonOption } from './reason.js';
import { withSidecar } from './sidecar.js';

interface LimitsOptions extends SidecarOptions, Reasoned {
  readonly rate?: number | 'none';
  readonly burst?: number;
  readonly maxInFlight?: number | 'none';
  readonly json?: boolean;
}

const HELP = `
Without --rate and --max-in-flight it shows the limits. A change holds until the next one, or until the sidecar starts
again: then the configuration counts.

Examples:
  $ keyturn limits orders
  $ keyturn limits orders --rate 50 --burst 10
  $ keyturn limits orders --rate none --max-in-flight 20
`;

const MOST = 10_000_000;

export function registerLimits(program: Command): void {
  const command = program
    .command('limits <queue>')
    .summary('show or change rate and max_in_flight of a queue')
    .description('Shows or changes how many turns a queue gives per second and at once.')
    .option('--rate <n>', 'turns per second, or none', rate)
    .option(
      '--burst <n>',
      'turns that may start at once after a pause; with --rate, unset: 1',
      wholeBetween(1, 1_000_000),
    )
    .option('--max-in-flight <n>', 'live turns, or none', maxInFlight)
    .option('--json', 'print one JSON object');
  sidecarOptions(reasonOption(command))
    .addHelpText('after', HELP)
    .action((queue: string, options: LimitsOptions) => act(() => limits(queue, options)));
}

function rate(value: string): number | 'none' {
  if (value === 'none') return 'none';
  const perSecond = /^\d{1,7}(\.\d{1,9})?$/.test(value) ? Number(value) : Number.NaN;
  if (perSecond > 0) return perSecond;
  throw new InvalidArgumentError('Allowed: a number above 0, turns per second, or none.');
}

function maxInFlight(value: string): number | 'none' {
  return value === 'none' ? 'none' : wholeBetween(1, MOST)(value);
}

async function limits(queue: string, options: LimitsOptions): Promise<number> {
  const change = changeOf(options);
  const view = await withSidecar(options, async ({ admin }) => {
    const isThere = (await findQueue(admin, queue)) !== undefined;
    const now = await admin.setLimits(queue, change, { reason: options.reason });
    if (!isThere) (isEmpty(change) ? tellNoQueue : tellNewQueue)(queue);
    return now;
  });
  process.stdout.write(options.json === true ? `${harmlessJson(toJson(queue, view))}\n` : toText(view));
  return EXIT.ok;
}

function changeOf({ rate: perSecond, burst, maxInFlight: most }: LimitsOptions): LimitsChange {
  if (burst !== undefined && typeof perSecond !== 'number')
    throw new CommandFailure('--burst needs --rate with a number', EXIT.usage);
  const change = typeof perSecond === 'number' ? { perSecond, burst: burst ?? 1 } : perSecond;
  return { rate: change, maxInFlight: most };
}

function isEmpty({ rate: changed, maxInFlight: most }: LimitsChange): boolean {
  return changed === undefined && most === undefined;
}

function toText({ rate: now, maxInFlight: most }: LimitsView): string {
  return alignColumns([
    ['rate', now === undefined ? 'none' : `${now.perSecond} per second, burst ${count(now.burst)}`],
    ['max in flight', most === undefined ? 'none' : count(most)],
  ]);
}

function toJson(queue: string, { rate: now, maxInFlight: most }: LimitsView): Readonly<Record<string, unknown>> {
  return {
    queue,
    rate: now === undefined ? null : { per_second: now.perSecond, burst: now.burst },
    max_in_flight: most ?? null,
  };
}
