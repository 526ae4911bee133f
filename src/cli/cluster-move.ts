/** `keyturn cluster move`: makes a member the home of a partition. */
import type { MovedPartition } from '@keyturn/client';
import type { Command } from 'commander';
import { harmlessJson } from '../observability/harmless.js';
import { act } from './action.js';
import { EXIT } from './exit-codes.js';
import { CommandFailure } from './failure.js';
import { optionsOf } from './group-options.js';
import { type SidecarOptions, sidecarOptions, wholeBetween } from './options.js';
import { plain } from './output.js';
import { type Reasoned, reasonOption } from './reason.js';
import { withSidecar } from './sidecar.js';

interface MoveOptions extends SidecarOptions, Reasoned {
  readonly anywhere?: boolean;
  readonly json?: boolean;
}

/** Partitions of the largest cluster are numbered up to this. */
const LAST_PARTITION = 255;

const HELP = `
MEMBER is a name as "keyturn cluster" shows it, where only one member has it, or an id, or its first characters (4 or more).

The partition stays there as long as that member lives, also when the shares of the members are made even again: another
one may be moved instead. When the member is gone the cluster chooses another home; when it starts again, under the same
name, it gets the partition back after 15 s without change. --anywhere ends that. It also ends when the name was not seen
for an hour.

Calls wait while the partition moves. The command waits too, up to 20 s; then it says what is in the way, and exits with 1.
The move goes on.

Examples:
  $ keyturn cluster move 17 coordinator-2
  $ keyturn cluster move 17 3f9ac2e1
  $ keyturn cluster move 17 --anywhere
`;

export function registerMove(cluster: Command): void {
  const command = cluster
    .command('move')
    .argument('<partition>', 'its number, from 0', wholeBetween(0, LAST_PARTITION))
    .argument('[member]', 'the name or the id of its next home')
    .summary('make a member the home of a partition')
    .description('Hands a partition over to a member, and keeps it there as long as that member lives.')
    .option('--anywhere', 'keep it nowhere any more: the cluster chooses')
    .option('--json', 'print one JSON object');
  sidecarOptions(reasonOption(command))
    .addHelpText('after', HELP)
    .action((partition: number, member: string | undefined, _: unknown, self: Command) =>
      act(() => move(partition, member, optionsOf(self, cluster))),
    );
}

async function move(partition: number, member: string | undefined, options: MoveOptions): Promise<number> {
  const anywhere = options.anywhere === true;
  if (anywhere === (member !== undefined))
    throw new CommandFailure('say either a MEMBER or --anywhere; "keyturn cluster" shows the members', EXIT.usage);
  const why = { reason: options.reason };
  const moved = await withSidecar(options, ({ admin }) =>
    member === undefined ? admin.releasePartition(partition, why) : admin.movePartition(partition, member, why),
  );
  process.stdout.write(
    options.json === true ? `${harmlessJson(toJson(partition, moved))}\n` : toText(partition, moved),
  );
  return moved.state === 'under_way' ? EXIT.failure : EXIT.ok;
}

function toJson(partition: number, { state, member, name, previous, paused, why }: MovedPartition) {
  return { partition, state, member, name, previous, paused_ms: paused ?? null, why };
}

function toText(partition: number, { state, name, previous, paused, why }: MovedPartition): string {
  const to = plain(name);
  const from = previous === '' ? 'nobody' : plain(previous);
  const pause = paused === undefined ? '' : `; calls waited for ${Math.ceil(paused)} ms`;
  const keeps = 'and stays there while it lives; "--anywhere" ends that';
  const texts: Readonly<Record<string, string>> = {
    moved: `partition ${partition} moved from ${from} to ${to}${pause}, ${keeps}`,
    already_there: `partition ${partition} was at ${to} already, ${keeps}`,
    released: `partition ${partition} is kept nowhere any more; ${name === '' ? 'nobody has it' : `${to} has it`} now`,
    under_way: `partition ${partition} is not at ${to} yet: ${plain(why)}`,
  };
  return `${texts[state] ?? `partition ${partition}: ${plain(state)}`}\n`;
}
