/** One step of the tests of the clients: a program, bounded in time, its output in a file and its last words shown. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { mkdir, readFile } from 'node:fs/promises';
import { dirname, relative } from 'node:path';
import { finished } from 'node:stream/promises';
import { ROOT } from '../project/repository.js';
import { type Counts, closingCounts } from './closing-line.js';
import { indented, lastLines, type Said, saidOf } from './said.js';

export interface Step {
  /** For people: `python: check`. */
  readonly name: string;
  readonly command: readonly [string, ...string[]];
  /** Absolute; its folder is made. */
  readonly log: string;
  readonly longestSeconds: number;
}

export interface Outcome extends Counts {
  readonly name: string;
  readonly seconds: number;
  /** Unset: it succeeded. */
  readonly why?: string;
  /** What was told of its failure, for the end of the run. */
  readonly said?: Said;
}

export type Say = (text: string) => void;

/** How often somebody who watches is told that it goes on, ms. */
const BEAT = 15_000;
/** Lines of the log that a failure shows. */
const LAST_WORDS = 60;

export async function runStep(step: Step, say: Say): Promise<Outcome> {
  const start = performance.now();
  const seconds = () => Math.round((performance.now() - start) / 1_000);
  await mkdir(dirname(step.log), { recursive: true });
  const log = relative(process.cwd(), step.log);
  say(`${shown(step.command)}, at most ${step.longestSeconds} s; log: ${log}\n`);
  // With its name: two steps may be under way.
  const ended = await run(step, (last) => say(`  ${step.name}, ${seconds()} s: ${last}\n`));
  const output = await readFile(step.log, 'utf8');
  const outcome = judge(step.name, ended, closingCounts(output), seconds());
  if (outcome.why === undefined) {
    say(`${step.name}: ${outcome.passed} passed in ${outcome.seconds} s\n`);
    return outcome;
  }
  say(`${indented(lastLines(output, LAST_WORDS))}\n${step.name} failed: ${outcome.why}\n`);
  return { ...outcome, said: saidOf(output) };
}

/** As somebody would type it at the root. */
function shown([program, ...args]: Step['command']): string {
  const name = program === process.execPath ? 'node' : program;
  return [name, ...args].map((word) => word.replace(ROOT, '')).join(' ');
}

/** Unset: it ended well. */
type Ended = string | undefined;

/** A step that fails counts as one at least, and one that says no counts is one test. */
export function judge(name: string, ended: Ended, counts: Counts | undefined, seconds: number): Outcome {
  if (ended !== undefined) {
    const { passed, failed } = counts ?? { passed: 0, failed: 0 };
    return { name, seconds, passed, failed: Math.max(1, failed), why: ended };
  }
  if (counts === undefined) return { name, seconds, passed: 1, failed: 0 };
  if (counts.failed === 0) return { name, seconds, ...counts };
  return { name, seconds, ...counts, why: `it ended with 0, and says that ${counts.failed} failed` };
}

async function run({ command: [program, ...args], log, longestSeconds }: Step, beat: Say): Promise<Ended> {
  const file = createWriteStream(log);
  // A group of its own, so that what it started ends with it.
  const child = spawn(program, args, {
    cwd: ROOT,
    env: environment(),
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const kill = () => killGroup(child.pid);
  const interrupted = () => process.exit(130);
  process.once('exit', kill).once('SIGINT', interrupted).once('SIGTERM', interrupted);
  let late = false;
  let last = '';
  for (const output of [child.stdout, child.stderr]) {
    output.pipe(file, { end: false });
    output.on('data', (chunk: Buffer) => {
      last = lastLine(chunk.toString('utf8')) ?? last;
    });
  }
  const timers = [
    setInterval(() => beat(last), BEAT),
    setTimeout(() => {
      late = true;
      kill();
    }, longestSeconds * 1_000),
  ];
  try {
    const [code, signal]: unknown[] = await once(child, 'close');
    if (late) return `it was not done after ${longestSeconds} s`;
    return code === 0 ? undefined : `it ended with ${String(signal ?? code)}`;
  } catch (error) {
    // It could not be started.
    return error instanceof Error ? error.message : String(error);
  } finally {
    for (const timer of timers) clearInterval(timer);
    kill();
    process.off('exit', kill).off('SIGINT', interrupted).off('SIGTERM', interrupted);
    file.end();
    await finished(file);
  }
}

function killGroup(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch (error) {
    // Nobody of the group is left.
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error;
  }
}

/** Somebody's settings of a sidecar or of a client are not those of the tests. */
function environment(): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('KEYTURN_')));
}

function lastLine(text: string): string | undefined {
  return text
    .split('\n')
    .map((line) => line.trim().slice(0, 120))
    .findLast((line) => line !== '');
}
