/** `keyturn leader`: who leads a group. */
import type { GroupInfo } from '@keyturn/client';
import { type Command, Option } from 'commander';
import { harmless, harmlessJson } from '../observability/harmless.js';
import { act, StopSignals } from './action.js';
import { EXIT } from './exit-codes.js';
import { type SidecarOptions, sidecarOptions, text } from './options.js';
import { ago, amount, humanDuration, isoInstant, plain } from './output.js';
import { type Reasoned, reasonOption } from './reason.js';
import { withSidecar } from './sidecar.js';

interface LeaderOptions extends SidecarOptions, Reasoned {
  readonly watch?: boolean;
  readonly yield?: boolean;
  readonly json?: boolean;
}

const HELP = `
With --json: group, candidate, term, since, candidates, and phase, holds_until, metadata, predecessor, why, until; with --watch one
object a line. Without a leader candidate, term and since are null.

Exit codes: 0 somebody leads, or was asked to hand over; ${EXIT.failure} nobody does.

Examples:
  $ keyturn leader backup
  $ keyturn leader backup --watch
  $ keyturn leader backup --yield
`;

export function registerLeader(program: Command): void {
  const command = program
    .command('leader')
    .summary('show who leads a group, or ask for a hand-over')
    .description('Shows who leads a group, asked where that is decided.')
    .argument('<group>', 'the group', text)
    .option('--watch', 'go on, and show every change')
    .addOption(new Option('--yield', 'ask the leader to hand over').conflicts('watch'))
    .option('--json', 'print JSON');
  sidecarOptions(reasonOption(command))
    .addHelpText('after', HELP)
    .action((group: string, options: LeaderOptions) => act(() => leader(group, options)));
}

async function leader(group: string, options: LeaderOptions): Promise<number> {
  const json = options.json === true;
  if (options.watch === true) return watch(group, options, json);
  return withSidecar(options, async (client) => {
    const asked =
      options.yield === true ? await client.admin.yieldLeader(group, { reason: options.reason }) : undefined;
    const info = await client.admin.getLeader(group);
    if (asked !== undefined && !json) {
      process.stdout.write(
        harmless(`asked ${plain(asked.candidateId)} to hand over (term ${asked.term})`).concat('\n'),
      );
    } else show(info, json);
    return (asked ?? info.leader) === undefined ? EXIT.failure : EXIT.ok;
  });
}

async function watch(group: string, options: LeaderOptions, json: boolean): Promise<number> {
  const stop = new StopSignals();
  try {
    await withSidecar(options, async (client) => {
      for await (const info of client.admin.watchLeader(group, { signal: stop.signal })) show(info, json);
    });
  } catch (error) {
    // The stop itself ends the stream with an error.
    if (!stop.signal.aborted) throw error;
  } finally {
    stop.release();
  }
  return stop.exitCode ?? EXIT.ok;
}

function show(info: GroupInfo, json: boolean): void {
  process.stdout.write(json ? `${harmlessJson(toJson(info))}\n` : `${harmless(inWords(info))}\n`);
}

function inWords({ group, leader, candidates, predecessor, why, until }: GroupInfo): string {
  const latest = until === undefined ? '' : `, at the latest in ${humanDuration(until - Date.now())}`;
  const wait = `${amount(candidates, 'candidate')} waiting${why === '' ? '' : ` (${harmless(why)}${latest})`}`;
  const before = predecessor.how === 'none' ? '' : `; before: ${plain(predecessor.candidateId)}, ${predecessor.how}`;
  if (leader === undefined) return `group ${group}: nobody leads, ${wait}${before}`;
  const { candidateId, term, phase, since, holdsFor } = leader;
  const holds = `known to hold for ${humanDuration(holdsFor)}`;
  return `group ${group}: ${plain(candidateId)}, ${phase}, term ${term}, since ${ago(since)}, ${holds}, ${wait}${before}`;
}

function toJson({ group, leader, candidates, predecessor, why, until }: GroupInfo): Readonly<Record<string, unknown>> {
  const { candidateId, term, how } = predecessor;
  return {
    group,
    candidate: leader?.candidateId ?? null,
    term: leader?.term ?? null,
    since: leader === undefined ? null : isoInstant(leader.since),
    candidates,
    phase: leader?.phase,
    holds_until: leader && isoInstant(leader.holdsUntil),
    metadata: leader && Object.fromEntries(leader.metadata),
    why: why === '' ? undefined : why,
    until: until === undefined ? undefined : isoInstant(until),
    predecessor: how === 'none' ? undefined : { candidate: candidateId, term, how },
  };
}
