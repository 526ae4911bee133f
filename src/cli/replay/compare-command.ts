import { type Command, InvalidArgumentError, Option } from 'commander';
import { LONGEST_WORK } from '../../designs/traffic.js';
import { harmlessJson } from '../../observability/harmless.js';
import { StopSignals } from '../action.js';
import { EXIT } from '../exit-codes.js';
import { CommandFailure } from '../failure.js';
import { durationBetween, text, wholeBetween } from '../options.js';
import { compareLines } from './compare.js';
import { comparisonJson, comparisonTable } from './compare-table.js';
import type { Input } from './input.js';
import type { Line } from './lines.js';
import { Progress } from './progress.js';

export interface CompareOptions {
  readonly key: string;
  readonly workers: number;
  readonly work: number;
  readonly skipBad: number;
  readonly limit?: number;
  readonly json?: boolean;
  readonly queue?: string;
  readonly unary?: boolean;
  readonly compare?: boolean;
  readonly load?: number;
  readonly slow?: number;
  readonly stuck?: number;
  readonly seed?: number;
  readonly workColumn?: string;
  readonly timeColumn?: string;
}

/** Mean work where neither the log nor `--work` tells it, ms. */
const WORK = 10;
const LOAD = 60;
const SLOW = 5;
const SLOW_TIMES = 100;

export function compareOptions(command: Command): void {
  command
    .option('--compare', 'without a sidecar: play the log in virtual time through other designs too')
    .addOption(
      new Option('--load <percent>', `compare: how busy workers are; unset: ${LOAD}`).argParser(percent(1, 99)),
    )
    .addOption(
      new Option('--slow <percent>', `compare: lines of keys ${SLOW_TIMES} times as slow; unset: ${SLOW}`).argParser(
        percent(0, 50),
      ),
    )
    .addOption(
      new Option('--stuck <duration>', 'compare: one line of one key takes as long; unset: none').argParser(
        durationBetween(0, LONGEST_WORK, '0s to 24h'),
      ),
    )
    .option('--work-column <column>', 'compare: the column that has the work time of a line, ms', text)
    .option('--time-column <column>', 'compare: the column that has its arrival: Unix seconds, or ISO 8601', text)
    .option('--seed <n>', 'compare: what chance begins with; unset: 1', wholeBetween(0, 4_294_967_295));
}

function percent(least: number, most: number): (value: string) => number {
  return (value) => {
    const share = /^\d{1,3}(\.\d{1,6})?$/.test(value) ? Number(value) : Number.NaN;
    if (share >= least && share <= most) return share;
    throw new InvalidArgumentError(`Allowed: a number from ${least} to ${most}.`);
  };
}

const ONLY_COMPARE = {
  load: '--load',
  slow: '--slow',
  stuck: '--stuck',
  seed: '--seed',
  workColumn: '--work-column',
  timeColumn: '--time-column',
} as const;

/** What would mean nothing is refused: whoever wrote it meant something. */
export function refuseStrays(options: CompareOptions): void {
  const strays = options.compare === true ? straysOfCompare(options) : straysOfReplay(options);
  const [first] = strays;
  if (first !== undefined) throw new CommandFailure(first, EXIT.usage);
}

function straysOfReplay(options: CompareOptions): readonly string[] {
  const { load, slow, stuck, seed, workColumn, timeColumn } = options;
  const given = Object.entries({ load, slow, stuck, seed, workColumn, timeColumn });
  const names: Readonly<Record<string, string>> = ONLY_COMPARE;
  return given.filter(([, value]) => value !== undefined).map(([name]) => `${names[name]} goes with --compare only`);
}

function straysOfCompare({ queue, unary, workColumn, work, slow }: CompareOptions): readonly string[] {
  const found = [
    queue !== undefined && '--queue does not go with --compare, which uses no sidecar',
    unary === true && '--unary does not go with --compare, which uses no sidecar',
    workColumn !== undefined && work > 0 && '--work does not go with --work-column, which tells each work time',
    workColumn !== undefined && slow !== undefined && '--slow does not go with --work-column, which tells what is slow',
  ];
  return found.filter((wrong) => wrong !== false);
}

export async function compareReplay(
  lines: AsyncIterable<Line>,
  input: Input,
  options: CompareOptions,
  warn: (message: string) => void,
): Promise<number> {
  const progress = new Progress({ lines: options.limit, bytes: input.size });
  const stop = new StopSignals(() => {
    warn('stopping');
    input.close();
  });
  try {
    const { workers, work, load = LOAD, slow = SLOW, stuck = 0, seed = 1, workColumn, timeColumn } = options;
    const assumed = { seed, workers, load: load / 100, work: work === 0 ? WORK : work, slowTimes: SLOW_TIMES, stuck };
    const plan = { file: input.name, workColumn, timeColumn, assumed: { ...assumed, slowShare: slow / 100 } };
    const done = await compareLines(lines, plan, stop.signal, (now) => progress.start(now));
    progress.stop();
    if (done === undefined) return stop.exitCode ?? EXIT.failure;
    process.stdout.write(options.json === true ? `${harmlessJson(comparisonJson(done))}\n` : comparisonTable(done));
    return EXIT.ok;
  } catch (error) {
    // An input that was closed in the middle of a read says so; that is no failure.
    if (stop.exitCode !== undefined) return stop.exitCode;
    throw error;
  } finally {
    progress.stop();
    stop.release();
  }
}
