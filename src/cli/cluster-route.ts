/** `keyturn cluster route`: shows and changes in which partitions a queue lives. */
import type { RoutedQueue } from '@keyturn/client';
import type { Command } from 'commander';
import { harmlessJson } from '../observability/harmless.js';
import { act } from './action.js';
import { EXIT } from './exit-codes.js';
import { CommandFailure } from './failure.js';
import { optionsOf } from './group-options.js';
import { type SidecarOptions, sidecarOptions, wholeBetween } from './options.js';
import { plain, ranges } from './output.js';
import { type Reasoned, reasonOption } from './reason.js';
import { withSidecar } from './sidecar.js';

interface RouteOptions extends SidecarOptions, Reasoned {
  readonly group?: string;
  readonly spread?: number;
  readonly acceptLoss?: boolean;
  readonly json?: boolean;
}

type Route = RoutedQueue['route'];

const MOST_SPREAD = 64;

const HELP = `
Without --group and --spread it shows where the queue lives. Queues of one group live in one partition, so that their items can
wait for each other (after), and an Ack decides about its follow_ups. The name of the queue itself for a group: with none. A queue that is spread lies
in several partitions, by key; 1: in one.

It changes only while the queue is empty: no items, no turns, no dead letters, nobody in its lines. Else it says what is
left, and nothing changes; stop what submits to the queue and let its workers finish. Workers may wait for it (acquire): they
wait on. Results and idempotency keys that are remembered, a pause and limits that were set hinder it, too; with --accept-loss
they are forgotten, so a Submit that is repeated later is done again.

Calls about the queue wait while it changes. Say the same in the configuration of all sidecars (queues.${'<queue>'}.group,
.spread), or nothing: one that says something else does not start any more.

Examples:
  $ keyturn cluster route orders
  $ keyturn cluster route orders --group shop
  $ keyturn cluster route clicks --spread 8
  $ keyturn cluster route orders --group orders      on its own again
`;

export function registerRoute(cluster: Command): void {
  const command = cluster
    .command('route')
    .argument('<queue>', 'the queue')
    .summary('show or change in which partitions a queue lives')
    .description('Shows in which partitions a queue lives, or changes that while the queue is empty.')
    .option('--group <name>', 'live with the queues of this group')
    .option('--spread <n>', 'over so many parts, by key', wholeBetween(1, MOST_SPREAD))
    .option('--accept-loss', 'forget what is only remembered of it')
    .option('--json', 'print one JSON object');
  sidecarOptions(reasonOption(command))
    .addHelpText('after', HELP)
    .action((queue: string, _: unknown, self: Command) => act(() => route(queue, optionsOf(self, cluster))));
}

async function route(queue: string, options: RouteOptions): Promise<number> {
  const { group, spread, acceptLoss = false } = options;
  if (group !== undefined && spread !== undefined)
    throw new CommandFailure(
      'say either --group or --spread: a queue that is spread is a group of its own',
      EXIT.usage,
    );
  if (acceptLoss && group === undefined && spread === undefined)
    throw new CommandFailure('--accept-loss changes nothing alone: say --group or --spread', EXIT.usage);
  const routed = await withSidecar(options, ({ admin }) =>
    admin.routeQueue({ queue, group, spread, acceptLoss }, { reason: options.reason }),
  );
  process.stdout.write(options.json === true ? `${harmlessJson(toJson(routed))}\n` : toText(routed, options));
  return EXIT.ok;
}

function toJson({ route: { queue, group, spread, partitions, changing }, changed }: RoutedQueue) {
  return { queue, group, spread, partitions, changing, changed };
}

function toText({ route: told, changed }: RoutedQueue, { group, spread }: RouteOptions): string {
  const what = `${plain(told.queue)}: ${routeText(told)}, partition ${ranges(told.partitions)}`;
  if (changed) return `${what} from now on\n`;
  return group === undefined && spread === undefined ? `${what}\n` : `${what} already\n`;
}

/** In a few words. */
export function routeText({ queue, group, spread, changing }: Route): string {
  const place = spread > 1 ? `spread ${spread}` : group === queue ? 'on its own' : `group ${plain(group)}`;
  return changing ? `${place}, being changed` : place;
}
