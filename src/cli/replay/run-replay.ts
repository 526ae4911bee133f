import type { Keyturn } from '@keyturn/client';
import { Engine, type LineSource, type ReplayPlan } from './engine.js';
import { EnQueueMode } from './enqueue-mode.js';
import type { ReplaySummary } from './replay-summary.js';
import { SubmitMode } from './submit-mode.js';
import { findProblems } from './summary.js';

export const MODES = ['enqueue', 'submit'] as const;
export type Mode = (typeof MODES)[number];

const RUNNERS: Readonly<Record<Mode, (engine: Engine) => Promise<void>>> = {
  enqueue: (engine) => new EnQueueMode(engine).run(),
  submit: (engine) => new SubmitMode(engine).run(),
};

export interface ReplayProgress {
  /** Lines that have had their end. */
  readonly lines: number;
  /** Bytes of the input up to the last line that was taken. */
  readonly bytes: number;
}

export interface ReplayOutcome {
  readonly summary: ReplaySummary;
  /** What must not be and was, each in one sentence. Empty: all is as promised. */
  readonly problems: readonly string[];
  /** Lines that were taken and given back, because the replay stopped. */
  readonly givenUp: number;
  /** What broke the replay; unset: nothing. */
  readonly failure: unknown;
}

/**
 * Sends the lines of a source through a sidecar, and tells what the workers saw. When `stop` aborts, no more lines are
 * taken and all turns and places are given back; the outcome tells of what was done until then.
 */
export async function runReplay(
  client: Keyturn,
  mode: Mode,
  plan: ReplayPlan,
  source: LineSource,
  stop: AbortSignal,
  watch: (progress: () => ReplayProgress) => void = () => {},
): Promise<ReplayOutcome> {
  const started = performance.now();
  const engine = new Engine(client, plan, source, stop);
  const { tally } = engine;
  watch(() => ({ lines: tally.ended, bytes: engine.bytes }));
  await RUNNERS[mode](engine);
  const summary = tally.summarize(plan.workers, (performance.now() - started) / 1_000);
  return { summary, problems: findProblems(summary, tally), givenUp: tally.givenUp, failure: engine.failure };
}
