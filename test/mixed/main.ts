/**
 * The mixed test, also by itself:
 *
 *     node dist/test/mixed/main.js python go --seed 7 --items 5000
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Command, InvalidArgumentError } from 'commander';
import { isLanguage, LANGUAGES } from '../clients/toolchains.js';
import { ALL_RULES, type Report, runMixed } from './run.js';

interface Flags {
  readonly seed: number;
  readonly items: number;
  readonly turns: number;
  readonly kills: number;
  readonly seconds: number;
  readonly traffic?: string;
  readonly keep?: true;
}

/** Problems of one rule that are told one by one. */
const TOLD = 10;

const command = new Command('node dist/test/mixed/main.js')
  .argument('[languages...]', `of ${LANGUAGES.join(', ')}; unset: all`, language, [])
  .option('--seed <number>', 'repeats what is chosen: who is killed when, what asks for turns', whole, seedOfToday())
  .option('--items <number>', 'items that are submitted', whole, 20_000)
  .option('--turns <number>', 'turns that are asked for with EnQueue', whole, 2_000)
  .option('--kills <number>', 'workers that are killed', whole, 8)
  .option('--seconds <number>', 'it fails when it takes longer', whole, 240)
  .option('--traffic <file>', 'a log with the columns client and path instead of the sample')
  .option('--keep', 'keep its folder, which has the ledger; a failure always does')
  .parse();

function whole(text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new InvalidArgumentError('It must be a whole number below 1,000,000,000.');
  return Number(text);
}

function language(word: string, before: readonly string[]): string[] {
  if (!isLanguage(word)) throw new InvalidArgumentError(`There are ${LANGUAGES.join(', ')}.`);
  return [...before, word];
}

/** Another one each time, told, so that chance finds what one choice would not. */
function seedOfToday(): number {
  return Math.floor(Date.now() / 1_000) % 1_000_000_000;
}

function say(text: string): void {
  process.stdout.write(text);
}

const { seed, items, turns, kills, seconds, traffic } = command.opts<Flags>();
const chosen = command.args.length === 0 ? LANGUAGES : command.args;
const folder = mkdtempSync(join(tmpdir(), 'keyturn-mixed-'));
const keep = (why: string) => say(`${why}; its files are in ${folder}\n\n0 passed, 1 failed\n`);

setTimeout(() => {
  keep(`it was not done after ${seconds} s`);
  process.exit(1);
}, seconds * 1_000).unref();

say(
  `seed ${seed}: ${items} items, ${turns} turns, ${kills} workers killed, the sidecar once; again with --seed ${seed}\n`,
);
try {
  const report = await runMixed({ seed, items, turns, kills, languages: chosen, traffic }, folder, say);
  process.exitCode = conclude(report);
} catch (error) {
  keep(error instanceof Error ? (error.stack ?? error.message) : String(error));
  process.exitCode = 1;
}
// Whoever still holds a pipe must not keep it.
process.exit();

function conclude({ account, problems, called, leaders, kills: killed, troubles }: Report): number {
  say(`\nturns ended by language: ${[...account.ended].map(([name, count]) => `${name} ${count}`).join(', ')}\n`);
  say(
    `${account.turns} turns began; ${account.died} died with ${killed} workers, ${account.lost} were told as lost (${account.toldLate} late)\n`,
  );
  say(
    `${account.again} items were begun again; ${called.again} turns were asked for again; consumers told ${troubles.count} troubles\n`,
  );
  say(`${leaders.terms} terms of leaders; ${leaders.killed} leaders were killed\n`);
  for (const example of troubles.examples) say(`  for example ${example}\n`);
  say('\n');
  for (const rule of ALL_RULES) {
    const broken = problems.filter((problem) => problem.rule === rule);
    say(`${broken.length === 0 ? 'ok    ' : 'FAILED'} ${rule}\n`);
    for (const { what } of broken.slice(0, TOLD)) say(`         ${what}\n`);
    if (broken.length > TOLD) say(`         and ${broken.length - TOLD} more\n`);
  }
  const failed = ALL_RULES.filter((rule) => problems.some((problem) => problem.rule === rule)).length;
  if (failed > 0 || command.opts<Flags>().keep === true) say(`its files are in ${folder}\n`);
  else rmSync(folder, { recursive: true, force: true });
  say(`\n${ALL_RULES.length - failed} passed, ${failed} failed\n`);
  return failed === 0 ? 0 : 1;
}
