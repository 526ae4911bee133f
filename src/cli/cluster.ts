/** `keyturn cluster`: who is in the cluster of a sidecar, and who decides about what. */
import type { Keyturn } from '@keyturn/client';
import type { Command } from 'commander';
import { harmlessJson } from '../observability/harmless.js';
import { act } from './action.js';
import { registerFinalize } from './cluster-finalize.js';
import { registerMove } from './cluster-move.js';
import { registerRestore } from './cluster-restore.js';
import { registerRoute, routeText } from './cluster-route.js';
import { EXIT } from './exit-codes.js';
import { type SidecarOptions, sidecarOptions } from './options.js';
import { alignColumns, amount, count, plain, ranges } from './output.js';
import { withSidecar } from './sidecar.js';

interface ClusterOptions extends SidecarOptions {
  readonly json?: boolean;
}

type ClusterInfo = Awaited<ReturnType<Keyturn['admin']['getCluster']>>;

const HELP = `
The first table has the members: their host, the beginning of their id (another one after each start), where clients
and where other sidecars reach them, how many partitions and queues they have. Gateways (weight 0) are not among them.
The second has the partitions, summed up by member and state:
  open          its member decides about it
  claiming, loading, handing_over, closed, reclaiming, dropping
                of the sidecar that is asked: on the way to open, or from it
  unreachable   its member was asked and did not answer
  none          nobody has it; below the table stands why
Below it stand the partitions that people moved, and where they want them, and the queues that have a group of others or
are spread, with the partitions in which they live.

Examples:
  $ keyturn cluster
  $ keyturn cluster --json
`;

export function registerCluster(program: Command): void {
  const command = program
    .command('cluster')
    .summary('show the members of the cluster, and who decides about what')
    .description('Shows the members of the cluster of a sidecar, and which of them is the home of each partition.')
    .option('--json', 'print one JSON object');
  sidecarOptions(command)
    .addHelpText('after', HELP)
    .action((options: ClusterOptions) => act(() => showCluster(options)));
  registerMove(command);
  registerRoute(command);
  registerRestore(command);
  registerFinalize(command);
}

async function showCluster(options: ClusterOptions): Promise<number> {
  const info = await withSidecar(options, ({ admin }) => admin.getCluster());
  process.stdout.write(options.json === true ? `${harmlessJson(toJson(info))}\n` : toText(info));
  return EXIT.ok;
}

/** With the names of the contract. */
function toJson(info: ClusterInfo): Readonly<Record<string, unknown>> {
  const { name, partitions, store, registry, members, homes, routes } = info;
  return {
    name,
    partitions,
    store,
    registry,
    members: members.map(({ id, name: host, peer, address, version, weight, state, partitions: has }) => ({
      id,
      name: host,
      peer,
      address,
      version,
      weight,
      state,
      partitions: has,
    })),
    homes: homes.map(({ partition, member, epoch, state, queues, pinned }) => ({
      partition,
      member,
      epoch,
      state,
      queues,
      pinned,
    })),
    routes: routes.map(({ queue, group, spread, partitions: has, changing }) => ({
      queue,
      group,
      spread,
      partitions: has,
      changing,
    })),
  };
}

function toText(info: ClusterInfo): string {
  const { name, partitions, store, registry } = info;
  const where = registry === store ? `in ${store}` : `in ${store}, registry ${registry}`;
  const head = alignColumns([
    [`cluster ${plain(name)}: ${amount(partitions, 'partition')} ${where}, rows in format ${info.format}`],
  ]);
  return [head, membersText(info), homesText(info), pinsText(info), routesText(info), whyText(info)]
    .filter((part) => part !== '')
    .join('\n');
}

const HEAD = ['MEMBER', 'ID', 'ADDRESS', 'PEER', 'VERSION', 'WEIGHT', 'STATE', 'PARTITIONS', 'QUEUES'];
/** So much of an id tells members apart. */
const SHORT_ID = 8;

function membersText({ members, homes }: ClusterInfo): string {
  if (members.length === 0) return 'no members: nothing is decided until one is started with a weight above 0\n';
  const queuesOf = (id: string) => homes.reduce((sum, { member, queues }) => sum + (member === id ? queues : 0), 0);
  const rows = members.map((member) => [
    plain(member.name),
    plain(member.id.slice(0, SHORT_ID)),
    member.address === '' ? '-' : plain(member.address),
    plain(member.peer),
    plain(member.version),
    count(member.weight),
    member.state,
    count(member.partitions),
    count(queuesOf(member.id)),
  ]);
  return alignColumns([HEAD, ...rows]);
}

function homesText({ members, homes }: ClusterInfo): string {
  const hosts = new Map(members.map(({ id, name }) => [id, `${plain(name)} ${plain(id.slice(0, SHORT_ID))}`]));
  const groups = new Map<string, { readonly row: readonly string[]; readonly partitions: number[] }>();
  for (const { partition, member, state } of homes) {
    const who = member === '' ? '-' : (hosts.get(member) ?? plain(member.slice(0, SHORT_ID)));
    const group = groups.get(`${state} ${member}`) ?? { row: [who, state], partitions: [] };
    group.partitions.push(partition);
    groups.set(`${state} ${member}`, group);
  }
  const rows = [...groups.values()].map(({ row, partitions }) => [
    ...row,
    count(partitions.length),
    ranges(partitions),
  ]);
  return alignColumns([['HOME', 'STATE', 'COUNT', 'PARTITIONS'], ...rows]);
}

function pinsText({ homes }: ClusterInfo): string {
  const byPin = new Map<string, number[]>();
  for (const { partition, pinned } of homes) {
    if (pinned === '') continue;
    const known = byPin.get(pinned);
    if (known === undefined) byPin.set(pinned, [partition]);
    else known.push(partition);
  }
  if (byPin.size === 0) return '';
  const rows = [...byPin].map(([pinned, partitions]) => [pinned, ranges(partitions)]);
  return alignColumns([['MOVED TO', 'PARTITIONS'], ...rows]);
}

/** More stand in what --json prints. */
const MOST_ROUTES = 50;

function routesText({ routes }: ClusterInfo): string {
  if (routes.length === 0) return '';
  const rows = routes
    .slice(0, MOST_ROUTES)
    .map((route) => [plain(route.queue), routeText(route), ranges(route.partitions)]);
  const rest = routes.length - MOST_ROUTES;
  const more = rest > 0 ? [[`and ${amount(rest, 'queue')} more: --json shows all`]] : [];
  return alignColumns([['QUEUE', 'ROUTE', 'PARTITIONS'], ...rows, ...more]);
}

/** More are much the same. */
const MOST_WHY = 3;

function whyText({ unavailable }: ClusterInfo): string {
  if (unavailable.length === 0) return '';
  const rest = unavailable.length - MOST_WHY;
  const lines = unavailable.slice(0, MOST_WHY).map(({ why }) => [why]);
  return alignColumns(rest > 0 ? [...lines, [`and ${amount(rest, 'partition')} more`]] : lines);
}
