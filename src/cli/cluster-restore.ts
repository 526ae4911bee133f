/** `keyturn cluster restore`: partitions of which the store has nothing any more are written back. */
import { stdin } from 'node:process';
import { createInterface } from 'node:readline/promises';
import { type Keyturn, KeyturnError, type RestoredPartition, type RestoreInfo } from '@keyturn/client';
import { type Command, InvalidArgumentError } from 'commander';
import { harmlessJson } from '../observability/harmless.js';
import { act } from './action.js';
import { EXIT } from './exit-codes.js';
import { CommandFailure } from './failure.js';
import { optionsOf } from './group-options.js';
import { type SidecarOptions, sidecarOptions } from './options.js';
import { amount, plain, ranges } from './output.js';
import { type Reasoned, reasonOption } from './reason.js';
import { withSidecar } from './sidecar.js';

interface RestoreOptions extends SidecarOptions, Reasoned {
  readonly acceptLoss?: boolean;
  readonly yes?: boolean;
  readonly json?: boolean;
}

/** Partitions of the largest cluster are numbered up to this. */
const LAST_PARTITION = 255;
/** So often a sidecar is asked whether what is under way is done: 20 s each. */
const MOST_ROUNDS = 30;

const HELP = `
For when the store was emptied (FLUSHALL) or lost what it had: members keep their partitions in memory until a person has
decided, and nothing begins anew by itself. End no sidecar before. Ask any one that lives.

Each partition is written back by the member that keeps it, as it is there: nothing that was answered is lost, order and
tokens go on. The record of the cluster is put back first, if it is gone too. A partition that no live member keeps stays
as it is; with --accept-loss it begins empty, and what it had is lost. --accept-loss also drops what another cluster has
written to the emptied store, when its sidecars are gone. On a terminal it asks before, unless --yes is said.

It may be run again at any time. The exit code is ${EXIT.failure} when a partition is not there yet.

Examples:
  $ keyturn cluster restore all
  $ keyturn cluster restore 17
  $ keyturn cluster restore all --accept-loss
`;

export function registerRestore(cluster: Command): void {
  const command = cluster
    .command('restore')
    .argument('<partition>', 'its number, from 0, or "all"', partitionsOf)
    .summary('write partitions back after the store was emptied')
    .description('Writes partitions back from the memory of live members, after the store was emptied.')
    .option('--accept-loss', 'let partitions that no live member keeps begin empty')
    .option('--yes', 'do not ask before that')
    .option('--json', 'print one JSON object');
  sidecarOptions(reasonOption(command))
    .addHelpText('after', HELP)
    .action((partitions: readonly number[], _: unknown, self: Command) =>
      act(() => restore(partitions, optionsOf<RestoreOptions>(self, cluster))),
    );
}

function partitionsOf(value: string): readonly number[] {
  if (value === 'all') return [];
  const number = /^\d{1,3}$/.test(value) ? Number(value) : Number.NaN;
  if (number <= LAST_PARTITION) return [number];
  throw new InvalidArgumentError(`Allowed: a whole number from 0 to ${LAST_PARTITION}, or all.`);
}

async function restore(partitions: readonly number[], options: RestoreOptions): Promise<number> {
  const told = await withSidecar(options, ({ admin }) => restoreBy(admin, partitions, options));
  process.stdout.write(options.json === true ? `${harmlessJson(toJson(told))}\n` : toText(told));
  const isThere = told.partitions.every(({ outcome }) => outcome !== 'no_core' && outcome !== 'under_way');
  return isThere ? EXIT.ok : EXIT.failure;
}

type Admin = Keyturn['admin'];

/** First what loses nothing; a loss is asked for by name. */
async function restoreBy(admin: Admin, partitions: readonly number[], options: RestoreOptions): Promise<RestoreInfo> {
  const why = { reason: options.reason };
  let told = await keptOf(admin, partitions, options);
  const lost = told.partitions.filter(({ outcome }) => outcome === 'no_core').map(({ partition }) => partition);
  if (lost.length === 0 || options.acceptLoss !== true) return told;
  await confirm(
    `No live member keeps ${amount(lost.length, 'partition')}: ${ranges(lost)}. Let them begin empty?`,
    options,
  );
  told = joined(told, await admin.restorePartitions({ partitions: lost, acceptLoss: true }, why));
  return untilDone(admin, told, why);
}

