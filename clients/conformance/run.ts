/** Scenarios that are played and told, and what the exit code is then. */
import { writeFileSync } from 'node:fs';
import { languageOf } from './languages.js';
import { type Options, WrongOption } from './options.js';
import type { Behind } from './play/behind.js';
import { Budget } from './play/budget.js';
import type { Verdict } from './play/play.js';
import { playAll } from './play/suite.js';
import { closingLine, jsonReport, markdownTable, textTable } from './reports/table.js';
import type { Scenario } from './scenario/model.js';

/** @throws WrongOption when no scenario has one of the words */
export function chosen(scenarios: readonly Scenario[], words: readonly string[]): readonly Scenario[] {
  if (words.length === 0) return scenarios;
  const found = scenarios.filter(({ id }) => words.some((word) => id.toLowerCase().includes(word.toLowerCase())));
  if (found.length === 0) throw new WrongOption(`no scenario has ${words.join(' or ')} in its name`);
  return found;
}

/** @param scenariosOf those of a language, each of which is played after the one before */
export async function run(
  options: Options,
  scenariosOf: (language: string) => readonly Scenario[],
  behind?: Behind,
): Promise<number> {
  const verdicts: Verdict[] = [];
  const budget = new Budget(options.budget, options.languages.length);
  const onVerdict = (verdict: Verdict): void => tell(verdict, options.logs);
  for (const language of options.languages) {
    const all = options.languages.map(languageOf);
    const settings = { all, atOnce: options.atOnce, onVerdict, budget, ...(behind === undefined ? {} : { behind }) };
    verdicts.push(...(await playAll(scenariosOf(language), [languageOf(language)], settings)));
  }
  if (options.json !== undefined) writeFileSync(options.json, jsonReport(verdicts));
  if (options.markdown !== undefined) writeFileSync(options.markdown, markdownTable(verdicts, options.languages));
  say(`\n${textTable(verdicts, options.languages)}\n`);
  if (budget.told !== '') say(budget.told);
  say(closingLine(verdicts));
  return verdicts.some(({ failure }) => failure !== undefined) ? 1 : 0;
}

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}

function tell({ scenario, language, ms, failure, logs }: Verdict, withLogs: boolean): void {
  if (failure === undefined) return say(`ok      ${language}  ${scenario.id} (${ms} ms)`);
  const more = withLogs && logs !== undefined && logs !== '' ? `\n${logs}` : '';
  say(`FAILED  ${language}  ${scenario.id} (${ms} ms)\n${indented(`${failure}${more}`)}`);
}

function indented(text: string): string {
  return text.replaceAll(/^/gm, '          ');
}
