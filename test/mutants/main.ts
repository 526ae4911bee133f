/**
 * How many small breaks of the core and of the embedded coordinator the tests see:
 *
 *     npm run test:mutants -- --seed 7 --count 100 --files core/dispatch local
 */
import { setPriority } from 'node:os';
import { Command, InvalidArgumentError } from 'commander';
import { sources } from '../project/repository.js';
import { alikeOf } from './alike.js';
import { ExecutedBy } from './executed.js';
import { mutantsOf, sampled } from './mutants.js';
import { lineOf, report, share } from './report.js';
import { run } from './run.js';
import { stagesOf } from './stages.js';
import { exitOnSignals } from './trial.js';

interface Flags {
  readonly seed: number;
  readonly count: number;
  readonly files: readonly string[];
  readonly together: number;
  readonly memory?: true;
  readonly least: number;
}

/** Whoever works on this machine goes first. */
const NICE = 10;

const command = new Command('npm run test:mutants --')
  .option('--seed <number>', 'chooses the sample; the same seed, the same sample of the same code', whole, 1)
  .option('--count <number>', 'mutants that are tried', whole, 100)
  .option('--files <words...>', 'only files of src/core and src/local with one of these words in their path', [])
  .option('--together <number>', 'mutants that are tried at the same time', whole, 2)
  .option('--memory', 'asks the test of bounded memory too, which takes a minute')
  .option('--least <percent>', 'below it the command fails', whole, 90)
  .parse();

function whole(text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new InvalidArgumentError('It must be a whole number below 1,000,000,000.');
  return Number(text);
}

const { seed, count, files, together, memory, least } = command.opts<Flags>();
const all = mutantsOf(files);
if (all.length === 0)
  command.error(`no file of src/core or src/local has ${files.join(' or ')} in its path`, { exitCode: 2 });
setPriority(NICE);
exitOnSignals();
const sample = sampled(all, count, seed);
const tests = sources('test').flatMap(({ path }) => (path.endsWith('.test.ts') ? path : []));
process.stdout.write(`${sample.length} of ${all.length} mutants, seed ${seed}\n`);
let done = 0;
const verdicts = await run({
  mutants: sample.filter((mutant) => alikeOf(mutant) === undefined),
  stagesOf: (path) => stagesOf(path, tests, memory),
  together,
  executed: new ExecutedBy(),
  onVerdict: (verdict) => {
    done += 1;
    process.stdout.write(`${done} ${lineOf(verdict)}\n`);
  },
});
const left = sample.flatMap((mutant) => alikeOf(mutant) ?? []);
process.stdout.write(`\n${report(verdicts, left)}\n`);
if (share(verdicts) < least) process.exitCode = 1;
