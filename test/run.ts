/**
 * `npm test`: runs the compiled tests with Node's own runner. Words choose files by their path, those that begin with `!`
 * leave files out, options go to Node:
 *
 *     npm test -- grpc config --test-name-pattern=drain
 *     npm test -- '!deploy/' '!grafana/'
 *
 * The files are listed here, because Node 20 takes no patterns; from the sources, so that what was compiled from a
 * file that is gone does not run.
 */
import { spawn } from 'node:child_process';
import { sources } from './project/repository.js';

/** For a test that waits for what never happens; the longest file takes a fraction of it. */
const LONGEST_FILE_MS = 600_000;

const options = process.argv.slice(2).filter((word) => word.startsWith('-'));
const given = process.argv.slice(2).filter((word) => !word.startsWith('-'));
const words = given.filter((word) => !word.startsWith('!'));
const left = given.filter((word) => word.startsWith('!')).map((word) => word.slice(1));

const files = sources('test')
  .map(({ path }) => path)
  .filter((path) => path.endsWith('.test.ts') && (words.length === 0 || words.some((word) => path.includes(word))))
  .filter((path) => !left.some((word) => path.includes(word)))
  .map((path) => `dist/${path.replace(/\.ts$/, '.js')}`);

if (files.length === 0) {
  process.stderr.write(`no test file has ${given.join(' or ')} in its path\n`);
  process.exitCode = 2;
} else {
  const guard = `--test-timeout=${LONGEST_FILE_MS}`;
  // Many files wait for processes and leases most of the time: on two processors three at once take a seventh less than two.
  const together = '--test-concurrency=3';
  const runner = spawn(process.execPath, ['--test', '--test-reporter=spec', guard, together, ...options, ...files], {
    stdio: 'inherit',
  });
  runner.on('error', (error) => {
    throw error;
  });
  runner.on('exit', (code, signal) => {
    process.exitCode = code ?? (signal === 'SIGINT' ? 130 : 1);
  });
}
