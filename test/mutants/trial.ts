/** One run of test files in a process of its own, with a mutant or without. */
import { spawn } from 'node:child_process';
import { rmSync, writeFileSync } from 'node:fs';
import { constants } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { SHIPPED_MAIN } from '../support/main.js';
import type { PutIn } from './module-hooks.js';

export type Outcome =
  | { readonly is: 'green'; readonly ms: number }
  /** The first test that was red; of a process that broke down what it was. */
  | { readonly is: 'red'; readonly by: string; readonly ms: number }
  | { readonly is: 'endless'; readonly ms: number };

export interface Trial {
  /** Compiled test files. */
  readonly files: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly mutant: PutIn | undefined;
  /** A folder of this worker's own. */
  readonly folder: string;
  /** When for so long no test ended, one of them never does. */
  readonly limitMs: number;
}

const here = (name: string) => new URL(name, import.meta.url).href;
/** What grows without bounds is to end before the machine has no memory left. */
const HEAP_MIB = 1_500;

export function tried({ files, env, mutant, folder, limitMs }: Trial): Promise<Outcome> {
  const file = join(folder, 'mutant.json');
  if (mutant !== undefined) writeFileSync(file, JSON.stringify(mutant));
  const putIn = mutant === undefined ? {} : { MUTANT: file };
  const reporter = ['--test-reporter', here('first-red.js'), '--test-reporter-destination', 'stdout'];
  const started = performance.now();
  const child = spawn(process.execPath, [...reporter, new URL('run-files.js', import.meta.url).pathname, ...files], {
    env: {
      ...ownEnv(),
      KEYTURN_SIDECAR_MAIN: SHIPPED_MAIN,
      ...env,
      ...putIn,
      NODE_OPTIONS: `--max-old-space-size=${HEAP_MIB} --import=${here('put-in.js')}`,
    },
    stdio: ['ignore', 'pipe', 'ignore'],
    // A group of its own: what the tests started ends with them.
    detached: true,
  });
  const { pid } = child;
  if (pid !== undefined) running.add(pid);
  return new Promise((resolve, reject) => {
    let told = '';
    let isEndless = false;
    const timer = setTimeout(() => {
      isEndless = true;
      if (pid !== undefined) endGroup(pid);
    }, limitMs);
    child.stdout.on('data', (bytes: Buffer) => {
      timer.refresh();
      told = (told + bytes.toString()).slice(-10_000);
    });
    child.on('error', reject);
    // What it started may have its output open.
    child.on('exit', () => {
      if (pid !== undefined) endGroup(pid);
    });
    child.on('close', (code, signal) => {
      clearTimeout(timer);
      if (pid !== undefined) running.delete(pid);
      rmSync(file, { force: true });
      const ms = performance.now() - started;
      const red = /\n(.+)\n$/.exec(told)?.[1];
      if (isEndless) resolve({ is: 'endless', ms });
      else if (code === 0) resolve({ is: 'green', ms });
      else resolve({ is: 'red', by: red ?? `the process ended with ${signal ?? code}`, ms });
    });
  });
}

/** Groups of processes: each has its tests, and what those started. */
const running = new Set<number>();

// Whatever ends this process, none of these stays behind. If it is killed they notice that themselves (`module-hooks.ts`).
process.once('exit', () => {
  for (const pid of running) endGroup(pid);
});

/** Whoever ends the run by a signal ends all that it started. */
export function exitOnSignals(): void {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
    process.once(signal, () => process.exit(128 + constants.signals[signal]));
}

export function putInOf(compiled: string, text: string): PutIn {
  return { url: pathToFileURL(compiled).href, text };
}

/** Of a test runner around this one. */
const OUTER: ReadonlySet<string> = new Set(['NODE_TEST_CONTEXT', 'NODE_V8_COVERAGE']);

/** Settings of the person who runs it are not the tests'. */
function ownEnv(): Readonly<Record<string, string | undefined>> {
  return Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !name.startsWith('KEYTURN_') && !OUTER.has(name)),
  );
}

function endGroup(pid: number): void {
  try {
    process.kill(-pid, 'SIGKILL');
  } catch (error) {
    // All of it has ended already.
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error;
  }
}
