/** The printed form of the results. */
import type { Bounds, CpuTime, Line } from './measure.js';

const HEADER = ['row', 'Keyturn', 'peer', 'ratio', 'enough', 'aim', 'verdict', '95 % interval', 'CPU'];

/** One line a figure, columns aligned, and below it what each row did and against whom. */
export function renderTable(lines: readonly Line[]): string {
  const rows = [HEADER, ...lines.map(cells)];
  const widths = HEADER.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  const table = rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  );
  return [...table, '', ...lines.map(explanation)].join('\n');
}

function cells(line: Line): string[] {
  const { unit, enough, aim, better } = line;
  const marks = [enough, aim];
  return [
    nameOf(line),
    withUnit(line.value, unit),
    withUnit(line.peerValue, unit),
    figure(line.ratio),
    ...marks.map((mark) => (mark === undefined ? '–' : `${better === 'higher' ? '≥' : '≤'} ${figure(mark)}`)),
    line.verdict,
    rangeOf(line.interval, line.spread),
    cpuText(line.cpu),
  ];
}

/** How long each row took, s: what makes the whole long is seen. */
export function renderTimes(took: ReadonlyMap<string, number>): string {
  const all = [...took.values()].reduce((sum, seconds) => sum + seconds, 0);
  const each = [...took].map(([row, seconds]) => `${row} ${Math.round(seconds)} s`);
  return `took ${each.join(', ')}; in all ${(all / 60).toFixed(1)} min`;
}

export function nameOf(line: Pick<Line, 'row' | 'part'>): string {
  return line.part === undefined ? line.row : `${line.row}: ${line.part}`;
}

/** Too few rounds have no interval: how far they spread is all that is known. */
export function rangeOf(interval: Bounds | undefined, spread: number | undefined): string {
  if (interval !== undefined) return interval.map((bound) => figure(bound)).join(' to ');
  return spread === undefined ? '–' : `spread ${Math.round(spread * 100)} %`;
}

/** Of an operation, Keyturn's and the peer's. */
export function cpuText(cpu: CpuTime | undefined): string {
  if (cpu === undefined) return '–';
  const peer = cpu.peer === undefined ? '' : ` / ${figure(cpu.peer)}`;
  return `${figure(cpu.keyturn)}${peer} µs`;
}

function explanation(line: Line): string {
  const against = line.peer === undefined ? '' : line.value === undefined ? `; ${line.peer}` : `; against ${line.peer}`;
  return `${nameOf(line)}: ${line.what}${against}`;
}

export function withUnit(value: number | undefined, unit: string): string {
  return value === undefined ? '–' : `${figure(value)} ${unit}`;
}

/** Three significant digits: more would claim more than a run can know. */
export function figure(value: number | undefined): string {
  if (value === undefined) return '–';
  const rounded = Number(value.toPrecision(3));
  return Math.abs(rounded) >= 1_000 ? rounded.toLocaleString('en-US') : String(rounded);
}
