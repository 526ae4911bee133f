import type { RightView, ServerInfo } from '@keyturn/client';
import type { Command } from 'commander';
import { harmlessJson, harmlessLines } from '../observability/harmless.js';
import { act } from './action.js';
import { EXIT } from './exit-codes.js';
import { type SidecarOptions, sidecarOptions } from './options.js';
import { ago, alignColumns, count, isoInstant, plain } from './output.js';
import { withSidecar } from './sidecar.js';

interface ServerOptions extends SidecarOptions {
  readonly json?: boolean;
}

const HELP = `
Settings and limits are told to those who may view all queues. Secrets are never told.

Example:
  $ keyturn server --address 10.0.0.7:7420 --token-file ops.token
`;

export function registerServer(program: Command): void {
  const command = program
    .command('server')
    .summary('what is this sidecar, and what may I do there?')
    .description('Tells of the sidecar that is asked: version, addresses, settings, limits; and of who asks.')
    .option('--json', 'print one JSON object');
  sidecarOptions(command)
    .addHelpText('after', HELP)
    .action((options: ServerOptions) => act(() => tellServer(options)));
}

async function tellServer(options: ServerOptions): Promise<number> {
  const info = await withSidecar(options, ({ admin }) => admin.getServer());
  process.stdout.write(options.json === true ? `${harmlessJson(toJson(info))}\n` : toText(info));
  return EXIT.ok;
}

const KEEPS: Readonly<Record<string, string>> = {
  memory: 'in memory only',
  directory: 'in its data directory',
  store: 'in the store of its cluster',
};

function toText(info: ServerInfo): string {
  const { version, runtime, startedAt, principal, rights, auth, tls, audit, cluster, keeps, settings, limits } = info;
  const facts: (readonly [string, string] | false)[] = [
    ['version', `${version}, ${runtime}`],
    ['started', `${isoInstant(startedAt)} (${ago(startedAt)})`],
    cluster !== undefined && ['cluster', plain(cluster)],
    ['keeps', KEEPS[keeps] ?? keeps],
    ['gRPC', `${info.grpcAddress}${tls ? ', TLS' : ''}`],
    ['metrics', info.httpAddress],
    ['console', info.consoleAddress ?? 'none'],
    ['audit', audit ? 'on' : 'off'],
    ['you are', auth ? plain(principal ?? '') : 'whoever you are: nobody is asked'],
    ...rights.map((right): [string, string] => ['you may', rightText(right)]),
    ...limits.map(({ limit, used, most }): [string, string] => [
      limit.replaceAll('_', ' '),
      most === undefined ? count(used) : `${count(used)} of ${count(most)}`,
    ]),
  ];
  const told =
    settings === undefined ? '' : `\nsettings that differ from the built-in ones:\n${harmlessLines(settings)}`;
  return alignColumns(facts.filter((fact) => fact !== false)) + told;
}

function rightText({ queues, groups, may }: RightView): string {
  const where = [...queues.map((queue) => `queue ${queue}`), ...groups.map((group) => `group ${group}`)];
  return `${may.join(', ')} on ${where.join(', ')}`;
}

/** With the names of the contract; instants in ISO 8601. What is unset is left out. */
function toJson(info: ServerInfo): Readonly<Record<string, unknown>> {
  return {
    version: info.version,
    runtime: info.runtime,
    started_at: isoInstant(info.startedAt),
    now: isoInstant(info.now),
    principal: info.principal,
    rights: info.rights,
    auth: info.auth,
    tls: info.tls,
    audit: info.audit,
    cluster: info.cluster,
    keeps: info.keeps,
    grpc_address: info.grpcAddress,
    http_address: info.httpAddress,
    console_address: info.consoleAddress,
    settings: info.settings,
    limits: info.limits,
  };
}
