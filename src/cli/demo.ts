import { type Command, Option } from 'commander';
import { harmlessLines } from '../observability/harmless.js';
import { act, StopSignals } from './action.js';
import { coalescingPicture, orderPicture } from './demo/picture.js';
import { withSettings } from './demo/settings-file.js';
import { type Listening, SidecarProcess } from './demo/sidecar-process.js';
import { StallWatch } from './demo/stall-watch.js';
import { chooseTraffic, type TrafficSource } from './demo/traffic-source.js';
import { EXIT } from './exit-codes.js';
import { text, wholeBetween } from './options.js';
import { percent } from './output.js';
import { Progress } from './replay/progress.js';
import type { ReplaySummary } from './replay/replay-summary.js';
import { FORMATS, type Format } from './replay/rows.js';
import { type Mode, type ReplayOutcome, runReplay } from './replay/run-replay.js';
import { commandFailure, withWorker } from './sidecar.js';

interface DemoOptions {
  readonly format?: Format;
  readonly coalesceBy: string;
  readonly orderBy: string;
  readonly limit: number;
}

const WORKERS = 8;

/** The settings of the demo's sidecar. The other queues live by the built-in policy. */
const SETTINGS = `
queues:
  demo-not-so-soon: { waiting_per_key: 1, min_interval: 1s, when_too_soon: decline }
`;

const HELP = `
Starts a sidecar of its own on free ports, sends the traffic through it in three ways, tells what was seen,
and stops the sidecar. Nothing is left behind.

Without a file it makes up 10,000 requests of the shape of a real log, the same ones each time.

Examples:
  $ keyturn demo
  $ keyturn demo /var/log/nginx/access.log
  $ keyturn demo jobs.csv --coalesce-by url --order-by account
`;

export function registerDemo(program: Command): void {
  program
    .command('demo')
    .summary('see what Keyturn does, with your own log or without')
    .description('Shows on real traffic what one turn per key saves, and what it keeps in order.')
    .argument('[file]', 'TSV or CSV with a header line, JSON lines, or a combined log')
    .addOption(new Option('--format <format>', 'format of the file; unset: its name tells').choices(FORMATS))
    .option('--coalesce-by <column>', 'key of the work that need not be repeated', text, 'path')
    .option('--order-by <column>', 'key of the work that must stay in order', text, 'client')
    .option('--limit <n>', 'the most lines to take', wholeBetween(1, 10_000_000), 10_000)
    .addHelpText('after', HELP)
    .action((file: string | undefined, options: DemoOptions) => act(() => demo(file, options)));
}

async function demo(file: string | undefined, options: DemoOptions): Promise<number> {
  const source = chooseTraffic(file, options.format);
  const stop = new StopSignals();
  try {
    return await withSettings(SETTINGS, async (config) => {
      const { sidecar, at } = await SidecarProcess.start(config);
      try {
        return await new Demo(source, options, at, stop).run();
      } finally {
        await sidecar.stop();
      }
    });
  } finally {
    stop.release();
  }
}

/** One of the ways through the sidecar. */
interface Way {
  readonly queue: string;
  readonly mode: Mode;
  readonly key: string;
  /** ms */
  readonly work: number;
  readonly title: string;
  readonly picture: (summary: ReplaySummary, key: string) => string;
}

class Demo {
  readonly #source: TrafficSource;
  readonly #options: DemoOptions;
  readonly #at: Listening;
  readonly #stop: StopSignals;

  constructor(source: TrafficSource, options: DemoOptions, at: Listening, stop: StopSignals) {
    this.#source = source;
    this.#options = options;
    this.#at = at;
    this.#stop = stop;
  }

  async run(): Promise<number> {
    say(`Traffic: ${this.#source.what}`);
    say(`         as fast as ${WORKERS} workers can, not at the pace of the log`);
    say(`Sidecar: ${this.#at.grpc}, metrics at http://${this.#at.http}/metrics while this runs\n`);
    const outcomes: ReplayOutcome[] = [];
    for (const way of this.#ways()) {
      say(way.title);
      const outcome = await this.#replay(way);
      if (this.#stop.exitCode !== undefined) return this.#stop.exitCode;
      if (outcome.failure !== undefined) throw commandFailure(outcome.failure, this.#at.grpc);
      say(way.picture(outcome.summary, way.key));
      outcomes.push(outcome);
    }
    return this.#judge(outcomes);
  }

  #ways(): readonly Way[] {
    const { coalesceBy, orderBy } = this.#options;
    const workers = `${WORKERS} workers`;
    return [
      {
        queue: 'demo-not-twice',
        mode: 'enqueue',
        key: coalesceBy,
        work: 5,
        title: `1. Not twice at once: ${workers}, 5 ms of work, one turn per ${coalesceBy} (EnQueue, DeQueue)`,
        picture: coalescingPicture,
      },
      {
        queue: 'demo-not-so-soon',
        mode: 'enqueue',
        key: coalesceBy,
        work: 5,
        title: `2. Nor again so soon: the same, and each ${coalesceBy} at most once a second (min_interval: 1s)`,
        picture: coalescingPicture,
      },
      {
        queue: 'demo-in-order',
        mode: 'submit',
        key: orderBy,
        work: 1,
        title: `3. In order: ${workers}, 1 ms of work, one turn per ${orderBy} (Submit, Acquire, Ack)`,
        picture: orderPicture,
      },
    ];
  }

  async #replay({ queue, mode, key, work }: Way): Promise<ReplayOutcome> {
    const { limit } = this.#options;
    const source = await this.#source.open(key, limit, warn);
    const plan = { id: queue, queue, workers: WORKERS, work };
    const progress = new Progress({ lines: limit, bytes: undefined });
    const stall = new StallWatch();
    const stop = AbortSignal.any([this.#stop.signal, stall.signal]);
    try {
      const outcome = await withWorker({ address: this.#at.grpc }, queue, (client) =>
        runReplay(client, mode, plan, source, stop, (now) => {
          progress.start(now);
          stall.start(now);
        }),
      );
      return stall.signal.aborted ? { ...outcome, failure: stall.signal.reason } : outcome;
    } finally {
      stall.stop();
      progress.stop();
    }
  }

  #judge(outcomes: readonly ReplayOutcome[]): number {
    const problems = outcomes.flatMap((outcome) => outcome.problems);
    for (const problem of problems) warn(problem);
    if (problems.length > 0) return EXIT.failure;
    const saved = Math.max(...outcomes.map((outcome) => outcome.summary.saved));
    say(`Every key had its turn: nothing ran twice at once, nothing got out of order, and ${percent(saved)} of the`);
    say('work was not done again where once a second is enough.');
    say('These figures are what the workers saw, not what the sidecar says of itself.');
    return EXIT.ok;
  }
}

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}

function warn(message: string): void {
  process.stderr.write(`keyturn: ${harmlessLines(message)}\n`);
}
