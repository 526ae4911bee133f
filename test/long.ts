/**
 * Random tests for as long as wanted, from random seeds:
 *
 *     npm run test:long -- --seconds 600 sim model
 *
 * The files take turns. Each run of a file begins at a seed of its own, which is printed.
 */
import { spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { env, execPath, stdout } from 'node:process';
import { Command, InvalidArgumentError } from 'commander';
import { sources } from './project/repository.js';

/** Seconds of each random test in one run of its file. */
const LONGEST_BUDGET_S = 60;
/** First seeds, so that those that follow fit into 32 bits. */
const SEEDS = 1_000_000_000;
/** Imported by every random test. */
const RANDOM = /from '.*\/support\/(?:runs|random-property)\.js'/;

interface Run {
  readonly file: string;
  readonly seed: number;
  readonly budget: number;
}

const command = new Command('npm run test:long --')
  .description('Run random tests from random seeds.')
  .option('--seconds <number>', 'how long, about: the last file ends its rounds', seconds, 600)
  .argument('[words...]', 'only test files with one of these words in their path')
  .parse();

function seconds(text: string): number {
  if (!/^[1-9]\d{0,6}$/.test(text)) throw new InvalidArgumentError('It must be a whole number of seconds.');
  return Number(text);
}

const words = command.args;
const files = sources('test')
  .filter(({ path, text }) => path.endsWith('.test.ts') && /\b(?:seedsOf|someOf|(?:assert|check)Random)\(/.test(text))
  .filter(({ path, text }) => RANDOM.test(text) && !path.startsWith('test/support/'))
  .map(({ path }) => path)
  .filter((path) => words.length === 0 || words.some((word) => path.includes(word)))
  .map((path) => `dist/${path.replace(/\.ts$/, '.js')}`);
if (files.length === 0) command.error(`no random test has ${words.join(' or ')} in its path`, { exitCode: 2 });
await runAll(command.opts<{ seconds: number }>().seconds);

async function runAll(all: number): Promise<void> {
  const began = performance.now();
  const past = () => (performance.now() - began) / 1_000;
  // Every file has its turn, also in a short time.
  const budget = Math.min(LONGEST_BUDGET_S, Math.max(1, all / files.length / 4));
  let [runs, rounds] = [0, 0];
  const red: string[] = [];
  for (let at = 0; past() < all; at = (at + 1) % files.length) {
    const run = { file: files[at] ?? '', seed: randomInt(SEEDS), budget };
    stdout.write(`${run.file} from seed ${run.seed}\n`);
    const { output, ok } = await runFile(run);
    for (const [line, count] of output.matchAll(/ran (\d+) rounds .*/g)) {
      rounds += Number(count);
      stdout.write(`  ${line}\n`);
    }
    runs += 1;
    if (ok) continue;
    stdout.write(output);
    const one = /KEYTURN_SEED=\d+(?: KEYTURN_PATH=[\d:]+)?/.exec(output)?.[0];
    red.push(`${one ?? `KEYTURN_FIRST_SEED=${run.seed} KEYTURN_BUDGET_S=${run.budget}`} node --test ${run.file}`);
  }
  const took = `${past().toFixed(0)} s`;
  for (const again of red) stdout.write(`red, to run it again: ${again}\n`);
  stdout.write(`${runs} runs of ${files.length} files, ${rounds} rounds in ${took}, ${red.length} red\n`);
  if (red.length > 0) process.exitCode = 1;
}

function runFile({ file, seed, budget }: Run): Promise<{ readonly output: string; readonly ok: boolean }> {
  const { KEYTURN_RUNS: _, KEYTURN_SEED: __, KEYTURN_PATH: ___, ...others } = env;
  const settings = { ...others, KEYTURN_FIRST_SEED: String(seed), KEYTURN_BUDGET_S: String(budget) };
  return new Promise((resolve, reject) => {
    const child = spawn(execPath, ['--test', '--test-reporter=spec', file], {
      env: settings,
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let output = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
    child.on('error', reject);
    child.on('close', (code) => resolve({ output, ok: code === 0 }));
  });
}
