/** `keyturn store migrate`: the tables of a store, made by whoever may make them. */
import type { Command } from 'commander';
import { migrateStore } from '../cluster/engines/migrate.js';
import { type Flags, loadConfig } from '../config/config.js';
import { ConfigError } from '../config/problem.js';
import { act } from './action.js';
import { toldToPeople } from './data-directory.js';
import { EXIT } from './exit-codes.js';
import { CommandFailure } from './failure.js';

const HELP = `
A sidecar that may make tables makes them at its start, and says so in its log. Where it may not, a person with the right runs this
once, before the first sidecar of a new version, and names the user of the sidecars: it gets what a sidecar needs, and no more.
What is there is left alone: run it as often as you like.

Examples:
  $ keyturn store migrate --store postgres://admin:SECRET@10.0.0.7/keyturn --grant keyturn
`;

interface MigrateFlags extends Flags {
  readonly grant?: string;
}

export function registerMigrate(group: Command): void {
  group
    .command('migrate')
    .description('Makes the tables of a cluster’s store, and gives a user the rights of a sidecar. For PostgreSQL.')
    .option('--config <file>', 'the settings of the cluster’s sidecars (env: KEYTURN_CONFIG)')
    .option('--store <address>', 'the store, with a user who may make tables (env: KEYTURN_STORE)')
    .option('--grant <user>', 'who gets the rights of a sidecar: a user of the database that is there already')
    .addHelpText('after', HELP)
    .action((flags: MigrateFlags) => act(() => run(flags)));
}

async function run({ grant, ...flags }: MigrateFlags): Promise<number> {
  const store = storeOf(flags);
  const { made, name } = await toldToPeople(() => migrateStore(store, grant));
  process.stdout.write(made ? `made the tables in ${name}\n` : `the tables in ${name} are as they should be\n`);
  if (grant !== undefined) process.stdout.write(`${grant} has the rights of a sidecar\n`);
  return EXIT.ok;
}

function storeOf(flags: Flags): string {
  try {
    const { cluster } = loadConfig(flags, process.env);
    if (cluster !== undefined) return cluster.store.url;
  } catch (error) {
    if (error instanceof ConfigError) throw new CommandFailure(error.message, EXIT.usage);
    throw error;
  }
  throw new CommandFailure('store is missing: name that of the cluster: --store, KEYTURN_STORE or store', EXIT.usage);
}
