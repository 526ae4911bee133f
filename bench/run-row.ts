import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { Row, RowReport, Say } from './row.js';

/** What the process of a row tells its parent. */
export type FromChild =
  | { readonly kind: 'progress'; readonly progress: string }
  | { readonly kind: 'report'; readonly report: RowReport };

export type RowOutcome =
  | { readonly is: 'done'; readonly report: RowReport }
  | { readonly is: 'failed'; readonly why: string };

/** Between being asked to end and being ended, ms. */
const GRACE = 5_000;

const CHILD = fileURLToPath(new URL('./child.js', import.meta.url));

/** Runs a row in a process of its own: a fresh heap, and code that was compiled for nothing else. */
export function runRow(name: string, row: Row, say: Say, profileTo: string | undefined): Promise<RowOutcome> {
  return new Promise((resolve) => {
    // A profile says where the time goes; the figures of a profiled run are lower than they should be.
    const profiling = profileTo === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${profileTo}`];
    const child = fork(CHILD, [name], { execArgv: ['--expose-gc', ...profiling], stdio: ['ignore', 2, 2, 'ipc'] });
    let report: RowReport | undefined;
    let late = false;
    const timers = [
      setTimeout(() => {
        late = true;
        child.kill('SIGTERM');
      }, row.limit * 1_000),
      // It does not hear anything any more.
      setTimeout(() => child.kill('SIGKILL'), row.limit * 1_000 + GRACE),
    ];
    // The sender is our own child.ts, which is typed.
    child.on('message', (message: FromChild) => {
      if (message.kind === 'progress') say(message.progress);
      else report = message.report;
    });
    child.on('error', (error) => finish({ is: 'failed', why: error.message }));
    child.on('close', (code, signal) => {
      if (report !== undefined) return finish({ is: 'done', report });
      const why = late ? `it was not done after ${row.limit} s` : `its process ended with ${signal ?? code}`;
      finish({ is: 'failed', why });
    });
    const finish = (outcome: RowOutcome) => {
      for (const timer of timers) clearTimeout(timer);
      resolve(outcome);
    };
  });
}
