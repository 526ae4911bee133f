/**
 * `npm test`: runs the compiled tests with Node's own runner. Words choose files by their path, those that begin with `!`
 * leave files out, `--times` prints what each file took, other options go to Node:
 *
 *     npm test -- grpc config --test-name-pattern=drain
 *     npm test -- '!deploy/' '!grafana/'
 *     npm test -- --times
 *     npm test -- --budget 240 --seed 7
 *
 * `--budget` takes files by lot, one of each room first, until so many seconds are used up, and says what it skipped.
 *
 * The files are listed here, because Node 20 takes no patterns; from the sources, so that what was compiled from a
 * file that is gone does not run.
 */
import { spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { ROOT, sources } from './project/repository.js';
import { chosen, processesOf } from './runner/files.js';
import { drawn } from './runner/lots.js';
import { LOG, rowsOf, tableOf } from './runner/report.js';
import { PORT_OWNER } from './support/free-port.js';

/** For a test that waits for what never happens; the longest file takes a fraction of it. */
const LONGEST_FILE_MS = 600_000;
/** Many files wait for processes and leases most of the time. */
const AT_ONCE = 4;
const TIMES = '--times';

function compiled(path: string): string {
  return join(ROOT, 'dist', path.replace(/\.ts$/, '.js'));
}

/** A module that runs several test files in one process, one after the other. */
function together(paths: readonly string[], folder: string, at: number): string {
  const file = join(folder, `together-${at + 1}.test.mjs`);
  writeFileSync(file, paths.map((path) => `import ${JSON.stringify(pathToFileURL(compiled(path)).href)};\n`).join(''));
  return file;
}

const MEASURE = new URL('./runner/measure.js', import.meta.url).href;

function environment(folder: string, isMeasured: boolean): NodeJS.ProcessEnv {
  const { NODE_OPTIONS = '' } = process.env;
  const measured = { NODE_OPTIONS: `${NODE_OPTIONS} --import ${MEASURE}`, [LOG]: join(folder, 'times') };
  // Node 20 does not know the first; from 22 on each process finds what another one has compiled.
  const compileCache = { NODE_COMPILE_CACHE: join(ROOT, '.cache', 'compiled') };
  return { ...compileCache, ...process.env, [PORT_OWNER]: String(process.pid), ...(isMeasured ? measured : {}) };
}

/** So many processes at once: a budget is looked at between them. */
const BATCH = 2 * AT_ONCE;

interface Run {
  readonly paths: readonly string[];
  /** Of Node. */
  readonly options: readonly string[];
  readonly isMeasured: boolean;
  /** Seconds; unset: all of them. */
  readonly budget: number | undefined;
  readonly seed: number;
}

async function run({ paths, options, isMeasured, budget, seed }: Run): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'keyturn-tests-'));
  // What is measured is measured by file.
  const processes = isMeasured ? paths.map((path) => [path]) : processesOf(paths);
  try {
    if (budget === undefined) process.exitCode = await runAll(processes, options, folder, isMeasured);
    else await runWithin(budget, drawn(processes, seed), seed, (some) => runAll(some, options, folder, isMeasured));
    if (isMeasured) process.stdout.write(`\n${tableOf(rowsOf(readFileSync(join(folder, 'times'), 'utf8')))}`);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

type Processes = readonly (readonly string[])[];

/** @returns the exit code */
async function runAll(
  all: Processes,
  options: readonly string[],
  folder: string,
  isMeasured: boolean,
): Promise<number> {
  const files = all.map((of, at) => (of.length === 1 ? compiled(of[0] ?? '') : together(of, folder, at)));
  const runner = [`--test-timeout=${LONGEST_FILE_MS}`, `--test-concurrency=${AT_ONCE}`];
  const child = spawn(process.execPath, ['--test', '--test-reporter=spec', ...runner, ...options, ...files], {
    stdio: 'inherit',
    env: environment(folder, isMeasured),
  });
  const [code, signal]: unknown[] = await once(child, 'exit');
  if (typeof code === 'number') return code;
  return signal === 'SIGINT' ? 130 : 1;
}

async function runWithin(
  budget: number,
  lots: Processes,
  seed: number,
  runSome: (some: Processes) => Promise<number>,
): Promise<void> {
  const began = performance.now();
  const seconds = () => (performance.now() - began) / 1_000;
  let done = 0;
  let code = 0;
  for (; done < lots.length && seconds() < budget && code !== 130; done += BATCH)
    code = Math.max(code, await runSome(lots.slice(done, done + BATCH)));
  process.exitCode = code;
  const skipped = lots.slice(done).flat();
  const ran = lots.flat().length - skipped.length;
  const left = skipped.length === 0 ? '' : `: the budget skipped ${skipped.length}\n  ${skipped.join('\n  ')}`;
  process.stdout.write(`\nran ${ran} files in ${seconds().toFixed(0)} s (--seed ${seed})${left}\n`);
}

/** Takes a number that stands behind its option out of the words. Unset: the option is not there. */
function taken(words: string[], option: string): number | undefined {
  const at = words.indexOf(option);
  if (at === -1) return undefined;
  const [, text = ''] = words.splice(at, 2);
  const value = Number(text);
  if (text !== '' && Number.isSafeInteger(value) && value > 0) return value;
  throw new Error(`${option} is ${JSON.stringify(text)}: a whole number above 0 is allowed`);
}

const given = process.argv.slice(2);
const budget = taken(given, '--budget');
const seed = taken(given, '--seed') ?? randomInt(1, 1_000_000);
const words = given.filter((word) => !word.startsWith('-'));
const options = given.filter((word) => word.startsWith('-') && word !== TIMES);
const paths = chosen(
  sources('test').map(({ path }) => path),
  words,
);
if (paths.length === 0) {
  process.stderr.write(`no test file has ${words.join(' or ')} in its path\n`);
  process.exitCode = 2;
} else await run({ paths, options, isMeasured: given.includes(TIMES), budget, seed });
