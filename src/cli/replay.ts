import { randomUUID } from 'node:crypto';
import { type Command, Option } from 'commander';
import { harmlessJson, harmlessLines } from '../observability/harmless.js';
import { act, StopSignals } from './action.js';
import { EXIT } from './exit-codes.js';
import { durationBetween, type SidecarOptions, sidecarOptions, text, unaryOption, wholeBetween } from './options.js';
import { amount } from './output.js';
import { type CompareOptions, compareOptions, compareReplay, refuseStrays } from './replay/compare-command.js';
import { chooseFormat, type Input, openInput, READERS } from './replay/input.js';
import { readLines } from './replay/lines.js';
import { Progress } from './replay/progress.js';
import { FORMATS, type Format } from './replay/rows.js';
import { MODES, type Mode, type ReplayOutcome, runReplay } from './replay/run-replay.js';
import { summaryTable } from './replay/summary.js';
import { commandFailure, withWorker } from './sidecar.js';

interface ReplayOptions extends SidecarOptions, CompareOptions {
  readonly format?: Format;
  readonly mode: Mode;
  readonly queue?: string;
  readonly unary?: boolean;
}

const HELP = `
Modes:
  enqueue  every worker brings its own line and asks for the turn of its key (EnQueue, DeQueue). On a queue
           that coalesces, as queues do unless they are told otherwise, repeated work is declined.
  submit   the lines are handed over in order (Submit) and workers take them back (Acquire, Ack). Every
           line is processed, those of one key one after the other.

All workers share one session: one stream that carries every call. With --unary each call goes by itself,
which shows what a session saves.

The summary is made from what the workers saw. The exit code is 1 when two workers were on one key at once,
when the order of a key was broken, or when the figures do not add up. Without --queue the replay uses a
queue of its own name, so that it meets nobody else's work.

With --compare no sidecar is needed and nothing is processed: the log is played in virtual time through four ways
to share keyed work among workers, Keyturn being one of them, and what messages wait for in each is told. Work
times that the log does not have are assumed: heavy-tailed, --work on average. docs/DESIGNS.md explains it.

Examples:
  $ keyturn replay access.log --key path --workers 8 --work 5ms
  $ keyturn replay events.jsonl --key user_id --mode submit --workers 16 --work 1ms --json
  $ keyturn replay access.log --key path --unary      # the same without a session: compare "seconds"
  $ keyturn replay access.log --key path --compare --workers 16 --work 20ms
  $ keyturn replay jobs.csv --key customer --compare --work-column took_ms --time-column at --json
  $ zcat access.log.2.gz | keyturn replay - --format combined --key client --queue cache-refresh
`;

export function registerReplay(program: Command): void {
  const command = program
    .command('replay')
    .summary('send a log through the sidecar, see what it would save')
    .description('Lets workers process the lines of a log through a running sidecar, and tells what they saw.')
    .argument('<file>', 'TSV or CSV with a header line, JSON lines, or a combined log; - is standard input')
    .requiredOption('--key <column>', 'the column that has the key', text)
    .addOption(new Option('--format <format>', 'format of the file; unset: its name tells').choices(FORMATS))
    .addOption(new Option('--mode <mode>', 'how lines go through the sidecar').choices(MODES).default('enqueue'))
    .option('--workers <n>', 'workers at once', wholeBetween(1, 10_000), 8)
    .addOption(workOption())
    .option('--queue <name>', 'the queue; unset: one of its own', text)
    .option('--limit <n>', 'the most lines to take', wholeBetween(0, Number.MAX_SAFE_INTEGER))
    .option('--skip-bad <n>', 'skip up to so many malformed lines', wholeBetween(0, 1_000_000_000), 0)
    .option('--json', 'print the summary as one JSON object')
    .addOption(unaryOption());
  compareOptions(command);
  sidecarOptions(command)
    .addHelpText('after', HELP)
    .action((file: string, options: ReplayOptions) => act(() => replay(file, options)));
}

function workOption(): Option {
  const option = new Option('--work <duration>', 'how long the work on a line takes').default(0, '0s');
  return option.argParser(durationBetween(0, 86_400_000, '0s to 24h'));
}

async function replay(file: string, options: ReplayOptions): Promise<number> {
  refuseStrays(options);
  // First: of a file that is not there nobody wants to know its format.
  const input = await openInput(file);
  try {
    return await replayInput(file, input, options);
  } finally {
    input.close();
  }
}

async function replayInput(file: string, input: Input, options: ReplayOptions): Promise<number> {
  const format = chooseFormat(file, options.format);
  const { key, skipBad, limit, mode, workers, work } = options;
  const lines = readLines(READERS[format], input.bytes, { file: input.name, key, skipBad, limit, warn });
  if (options.compare === true) return compareReplay(lines, input, options, warn);
  const id = `replay-${randomUUID().slice(0, 8)}`;
  const plan = { id, queue: options.queue ?? id, workers, work };
  const progress = new Progress({ lines: limit, bytes: input.size });
  const stop = new StopSignals(() => warn('stopping: giving turns back (once more: at once)'));
  try {
    const source = { lines, close: input.close };
    const outcome = await withWorker(options, plan.queue, (client) =>
      runReplay(client, mode, plan, source, stop.signal, (now) => progress.start(now)),
    );
    progress.stop();
    return report(outcome, options, stop.exitCode);
  } finally {
    progress.stop();
    stop.release();
  }
}

/** Also when the replay broke or was stopped: what was seen until then is worth knowing. */
function report(outcome: ReplayOutcome, options: ReplayOptions, signalled: number | undefined): number {
  const { summary, problems, givenUp, failure } = outcome;
  if (failure === undefined || summary.lines > 0) {
    process.stdout.write(options.json === true ? `${harmlessJson(summary)}\n` : summaryTable(summary));
  }
  if (givenUp > 0 && summary.lines > 0) warn(`gave ${amount(givenUp, 'line')} back unprocessed`);
  for (const problem of problems) warn(problem);
  if (signalled !== undefined) return signalled;
  if (failure !== undefined) throw commandFailure(failure, options.address);
  return problems.length > 0 ? EXIT.failure : EXIT.ok;
}

function warn(message: string): void {
  process.stderr.write(`keyturn: ${harmlessLines(message)}\n`);
}
