/** `keyturn cluster finalize`: fixes the format of rows after an upgrade. */
import type { Command } from 'commander';
import { harmlessJson } from '../observability/harmless.js';
import { act } from './action.js';
import { EXIT } from './exit-codes.js';
import { optionsOf } from './group-options.js';
import { type SidecarOptions, sidecarOptions } from './options.js';
import { type Reasoned, reasonOption } from './reason.js';
import { withSidecar } from './sidecar.js';

interface FinalizeOptions extends SidecarOptions, Reasoned {
  readonly json?: boolean;
}

const HELP = `
For after an upgrade, when every sidecar runs the new version and none of the old one comes back. Until then rows are
written in the newest format that all members read, so that an older one can be the next home. Sidecars that cannot read
the format that is fixed do not join. It cannot be undone.

Example:
  $ keyturn cluster finalize
`;

export function registerFinalize(cluster: Command): void {
  const command = cluster
    .command('finalize')
    .summary('fix the format of rows after an upgrade')
    .description('Fixes the format of rows: no older version comes back.')
    .option('--json', 'print one JSON object');
  sidecarOptions(reasonOption(command))
    .addHelpText('after', HELP)
    .action((_: unknown, self: Command) => act(() => finalize(optionsOf<FinalizeOptions>(self, cluster))));
}

async function finalize(options: FinalizeOptions): Promise<number> {
  const { format, changed } = await withSidecar(options, ({ admin }) =>
    admin.finalizeCluster({ reason: options.reason }),
  );
  const text = changed
    ? `rows are in format ${format} from now on`
    : `nothing to finalize: rows are in format ${format}, the newest that this version knows`;
  process.stdout.write(options.json === true ? `${harmlessJson({ format, changed })}\n` : `${text}\n`);
  return EXIT.ok;
}
