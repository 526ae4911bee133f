/**
 * The conformance suite: plays scenarios against a real sidecar with the players of the clients, and reports.
 *
 *     node dist/clients/conformance/main.js --language typescript,go spool drain
 *
 * Exit code 0: everything passed; 1: something failed; 2: wrong arguments or scenario files.
 */
import { writeFileSync } from 'node:fs';
import { messageOf } from './fields.js';
import { languageOf, SCENARIOS } from './languages.js';
import { type Options, optionsOf, USAGE, WrongOption } from './options.js';
import type { Verdict } from './play/play.js';
import { playAll } from './play/suite.js';
import { closingLine, jsonReport, markdownTable, textTable } from './reports/table.js';
import { loadFolder, WrongScenarios } from './scenario/load.js';
import type { Scenario } from './scenario/model.js';

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}

function chosen(scenarios: readonly Scenario[], words: readonly string[]): readonly Scenario[] {
  if (words.length === 0) return scenarios;
  const found = scenarios.filter(({ id }) => words.some((word) => id.toLowerCase().includes(word.toLowerCase())));
  if (found.length === 0) throw new WrongOption(`no scenario has ${words.join(' or ')} in its name`);
  return found;
}

function tell({ scenario, language, ms, failure, logs }: Verdict, withLogs: boolean): void {
  if (failure === undefined) return say(`ok      ${language}  ${scenario.id} (${ms} ms)`);
  const more = withLogs && logs !== undefined && logs !== '' ? `\n${logs}` : '';
  say(`FAILED  ${language}  ${scenario.id} (${ms} ms)\n${indented(`${failure}${more}`)}`);
}

function indented(text: string): string {
  return text.replaceAll(/^/gm, '          ');
}

async function run(options: Options): Promise<number> {
  const scenarios = chosen(loadFolder(SCENARIOS), options.words);
  if (options.list) {
    for (const { id } of scenarios) say(id);
    return 0;
  }
  const verdicts = await playAll(scenarios, options.languages.map(languageOf), {
    atOnce: options.atOnce,
    onVerdict: (verdict) => tell(verdict, options.logs),
  });
  if (options.json !== undefined) writeFileSync(options.json, jsonReport(verdicts));
  if (options.markdown !== undefined) writeFileSync(options.markdown, markdownTable(verdicts, options.languages));
  say(`\n${textTable(verdicts, options.languages)}\n`);
  say(closingLine(verdicts));
  return verdicts.some(({ failure }) => failure !== undefined) ? 1 : 0;
}

try {
  process.exitCode = await run(optionsOf(process.argv.slice(2)));
} catch (error) {
  const isTheirs = error instanceof WrongOption || error instanceof WrongScenarios;
  if (!isTheirs) throw error;
  process.stderr.write(`${messageOf(error)}\n${error instanceof WrongOption ? `${USAGE}\n` : ''}`);
  process.exitCode = 2;
}
