/** The benchmark: runs its rows one after the other, prints the table, keeps the figures. */
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { runAgainst } from './against/main.js';
import { renderChart } from './chart.js';
import { type KeptRun, keptRow, withRowsOf } from './latest.js';
import { describeCommit, describeLoad, describeMachine } from './machine.js';
import { type Line, lineOf } from './measure.js';
import { type Options, readOptions } from './options.js';
import { writePages } from './pages.js';
import { progressLine } from './progress.js';
import { GROUPS, ROWS } from './registry.js';
import type { Row } from './row.js';
import { runRow } from './run-row.js';
import { nameOf, renderTable, renderTimes } from './table.js';

/** From dist/bench. */
const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const RESULTS = new URL('../../bench/results/', import.meta.url);

interface Failure {
  readonly row: string;
  readonly why: string;
}

interface Run {
  readonly lines: readonly Line[];
  readonly failures: readonly Failure[];
  /** Of each row, how long it took, s. */
  readonly took: ReadonlyMap<string, number>;
}

async function main(options: Options): Promise<number> {
  // Before the run: files may change while it lasts.
  const commit = await describeCommit(ROOT);
  process.stderr.write(describeLoad() ?? '');
  const run = await runAll(options);
  const rows = run.lines.map(keptRow);
  const done: KeptRun = { machine: describeMachine(), date: new Date().toISOString(), commit, rows };
  const kept = options.keep ? withRowsOf(await keptSoFar(), done, [...ROWS.keys()]) : done;
  await keep('latest.json', `${JSON.stringify(kept, undefined, 2)}\n`);
  if (options.keep || options.rows.size + options.left.size === ROWS.size) await writePages(kept);
  else
    process.stderr.write(
      'latest.json has these rows only; the README, docs/BENCHMARKS.md and docs/DURABILITY.md still show the last full run\n',
    );
  process.stdout.write(
    options.json
      ? `${JSON.stringify(done, undefined, 2)}\n`
      : `${renderTable(run.lines)}\n\n${renderTimes(run.took)}\n`,
  );
  return complain(run, options.check);
}

async function runAll(options: Options): Promise<Run> {
  const lines: Line[] = [];
  const failures: Failure[] = [];
  const took = new Map<string, number>();
  for (const [name, row] of options.rows) {
    const start = performance.now();
    const outcome = await runWithProgress(name, row, options.profile);
    took.set(name, (performance.now() - start) / 1_000);
    if (outcome.is === 'failed') {
      failures.push({ row: name, why: outcome.why });
      continue;
    }
    const { figures, chart, svg } = outcome.report;
    for (const figure of figures) lines.push(lineOf(name, figure));
    if (chart !== undefined) await keep(`${name}.svg`, renderChart(chart));
    if (svg !== undefined) await keep(`${name}.svg`, svg);
  }
  for (const [name, { unlessAsked = [] }] of options.left)
    for (const figure of unlessAsked) lines.push(lineOf(name, figure));
  return { lines, failures, took };
}

async function runWithProgress(name: string, row: Row, profile: string | undefined) {
  const progress = progressLine(process.stderr);
  const outcome = await runRow(name, row, (said) => progress.say(`${name}: ${said}`), profile);
  progress.clear();
  return outcome;
}

async function keptSoFar(): Promise<KeptRun> {
  // This file wrote it.
  return JSON.parse(await readFile(new URL('latest.json', RESULTS), 'utf8'));
}

async function keep(file: string, text: string): Promise<void> {
  await mkdir(RESULTS, { recursive: true });
  await writeFile(new URL(file, RESULTS), text);
}

/** @returns the exit code */
function complain({ lines, failures }: Run, check: boolean): number {
  for (const { row, why } of failures) process.stderr.write(`${row} failed: ${why}\n`);
  if (failures.length > 0) return 1;
  // What was not measured has not shown that it is enough.
  const judged = lines.filter(({ enough }) => enough !== undefined);
  const short = judged.filter(({ verdict }) => verdict === 'short' || verdict === 'missing');
  if (!check || short.length === 0) return 0;
  process.stderr.write(`not enough: ${short.map(nameOf).join(', ')}\n`);
  return 1;
}

const options = readOptions(process.argv.slice(2), ROWS, GROUPS);
process.exitCode = await (options.against === undefined ? main(options) : runAgainst(ROOT, options.against, options));
