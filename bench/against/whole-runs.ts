/** Rows that have no laps: the whole row is run by each commit in turn, by its own benchmark. */
import { fileURLToPath } from 'node:url';
import { type Figure, median } from '../measure.js';
import type { Row, Say } from '../row.js';
import { runRow } from '../run-row.js';
import { type Comparison, judged } from './compare.js';
import { FEWEST, isWithin, medianInterval, NARROW } from './interval.js';
import { type Dist, TODAY } from './side.js';

/** Each run is a round; there are not many, because each lasts as long as the row. */
const MOST_RUNS = 12;

interface Values {
  readonly figure: Figure;
  readonly today: number[];
  readonly other: number[];
}

/** @param longestSeconds no run begins after it */
export async function compareRuns(
  name: string,
  row: Row,
  other: Dist,
  longestSeconds: number,
  say: Say,
): Promise<Comparison[]> {
  const all = new Map<string, Values>();
  const end = performance.now() + longestSeconds * 1_000;
  for (let run = 1; run <= MOST_RUNS && (run === 1 || performance.now() < end); run++) {
    const told: Say = (progress) => say(`run ${run}, ${progress}`);
    keep(all, 'today', await figuresOf(name, row, TODAY, told));
    keep(all, 'other', await figuresOf(name, row, other, told));
    const known = comparisonsOf(all);
    if (run >= FEWEST && known.every((each) => isWithin(judged(each), NARROW))) break;
  }
  return comparisonsOf(all);
}

async function figuresOf(name: string, row: Row, dist: Dist, say: Say): Promise<readonly Figure[]> {
  const outcome = await runRow(name, row, say, undefined, fileURLToPath(new URL('bench/child.js', dist)));
  if (outcome.is === 'failed') throw new Error(dist === TODAY ? outcome.why : `by the other commit: ${outcome.why}`);
  return outcome.report.figures;
}

function keep(all: Map<string, Values>, side: 'today' | 'other', figures: readonly Figure[]): void {
  for (const figure of figures) {
    if (figure.outcome.is !== 'measured') continue;
    const name = `${figure.row ?? ''}: ${figure.part ?? ''}`;
    const values = all.get(name) ?? { figure, today: [], other: [] };
    all.set(name, values);
    values[side].push(median(figure.outcome.rounds.map(({ value }) => value)));
  }
}

function comparisonsOf(all: ReadonlyMap<string, Values>): Comparison[] {
  return [...all.values()].filter(({ today, other }) => today.length > 0 && other.length > 0).map(comparisonOf);
}

function comparisonOf({ figure, today, other }: Values): Comparison {
  const ratios = today.map((value, run) => ratio(value, other[run] ?? Number.NaN, figure.better));
  return {
    part: [figure.row, figure.part].filter((word) => word !== undefined).join(', ') || undefined,
    unit: figure.unit,
    judgedBy: undefined,
    today: { value: median(today), cpu: undefined },
    other: { value: median(other), cpu: undefined },
    wall: medianInterval(ratios),
    cpu: undefined,
    rounds: ratios.length,
  };
}

/** Above 1: today's is better. Two that are nothing are alike. */
function ratio(today: number, other: number, better: Figure['better']): number {
  if (today === other) return 1;
  return better === 'higher' ? today / other : other / today;
}
