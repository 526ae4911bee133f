/** A graph: axes with units, a line for each series, its name and last value below. */
import { type Panel, record } from '../dashboard-file.js';
import type { Span } from '../prometheus.js';
import { nameOf, type Shown } from '../showing.js';
import { type Box, colourOf, FAINT, fitting, INK, LINE, rectangle, round, words } from './svg.js';
import { inUnit } from './units.js';

interface Line {
  readonly name: string;
  readonly points: readonly (readonly [number, number])[];
  /** Its own, not that of what lies below it too. */
  readonly last: number;
  readonly isLimit: boolean;
}

interface Scale {
  readonly x: (second: number) => number;
  readonly y: (value: number) => number;
}

const LEFT = 62;
const LEGEND_LINE = 14;
const MOST_LEGEND_LINES = 4;
/** Letters. */
const LONGEST_VALUE = 10;
const LETTER = 5.8;
const GRID_LINES = 4;
/** Seconds. */
const MOMENTS = [2, 5, 10, 15, 30, 60, 120, 300, 600, 1_800, 3_600];

export function drawGraph(panel: Panel, shown: readonly Shown[], box: Box, span: Span): string[] {
  const { custom } = record(record(panel.json['fieldConfig'])['defaults']);
  const isStacked = record(record(custom)['stacking'])['mode'] === 'normal';
  const lines = isStacked ? stacked(linesOf(panel, shown)) : linesOf(panel, shown);
  const legend = legendOf(lines, panel.unit, box);
  const bottom = box.y + box.height - legend.height - 18;
  const plot: Box = { x: box.x + LEFT, y: box.y + 4, width: box.width - LEFT - 8, height: bottom - box.y - 4 };
  const highest = Math.max(
    ...lines.flatMap(({ points }) => points.map(([, value]) => value)).filter(Number.isFinite),
    0,
  );
  const step = stepOf(highest, panel.unit);
  const top = step * Math.max(1, Math.ceil(highest / step));
  const scale: Scale = {
    x: (second) => round(plot.x + ((second - span.from) / (span.to - span.from)) * plot.width),
    y: (value) => round(plot.y + plot.height - (value / top) * plot.height),
  };
  return [
    ...grid(plot, top, step, panel.unit, scale),
    ...hours(plot, span, scale),
    ...lines.flatMap((line, at) => path(line, colourOf(at), scale, isStacked)),
    ...legend.drawn,
  ];
}

function linesOf({ json }: Panel, shown: readonly Shown[]): readonly Line[] {
  const overrides = record(json['fieldConfig'])['overrides'];
  const patterns = Array.isArray(overrides)
    ? overrides.map((one) => String(record(record(one)['matcher'])['options']).replace(/^\/|\/$/g, ''))
    : [];
  return shown.flatMap(({ target, answers }) =>
    answers.map((answer) => {
      const name = nameOf(target, answer);
      const isLimit = patterns.some((pattern) => new RegExp(pattern).test(name));
      return { name, points: answer.points, last: answer.points.at(-1)?.[1] ?? Number.NaN, isLimit };
    }),
  );
}

/** Each upon the sum of those before it. */
function stacked(lines: readonly Line[]): readonly Line[] {
  const sums = new Map<number, number>();
  return lines.map((line) => {
    const points = line.points.map(([second, value]): readonly [number, number] => {
      const sum = (sums.get(second) ?? 0) + (Number.isFinite(value) ? value : 0);
      sums.set(second, sum);
      return [second, sum];
    });
    return { ...line, points };
  });
}

/** What a person counts in, so that there are about as many lines as wanted. */
function stepOf(highest: number, unit: string): number {
  if (highest <= 0) return 1;
  const least = highest / GRID_LINES;
  if (unit === 'bytes') return 2 ** Math.ceil(Math.log2(least));
  const moment = unit === 's' && least > 1 ? MOMENTS.find((seconds) => seconds >= least) : undefined;
  if (moment !== undefined) return moment;
  const power = 10 ** Math.floor(Math.log10(least));
  return ([1, 2, 5, 10].find((times) => times * power >= least) ?? 10) * power;
}

