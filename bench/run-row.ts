import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { Row, RowReport, Say } from './row.js';

/** What a process that the benchmark started tells its parent. */
export type FromChild<Report> =
  | { readonly kind: 'progress'; readonly progress: string }
  | { readonly kind: 'report'; readonly report: Report };

export type ChildOutcome<Report> =
  | { readonly is: 'done'; readonly report: Report }
  | { readonly is: 'failed'; readonly why: string };

/** Between being asked to end and being ended, ms. */
const GRACE = 5_000;

const CHILD = fileURLToPath(new URL('./child.js', import.meta.url));

/** Runs a row in a process of its own: a fresh heap, and code that was compiled for nothing else. */
export function runRow(
  name: string,
  row: Row,
  say: Say,
  profileTo: string | undefined,
  child = CHILD,
): Promise<ChildOutcome<RowReport>> {
  // A profile says where the time goes; the figures of a profiled run are lower than they should be.
  const profiling = profileTo === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${profileTo}`];
  return runChild(child, [name], profiling, row.limit, say);
}

/** Its sender is our own code, which is typed. */
export function runChild<Report>(
  script: string,
  args: readonly string[],
  flags: readonly string[],
  limitSeconds: number,
  say: Say,
): Promise<ChildOutcome<Report>> {
  return new Promise((resolve) => {
    const child = fork(script, args, { execArgv: ['--expose-gc', ...flags], stdio: ['ignore', 2, 2, 'ipc'] });
    let report: { readonly of: Report } | undefined;
    let late = false;
    const timers = [
      setTimeout(() => {
        late = true;
        child.kill('SIGTERM');
      }, limitSeconds * 1_000),
      // It does not hear anything any more.
      setTimeout(() => child.kill('SIGKILL'), limitSeconds * 1_000 + GRACE),
    ];
    child.on('message', (message: FromChild<Report>) => {
      if (message.kind === 'progress') say(message.progress);
      else report = { of: message.report };
    });
    child.on('error', (error) => finish({ is: 'failed', why: error.message }));
    child.on('close', (code, signal) => {
      if (report !== undefined) return finish({ is: 'done', report: report.of });
      const why = late ? `it was not done after ${limitSeconds} s` : `its process ended with ${signal ?? code}`;
      finish({ is: 'failed', why });
    });
    const finish = (outcome: ChildOutcome<Report>) => {
      for (const timer of timers) clearTimeout(timer);
      resolve(outcome);
    };
  });
}
