/** Bars over a logarithmic axis, as SVG that reads by light and in the dark, and aloud. */
export interface Bar {
  readonly name: string;
  readonly value: number;
  readonly bounds: { readonly low: number; readonly high: number } | undefined;
  /** Another value, drawn within. */
  readonly part: number;
}

export interface Bars {
  readonly title: string;
  readonly told: string;
  /** What the inner bars are. */
  readonly inner: string;
  readonly bars: readonly Bar[];
}

const WIDTH = 760;
const LEFT = 180;
const RIGHT = 90;
const TOP = 84;
const STEP = 40;
const THICK = 22;

const STYLE = `
svg { --paper: #ffffff; --ink: #1f2328; --soft: #d0d7de; --bar: #0b6bcb; --inner: #c2410c; }
@media (prefers-color-scheme: dark) { svg { --paper: #0d1117; --ink: #e6edf3; --soft: #30363d; --bar: #58a6ff; --inner: #ff9a57; } }
text { fill: var(--ink); }`;

export function renderBars({ title, told, inner, bars }: Bars): string {
  const height = TOP + bars.length * STEP + 50;
  const decades = Math.max(
    1,
    Math.ceil(Math.log10(Math.max(...bars.map(({ value, bounds }) => bounds?.high ?? value)))),
  );
  const x = (value: number) =>
    Math.round((LEFT + (Math.max(0, Math.log10(Math.max(1, value))) / decades) * (WIDTH - LEFT - RIGHT)) * 10) / 10;
  const aloud = bars
    .map(({ name, value, part }) => `${name}: ${spell(value)} ms, needlessly ${spell(part)} ms`)
    .join('; ');
  return `${[
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" role="img" aria-labelledby="title desc" font-family="sans-serif" font-size="13">`,
    `<title id="title">${escaped(title)}</title>`,
    `<desc id="desc">${escaped(`${told} ${aloud}.`)}</desc>`,
    `<style>${STYLE}</style>`,
    `<rect width="${WIDTH}" height="${height}" fill="var(--paper)"/>`,
    text(16, 28, title, 'font-size="16"'),
    ...wrapped(told).map((line, at) => text(16, 48 + at * 16, line, 'font-size="12"')),
    ...Array.from({ length: decades + 1 }, (_, power) => gridLine(x(10 ** power), 10 ** power, height)),
    ...bars.flatMap((bar, at) => drawn(bar, TOP + at * STEP, x)),
    `<rect x="16" y="${height - 18}" width="12" height="8" fill="var(--inner)"/>`,
    text(34, height - 10, inner, 'font-size="12"'),
    '</svg>',
  ].join('\n')}\n`;
}

function drawn({ name, value, bounds, part }: Bar, y: number, x: (value: number) => number): string[] {
  const middle = y + THICK / 2;
  const end = x(bounds?.high ?? value);
  const whisker =
    bounds === undefined
      ? []
      : [`<path d="M${x(bounds.low)} ${middle}H${x(bounds.high)}" stroke="var(--ink)" stroke-width="2"/>`];
  return [
    text(LEFT - 10, middle + 5, name, 'text-anchor="end"'),
    `<rect x="${LEFT}" y="${y}" width="${x(value) - LEFT}" height="${THICK}" fill="var(--bar)"/>`,
    `<rect x="${LEFT}" y="${y + 7}" width="${x(part) - LEFT}" height="${THICK - 14}" fill="var(--inner)"/>`,
    ...whisker,
    text(end + 8, middle + 5, spell(value), ''),
  ];
}

function gridLine(x: number, value: number, height: number): string {
  const line = `<path d="M${x} ${TOP - 6}V${height - 36}" stroke="var(--soft)"/>`;
  return `${line}${text(x, height - 24, spell(value), 'text-anchor="middle" font-size="11"')}`;
}

/** At a blank, in lines of about a hundred letters. */
function wrapped(words: string): readonly string[] {
  return words.match(/.{1,112}(?:\s|$)/g)?.map((line) => line.trim()) ?? [];
}

function text(x: number, y: number, said: string, attributes: string): string {
  return `<text x="${x}" y="${y}" ${attributes}>${escaped(said)}</text>`;
}

function spell(value: number): string {
  return Number(value.toPrecision(3)).toLocaleString('en-US');
}

function escaped(said: string): string {
  return said.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
