/**
 * `npm test`: runs the compiled tests with Node's own runner. Words choose files by their path, those that begin with `!`
 * leave files out, `--times` prints what each file took, other options go to Node:
 *
 *     npm test -- grpc config --test-name-pattern=drain
 *     npm test -- '!deploy/' '!grafana/'
 *     npm test -- --times
 *
 * The files are listed here, because Node 20 takes no patterns; from the sources, so that what was compiled from a
 * file that is gone does not run.
 */
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { ROOT, sources } from './project/repository.js';
import { chosen, processesOf } from './runner/files.js';
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

function run(paths: readonly string[], options: readonly string[], isMeasured: boolean): void {
  const folder = mkdtempSync(join(tmpdir(), 'keyturn-tests-'));
  // What is measured is measured by file.
  const processes = isMeasured ? paths.map((path) => [path]) : processesOf(paths);
  const files = processes.map((of, at) => (of.length === 1 ? compiled(of[0] ?? '') : together(of, folder, at)));
  const runner = [`--test-timeout=${LONGEST_FILE_MS}`, `--test-concurrency=${AT_ONCE}`];
  const child = spawn(process.execPath, ['--test', '--test-reporter=spec', ...runner, ...options, ...files], {
    stdio: 'inherit',
    env: environment(folder, isMeasured),
  });
  child.on('error', (error) => {
    throw error;
  });
  child.on('exit', (code, signal) => {
    process.exitCode = code ?? (signal === 'SIGINT' ? 130 : 1);
    if (isMeasured) process.stdout.write(`\n${tableOf(rowsOf(readFileSync(join(folder, 'times'), 'utf8')))}`);
    rmSync(folder, { recursive: true, force: true });
  });
}

const given = process.argv.slice(2);
const words = given.filter((word) => !word.startsWith('-'));
const options = given.filter((word) => word.startsWith('-') && word !== TIMES);
const paths = chosen(
  sources('test').map(({ path }) => path),
  words,
);
if (paths.length === 0) {
  process.stderr.write(`no test file has ${words.join(' or ')} in its path\n`);
  process.exitCode = 2;
} else run(paths, options, given.includes(TIMES));
