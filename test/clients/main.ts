/**
 * `npm run test:clients`: everything that needs more than Node. For each language its toolchain and its own checks,
 * then the suite that all clients pass, then all of them at once.
 *
 *     npm run test:clients -- python go
 *
 * `--all-tests-follow`: the tests of the TypeScript client are left to `npm test`, which has them, too. `--whole`: the suite in a
 * cluster and the mixed test without their budgets.
 *
 * A language whose toolchain is missing fails; the others run.
 */
import { join, relative } from 'node:path';
import { ROOT } from '../project/repository.js';
import { type Outcome, runStep, type Step } from './step.js';
import { summary } from './summary.js';
import { isLanguage, LANGUAGES, type Language, missingTools } from './toolchains.js';

const LOGS = join(ROOT, '.cache', 'clients');

/** Several times what a slow machine takes, first downloads included. */
const LONGEST = { check: 900, conformance: 900, cluster: 600, mixed: 300, release: 600 };

/**
 * Of the scenarios in a cluster each language plays one of each file, and others by lot for so many seconds in all: the gateway
 * does the same for every language, and all scenarios are played without a cluster.
 */
const BUDGET_IN_A_CLUSTER = ['--budget', '60'];
/** Every language is killed and serves all queues; more of the same takes longer and shows no more. */
const BUDGET_OF_MIXED = ['--items', '6000', '--turns', '600'];

/** They wait for leases and processes much of the time, and leave processors idle. */
const CHECKS_AT_ONCE = 3;
/** Scenarios, for the same reason. */
const AT_ONCE = ['--at-once', '6'];
const LONGEST_FIRST: readonly Language[] = ['java', 'python', 'go', 'typescript'];

const outcomes: Outcome[] = [];

function say(text: string): void {
  process.stdout.write(text);
}

function section(title: string): void {
  say(`\n== ${title} (${Math.round(performance.now() / 1_000)}s) ==\n`);
}

function failure(name: string, why: string): void {
  say(`${name} failed: ${why}\n`);
  outcomes.push({ name, why, seconds: 0, passed: 0, failed: 1 });
}

async function step(name: string, longestSeconds: number, ...command: Step['command']): Promise<Outcome> {
  const log = join(LOGS, `${name.replace(/\W+/g, '-')}.log`);
  const outcome = await runStep({ name, command, log, longestSeconds }, say);
  outcomes.push(outcome);
  return outcome;
}

/** @returns those whose toolchain is there */
async function findToolchains(languages: readonly Language[]): Promise<readonly Language[]> {
  section('Toolchains');
  const ready: Language[] = [];
  for (const language of languages) {
    const missing = await missingTools(language);
    if (missing.length === 0) {
      ready.push(language);
      say(`${language}: found\n`);
    } else for (const what of missing) failure(`${language}: toolchain`, what);
  }
  return ready;
}

async function run(languages: readonly Language[]): Promise<void> {
  const ready = await findToolchains(languages);
  const prepared = await check(ready);
  if (prepared.length === 0) return;
  section('Conformance: one suite for all clients');
  // A client with two faces is played with both.
  const report = [...AT_ONCE, '--language', prepared.join(','), '--markdown', join(LOGS, 'conformance.md')];
  await step('conformance', LONGEST.conformance, process.execPath, CONFORMANCE, ...report);
  say(`the table of all scenarios: ${relative(process.cwd(), join(LOGS, 'conformance.md'))}\n`);
  section('The same in a cluster: a gateway, behind it two homes and a Redis');
  await step(
    'conformance in a cluster',
    LONGEST.cluster,
    process.execPath,
    IN_A_CLUSTER,
    ...AT_ONCE,
    ...(whole ? [] : BUDGET_IN_A_CLUSTER),
    '--language',
    prepared.join(','),
  );
  section('Mixed: all clients at once on the same queues, some of them killed');
  const amounts = whole ? [] : BUDGET_OF_MIXED;
  await step('mixed', LONGEST.mixed, process.execPath, join(ROOT, 'dist/test/mixed/main.js'), ...prepared, ...amounts);
}

/** @returns those that may be played */
async function check(languages: readonly Language[]): Promise<readonly Language[]> {
  section(`Own checks of each client and the rehearsal of a release, ${CHECKS_AT_ONCE} at a time`);
  const prepared: Language[] = [];
  const left = LONGEST_FIRST.filter((language) => languages.includes(language)).map((language) => async () => {
    // What runs this has just built the client of TypeScript: to build again would write files that others are reading.
    const rest = language === 'typescript' ? ['--built', ...(allTestsFollow ? ['--without-tests'] : [])] : [];
    const { why } = await step(`${language}: check`, LONGEST.check, join(ROOT, 'clients', language, 'check'), ...rest);
    // A client whose tests fail may still be played; one that cannot be built makes every scenario fail, and says why.
    if (why === undefined || !why.includes('ENOENT')) prepared.push(language);
  });
  // Last: it uses what the checks of the others have prepared.
  if (languages.length === LANGUAGES.length)
    left.push(async () => {
      await step('release', LONGEST.release, process.execPath, join(ROOT, 'dist/test/release/rehearse.js'));
    });
  const next = async (): Promise<void> => {
    for (let one = left.shift(); one !== undefined; one = left.shift()) await one();
  };
  await Promise.all(Array.from({ length: CHECKS_AT_ONCE }, next));
  return prepared;
}

const IN_A_CLUSTER = join(ROOT, 'dist/test/clients/cluster/main.js');
const CONFORMANCE = join(ROOT, 'dist/clients/conformance/main.js');

function sum(): number {
  section('Summary');
  say(summary(outcomes));
  const [passed, failed] = (['passed', 'failed'] as const).map((what) =>
    outcomes.reduce((total, outcome) => total + outcome[what], 0),
  );
  say(`\n${passed} passed, ${failed} failed\n`);
  return failed === 0 ? 0 : 1;
}

const ALL_TESTS_FOLLOW = '--all-tests-follow';
const allTestsFollow = process.argv.includes(ALL_TESTS_FOLLOW);
const WHOLE = '--whole';
const whole = process.argv.includes(WHOLE);
const words = process.argv.slice(2).filter((word) => word !== ALL_TESTS_FOLLOW && word !== WHOLE);
const unknown = words.find((word) => !isLanguage(word));
if (unknown === undefined) {
  await run(words.length === 0 ? LANGUAGES : words.filter(isLanguage));
  process.exitCode = sum();
} else {
  process.stderr.write(`no language '${unknown}'; there are ${LANGUAGES.join(', ')}\n`);
  process.exitCode = 2;
}