async function keptOf(admin: Admin, partitions: readonly number[], options: RestoreOptions): Promise<RestoreInfo> {
  const why = { reason: options.reason };
  try {
    return await untilDone(admin, await admin.restorePartitions({ partitions }, why), why);
  } catch (error) {
    if (!isOtherCluster(error) || options.acceptLoss !== true) throw error;
    await confirm(
      'Another cluster began in the emptied store. Drop what it has there, write this one back, and let begin empty what no live member keeps?',
      options,
    );
    return untilDone(admin, await admin.restorePartitions({ partitions, acceptLoss: true }, why), why);
  }
}

function isOtherCluster(error: unknown): boolean {
  return error instanceof KeyturnError && error.reason === 'OTHER_CLUSTER';
}

async function untilDone(admin: Admin, first: RestoreInfo, why: Reasoned): Promise<RestoreInfo> {
  let told = first;
  for (let left = MOST_ROUNDS; left > 0; left -= 1) {
    const open = told.partitions.filter(({ outcome }) => outcome === 'under_way').map(({ partition }) => partition);
    if (open.length === 0) break;
    process.stderr.write(`${amount(open.length, 'partition')} under way: ${ranges(open)}\n`);
    try {
      told = joined(told, await admin.restorePartitions({ partitions: open }, why));
    } catch (error) {
      if (!(error instanceof KeyturnError) || error.reason !== 'NOTHING_TO_RESTORE') throw error;
      told = joined(told, { recordWritten: false, partitions: open.map((partition) => ({ ...DONE, partition })) });
    }
  }
  return told;
}

const DONE = { outcome: 'not_lost', member: '', why: '' } as const;

/** What was told later counts; what was under way and is there now was done meanwhile. */
function joined(before: RestoreInfo, later: RestoreInfo): RestoreInfo {
  const all = new Map(before.partitions.map((one) => [one.partition, one]));
  for (const one of later.partitions) {
    const was = all.get(one.partition);
    const isDone = one.outcome === 'not_lost' && was?.outcome === 'under_way';
    all.set(one.partition, isDone ? { ...was, outcome: 'written_back', why: '' } : one);
  }
  const partitions = [...all.values()].sort((a, b) => a.partition - b.partition);
  return { recordWritten: before.recordWritten || later.recordWritten, partitions };
}

async function confirm(question: string, { yes }: RestoreOptions): Promise<void> {
  if (yes === true || !stdin.isTTY || !process.stderr.isTTY) return;
  const terminal = createInterface({ input: stdin, output: process.stderr });
  const answer = await terminal.question(`${question} This cannot be undone. [y/N] `).finally(() => terminal.close());
  if (!/^y(es)?$/i.test(answer.trim()))
    throw new CommandFailure('nothing was accepted, and nothing was lost', EXIT.failure);
}

function toJson({ recordWritten, partitions }: RestoreInfo): Readonly<Record<string, unknown>> {
  return {
    record_written: recordWritten,
    partitions: partitions.map(({ partition, outcome, member, why }) => ({ partition, outcome, member, why })),
  };
}

function toText({ recordWritten, partitions }: RestoreInfo): string {
  const groups = new Map<string, RestoredPartition[]>();
  for (const one of partitions) {
    const name = `${one.outcome} ${one.member}`;
    groups.set(name, [...(groups.get(name) ?? []), one]);
  }
  const lines = [...groups.values()].map(
    (group) =>
      `${ranges(group.map(({ partition }) => partition))}: ${group[0] === undefined ? '' : sentence(group[0])}`,
  );
  const head = recordWritten ? ['the record of the cluster is back'] : [];
  // All were claimed while it was looked at who keeps them.
  const all = head.length + lines.length === 0 ? ['nothing to restore: the store has it'] : [...head, ...lines];
  return all.map((line) => `${line}\n`).join('');
}

function sentence({ outcome, member, why }: RestoredPartition): string {
  const who = member === '' ? '' : ` by ${plain(member)}`;
  const texts: Readonly<Record<string, string>> = {
    written_back: `written back${who}`,
    begun_empty: 'begun empty; what was there is lost',
    not_lost: 'nothing to restore: the store has it',
    no_core: 'no live member keeps it: bring back what the store had, or let it begin empty with --accept-loss',
    under_way: `not there yet: ${plain(why)}`,
  };
  return texts[outcome] ?? plain(outcome);
}