function grid(plot: Box, top: number, step: number, unit: string, { y }: Scale): string[] {
  const marks = Array.from({ length: Math.round(top / step) + 1 }, (_, at) => at * step);
  return marks.flatMap((value) => [
    `<path d="M${round(plot.x)} ${y(value)}h${round(plot.width)}" stroke="${LINE}"/>`,
    words(plot.x - 6, y(value) + 4, inUnit(value, unit), `text-anchor="end" font-size="10" fill="${FAINT}"`),
  ]);
}

/** Minutes since the left end: the hour at which the picture was made is nobody's business. */
function hours(plot: Box, { from, to }: Span, { x }: Scale): string[] {
  const minutes = Math.floor((to - from) / 60);
  const each = Math.max(1, Math.ceil(minutes / 5));
  const marks = Array.from({ length: Math.floor(minutes / each) }, (_, at) => (at + 1) * each);
  return marks.map((minute) =>
    words(
      x(from + minute * 60),
      plot.y + plot.height + 14,
      `${minute} min`,
      `text-anchor="middle" font-size="10" fill="${FAINT}"`,
    ),
  );
}

function path({ points, isLimit }: Line, colour: string, { x, y }: Scale, isFilled: boolean): string[] {
  const parts: string[] = [];
  let isDown = false;
  for (const [second, value] of points) {
    if (Number.isFinite(value)) parts.push(`${isDown ? 'L' : 'M'}${x(second)} ${y(value)}`);
    isDown = Number.isFinite(value);
  }
  if (parts.length === 0) return [];
  const dashes = isLimit ? ' stroke-dasharray="6 5"' : '';
  const drawn = `<path d="${parts.join('')}" fill="none" stroke="${colour}" stroke-width="1.5"${dashes}/>`;
  const [first, last] = [points[0], points.at(-1)];
  if (!isFilled || first === undefined || last === undefined) return [drawn];
  const area = `${parts.join('')}L${x(last[0])} ${y(0)}L${x(first[0])} ${y(0)}Z`;
  return [`<path d="${area}" fill="${colour}" fill-opacity="0.12"/>`, drawn];
}

/** As many as there is room for whole names, and not so few that lines are left out. */
function columnsOf(lines: readonly Line[], width: number): number {
  const longest = Math.max(...lines.map(({ name }) => name.length)) + LONGEST_VALUE;
  const whole = Math.max(1, Math.floor(width / (longest * LETTER)));
  return Math.min(4, Math.max(whole, Math.min(2, Math.ceil(lines.length / MOST_LEGEND_LINES))));
}

function legendOf(
  lines: readonly Line[],
  unit: string,
  box: Box,
): { readonly height: number; readonly drawn: string[] } {
  const columns = columnsOf(lines, box.width);
  const places = columns * MOST_LEGEND_LINES;
  const named = lines.length > places ? lines.slice(0, places - 1) : lines;
  const rows = Math.ceil((named.length + (lines.length > places ? 1 : 0)) / columns);
  const height = rows * LEGEND_LINE + 4;
  const width = box.width / columns;
  const at = (place: number) => ({
    x: box.x + 4 + (place % columns) * width,
    y: box.y + box.height - height + 10 + Math.floor(place / columns) * LEGEND_LINE,
  });
  const drawn = named.flatMap((line, place) => {
    const { x, y } = at(place);
    const said = `${line.name}  ${inUnit(line.last, unit)}`;
    return [
      rectangle({ x, y: y - 6, width: 10, height: 3 }, `fill="${colourOf(place)}"`),
      words(x + 14, y, fitting(said, width - 20, 10), `font-size="10" fill="${INK}"`),
    ];
  });
  if (lines.length > places) {
    const { x, y } = at(places - 1);
    drawn.push(words(x, y, `and ${lines.length - named.length} more`, `font-size="10" fill="${FAINT}"`));
  }
  return { height, drawn };
}
