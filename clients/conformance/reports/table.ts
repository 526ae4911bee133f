/** What came out, for people: scenario × language. */
import type { Verdict } from '../play/play.js';

export interface Totals {
  readonly passed: number;
  readonly failed: number;
}

export function totals(verdicts: readonly Verdict[]): Totals {
  const failed = verdicts.filter(({ failure }) => failure !== undefined).length;
  return { passed: verdicts.length - failed, failed };
}

/** The last line of a report: what continuous integration reads. */
export function closingLine(verdicts: readonly Verdict[]): string {
  const { passed, failed } = totals(verdicts);
  return `${passed} passed, ${failed} failed`;
}

interface Row {
  readonly id: string;
  readonly file: string;
  readonly name: string;
  readonly contract: string;
  readonly cells: ReadonlyMap<string, Verdict>;
}

function rowsOf(verdicts: readonly Verdict[]): readonly Row[] {
  const rows = new Map<string, Row & { readonly cells: Map<string, Verdict> }>();
  for (const verdict of verdicts) {
    const { id, file, name, contract } = verdict.scenario;
    const row = rows.get(id) ?? { id, file, name, contract, cells: new Map() };
    row.cells.set(verdict.language, verdict);
    rows.set(id, row);
  }
  return [...rows.values()];
}

function cell(verdict: Verdict | undefined): string {
  if (verdict === undefined) return '';
  return verdict.failure === undefined ? 'ok' : 'FAILED';
}

export function textTable(verdicts: readonly Verdict[], languages: readonly string[]): string {
  const rows = rowsOf(verdicts);
  const width = Math.max(8, ...rows.map(({ id }) => id.length));
  const line = (first: string, cells: readonly string[]): string =>
    [first.padEnd(width), ...cells.map((one, at) => one.padEnd(languages[at]?.length ?? 0))].join('  ').trimEnd();
  const counts = languages.map((language) => countOf(verdicts, language));
  return [
    line('scenario', languages),
    ...rows.map(({ id, cells }) =>
      line(
        id,
        languages.map((language) => cell(cells.get(language))),
      ),
    ),
    line('passed', counts),
  ].join('\n');
}

function countOf(verdicts: readonly Verdict[], language: string): string {
  const { passed, failed } = totals(verdicts.filter((verdict) => verdict.language === language));
  return `${passed}/${passed + failed}`;
}

/** For the documentation: a table for each file of scenarios, with the sentence of the contract. */
export function markdownTable(verdicts: readonly Verdict[], languages: readonly string[]): string {
  const rows = rowsOf(verdicts);
  const files = [...new Set(rows.map(({ file }) => file))];
  const head = `| scenario | contract | ${languages.join(' | ')} |\n|---|---|${languages.map(() => '---|').join('')}`;
  const tables = files.map((file) => {
    const lines = rows
      .filter((row) => row.file === file)
      .map(({ name, contract, cells }) => {
        const marks = languages.map((language) => cell(cells.get(language)) || '–');
        return `| ${[name, contract, ...marks].map(escaped).join(' | ')} |`;
      });
    return `## ${file}\n\n${head}\n${lines.join('\n')}\n`;
  });
  const counts = languages.map((language) => `${language} ${countOf(verdicts, language)}`).join(', ');
  return `${tables.join('\n')}\n${counts}\n`;
}

function escaped(text: string): string {
  return text.replaceAll('|', '\\|').replaceAll('\n', ' ');
}

/** For machines. */
export function jsonReport(verdicts: readonly Verdict[]): string {
  const scenarios = verdicts.map(({ scenario, language, ms, failure }) => ({
    scenario: scenario.id,
    contract: scenario.contract,
    language,
    ms,
    passed: failure === undefined,
    failure,
  }));
  return `${JSON.stringify({ ...totals(verdicts), scenarios }, undefined, 2)}\n`;
}
