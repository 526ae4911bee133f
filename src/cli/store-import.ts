/** `keyturn store import`: what a single sidecar kept in a data directory becomes the beginning of a cluster. */
import type { Command } from 'commander';
import { type Flags, loadConfig } from '../config/config.js';
import { ConfigError } from '../config/problem.js';
import { act } from './action.js';
import { toldToPeople, withData } from './data-directory.js';
import { EXIT } from './exit-codes.js';
import { CommandFailure } from './failure.js';
import { amount } from './output.js';
import { importDirectory } from './store-import/import-directory.js';
import type { Imported } from './store-import/imported-rows.js';
import { registerMigrate } from './store-migrate.js';

const HELP = `
All sidecars of the cluster and the one of the directory have to be ended: the command refuses while one of them lives, and
none starts before it is done. The cluster has to be empty, or new. Settings are those of the cluster's sidecars, from the
same file or the same flags: "group" and "spread" say where queues go, and cannot be changed later.

What comes over: items with their ids, order, attempts, delays, headers and what they wait for, dead letters, results,
idempotency keys that are done, parked keys and paused queues. Tokens go on above all that were given.
What does not: live turns. They are ended: their items go back to the head of their lines, no attempt is counted, and what
their workers do with the old tokens is refused with TURN_LOST; items of at_most_once that were handed out count as done,
for ten minutes. So drain the sidecar before (SIGTERM). Sessions, callers that wait, tickets of turns that have ended, and
what is left of a min_interval are forgotten.

An item that waits for one of another queue needs both in one "group". Nothing counts before everything is written. A
command that was cut off is simply run again. The directory stays as it is.

Examples:
  $ keyturn store import /var/lib/keyturn --store redis://10.0.0.5:6379
  $ keyturn store import /var/lib/keyturn --config keyturn.yaml
`;

export function registerStore(program: Command): void {
  const group = program
    .command('store')
    .summary('bring a data directory into a cluster, make the tables of a store')
    .description('What a cluster keeps in its store, for people.');
  group
    .command('import')
    .description('Brings what a single sidecar kept in a data directory into an empty cluster.')
    .argument('<directory>', 'the data directory')
    .option('--config <file>', 'the settings of the cluster’s sidecars (env: KEYTURN_CONFIG)')
    .option('--store <address>', 'the store of the cluster (env: KEYTURN_STORE)')
    .option('--registry <address>', 'its registry, if that is another one (env: KEYTURN_REGISTRY)')
    .option('--cluster-name <name>', 'its name (env: KEYTURN_CLUSTER_NAME)')
    .option('--cluster-partitions <n>', 'how many partitions a new one has (env: KEYTURN_CLUSTER_PARTITIONS)')
    .addHelpText('after', HELP)
    .action((directory: string, flags: Flags) => act(() => importInto(directory, flags)));
  registerMigrate(group);
}

async function importInto(directory: string, flags: Flags): Promise<number> {
  const config = readConfig(flags);
  if (config.cluster === undefined)
    throw new CommandFailure('store is missing: name that of the cluster: --store, KEYTURN_STORE or store', EXIT.usage);
  const { cluster, coordinator } = config;
  const imported = await toldToPeople(() =>
    withData({ dataDir: directory }, (reader) => importDirectory(reader, cluster, coordinator, tell)),
  );
  process.stdout.write(summary(imported));
  return EXIT.ok;
}

function tell(rows: number, isLast: boolean): void {
  if (process.stderr.isTTY) process.stderr.write(`\r${amount(rows, 'row')} written${isLast ? '\n' : ''}`);
}

function summary(imported: Imported): string {
  const { items, deadLetters, results, idempotencyKeys, parkedKeys, pausedQueues, liveTurns } = imported;
  const came = [
    amount(items, 'item'),
    amount(deadLetters, 'dead letter'),
    amount(results, 'result'),
    amount(idempotencyKeys, 'idempotency key'),
    amount(parkedKeys, 'parked key'),
    amount(pausedQueues, 'paused queue'),
  ];
  const ended =
    liveTurns === 0 ? '' : `${amount(liveTurns, 'live turn')} ended: their items are at the head of their lines\n`;
  return `imported ${came.join(', ')}\n${ended}start the sidecars of the cluster now\n`;
}

function readConfig(flags: Flags) {
  try {
    return loadConfig(flags, process.env);
  } catch (error) {
    if (error instanceof ConfigError) throw new CommandFailure(error.message, EXIT.usage);
    throw error;
  }
}
