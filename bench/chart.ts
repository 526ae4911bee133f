import type { Chart, Series } from './row.js';

const WIDTH = 720;
const HEIGHT = 420;
const LEFT = 70;
const RIGHT = 150;
const TOP = 50;
const BOTTOM = 60;
const COLOURS = ['#0b6bcb', '#8a8a8a', '#c2410c', '#15803d'];
const GRID_LINES = 5;

interface Scale {
  readonly x: (value: number) => number;
  readonly y: (value: number) => number;
  readonly top: number;
}

/** A chart as SVG: x logarithmic, y from zero. */
export function renderChart(chart: Chart): string {
  const scale = scaleOf(chart);
  const parts = [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" font-family="sans-serif" font-size="13">`,
    `<rect width="${WIDTH}" height="${HEIGHT}" fill="#ffffff"/>`,
    text(LEFT, 28, chart.title, 'font-size="16"'),
    ...gridOf(scale),
    ...ticksOf(chart, scale),
    text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 15, chart.x, 'text-anchor="middle"'),
    text(18, (TOP + HEIGHT - BOTTOM) / 2, chart.y, verticalAt(18, (TOP + HEIGHT - BOTTOM) / 2)),
    ...chart.series.flatMap((series, index) => lineOf(series, COLOURS[index % COLOURS.length] ?? '#000000', scale)),
    '</svg>',
  ];
  return `${parts.join('\n')}\n`;
}

function scaleOf(chart: Chart): Scale {
  const points = chart.series.flatMap((series) => series.points);
  const logs = points.map((point) => Math.log10(point.x));
  const from = Math.min(...logs);
  const to = Math.max(...logs);
  const top = niceAbove(Math.max(...points.map((point) => point.y)));
  return {
    x: (value) => round(LEFT + ((Math.log10(value) - from) / (to - from || 1)) * (WIDTH - LEFT - RIGHT)),
    y: (value) => round(HEIGHT - BOTTOM - (value / top) * (HEIGHT - TOP - BOTTOM)),
    top,
  };
}

/** The next of 1, 2, 5 times a power of ten. */
function niceAbove(value: number): number {
  const power = 10 ** Math.floor(Math.log10(value));
  const step = [1, 2, 5, 10].find((candidate) => candidate * power >= value) ?? 10;
  return step * power;
}

function gridOf(scale: Scale): string[] {
  return Array.from({ length: GRID_LINES + 1 }, (_, index) => {
    const value = (scale.top * index) / GRID_LINES;
    const y = scale.y(value);
    const line = `<line x1="${LEFT}" y1="${y}" x2="${WIDTH - RIGHT}" y2="${y}" stroke="#dddddd"/>`;
    return `${line}${text(LEFT - 8, y + 4, spell(value), 'text-anchor="end"')}`;
  });
}

function ticksOf(chart: Chart, scale: Scale): string[] {
  const marks = new Set(chart.series.flatMap((series) => series.points.map((point) => point.x)));
  return [...marks].map((x) => text(scale.x(x), HEIGHT - BOTTOM + 20, spell(x), 'text-anchor="middle"'));
}

function lineOf(series: Series, colour: string, scale: Scale): string[] {
  const at = series.points.map((point) => ({ x: scale.x(point.x), y: scale.y(point.y) }));
  const path = at.map(({ x, y }) => `${x},${y}`).join(' ');
  const dots = at.map(({ x, y }) => `<circle cx="${x}" cy="${y}" r="4" fill="${colour}"/>`);
  const last = at.at(-1) ?? { x: LEFT, y: TOP };
  const name = text(last.x + 10, last.y + 4, series.name, `fill="${colour}"`);
  return [`<polyline points="${path}" fill="none" stroke="${colour}" stroke-width="2"/>`, ...dots, name];
}

function text(x: number, y: number, said: string, attributes: string): string {
  return `<text x="${x}" y="${y}" ${attributes}>${escaped(said)}</text>`;
}

function verticalAt(x: number, y: number): string {
  return `text-anchor="middle" transform="rotate(-90 ${x} ${y})"`;
}

function spell(value: number): string {
  return round(value).toLocaleString('en-US');
}

function round(value: number): number {
  return Math.round(value * 100) / 100;
}

function escaped(said: string): string {
  return said.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
