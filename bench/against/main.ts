/** `npm run bench -- --against COMMIT`: the rows of this tree and of another commit, in turn. */
import { fileURLToPath } from 'node:url';
import { describeCommit, describeLoad, describeMachine } from '../machine.js';
import type { Options } from '../options.js';
import { progressLine } from '../progress.js';
import type { Row, Say } from '../row.js';
import { runChild } from '../run-row.js';
import { nameOf } from '../table.js';
import { type Comparison, isWorse } from './compare.js';
import { LAPS_SECONDS, MARGIN_SECONDS, RUNS_SECONDS } from './limits.js';
import { type NamedComparison, renderComparisons } from './table.js';
import { AgainstError, buildCommit, type OtherCommit } from './tree.js';
import { compareRuns } from './whole-runs.js';

const CHILD = fileURLToPath(new URL('./child.js', import.meta.url));

/** @returns the exit code */
export async function runAgainst(root: string, named: string, options: Options): Promise<number> {
  const commit = await describeCommit(root);
  process.stderr.write(describeLoad() ?? '');
  const progress = progressLine(process.stderr);
  try {
    const other = await buildCommit(root, named, progress.say);
    const comparisons: NamedComparison[] = [];
    let failures = 0;
    for (const [name, row] of options.rows) {
      try {
        const found = await compareRow(name, row, other, (said) => progress.say(`${name}: ${said}`));
        comparisons.push(...found.map((comparison) => ({ ...comparison, row: name })));
      } catch (error) {
        failures += 1;
        progress.clear();
        process.stderr.write(`${name} failed: ${error instanceof Error ? error.message : String(error)}\n`);
      }
    }
    progress.clear();
    const kept = {
      machine: describeMachine(),
      date: new Date().toISOString(),
      commit,
      against: other.id,
      rows: comparisons,
    };
    process.stdout.write(
      options.json ? `${JSON.stringify(kept, undefined, 2)}\n` : `${renderComparisons(comparisons, other.id)}\n`,
    );
    return complain(comparisons, failures, options.check);
  } catch (error) {
    if (!(error instanceof AgainstError)) throw error;
    progress.clear();
    process.stderr.write(`${error.message}\n`);
    return 2;
  }
}

async function compareRow(name: string, row: Row, other: OtherCommit, say: Say): Promise<readonly Comparison[]> {
  if (row.side === undefined) return compareRuns(name, row, other.dist, RUNS_SECONDS, say);
  const limit = LAPS_SECONDS + MARGIN_SECONDS;
  const outcome = await runChild<readonly Comparison[]>(CHILD, [name, other.dist.href], [], limit, say);
  if (outcome.is === 'failed') throw new Error(outcome.why);
  return outcome.report;
}

function complain(comparisons: readonly NamedComparison[], failures: number, check: boolean): number {
  if (failures > 0) return 1;
  const worse = comparisons.filter(isWorse);
  if (!check || worse.length === 0) return 0;
  process.stderr.write(`worse than before: ${worse.map(nameOf).join(', ')}\n`);
  return 1;
}
