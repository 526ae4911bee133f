/** The printed form of a comparison of two commits. */
import { figure, nameOf } from '../table.js';
import { type Comparison, isWorse, judged } from './compare.js';
import { type Interval, isWithin, NARROW } from './interval.js';

export interface NamedComparison extends Comparison {
  readonly row: string;
}

const CPU = 'CPU s per million';

/** @param other how the other commit is called */
export function renderComparisons(comparisons: readonly NamedComparison[], other: string): string {
  const header = ['row', 'now', other, 'ratio (95 %)', `${CPU}: now`, other, 'ratio (95 %)', 'rounds', ''];
  const rows = [header, ...comparisons.map(cells)];
  const widths = header.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  const table = rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  );
  const told = [
    'A ratio above 1 is better now. * is the ratio that is judged: CPU time where all runs in one process, else time on the wall.',
  ];
  return [...table, '', ...told].join('\n');
}

function cells(comparison: NamedComparison): string[] {
  const { unit, today, other, wall, cpu, judgedBy, rounds } = comparison;
  const [byWall, byCpu] = [ratioOf(wall), cpu === undefined ? '–' : ratioOf(cpu)];
  return [
    nameOf(comparison),
    `${figure(today.value)} ${unit}`,
    figure(other.value),
    judgedBy === 'cpu' ? byWall : `${byWall} *`,
    figure(today.cpu),
    figure(other.cpu),
    judgedBy === 'cpu' ? `${byCpu} *` : byCpu,
    String(rounds),
    verdict(comparison),
  ];
}

function ratioOf({ median, bounds }: Interval): string {
  const interval = bounds === undefined ? 'too few rounds' : `${bounds.low.toFixed(3)} to ${bounds.high.toFixed(3)}`;
  return `${median.toFixed(3)} (${interval})`;
}

function verdict(comparison: Comparison): string {
  const ratio = judged(comparison);
  const words = [
    ...(isWorse(comparison) ? ['worse'] : ratio.bounds !== undefined && ratio.bounds.low > 1 ? ['better'] : []),
    ...(isWithin(ratio, NARROW) ? [] : [`not known to ±${100 * NARROW} %`]),
  ];
  return words.join(', ');
}
