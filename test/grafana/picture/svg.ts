/** The few shapes that pictures of dashboards are made of. */

export const INK = '#24292e';
export const FAINT = '#6b7280';
export const LINE = '#e5e7eb';

/** In the order of series. */
const COLOURS = [
  '#3f8f43',
  '#c98a00',
  '#2f7fc1',
  '#d9541e',
  '#b8312f',
  '#1a5fb4',
  '#8a4aa8',
  '#5c6f2b',
  '#0f8a8a',
  '#a0522d',
];

/** Of thresholds and words. */
const NAMED: Readonly<Record<string, string>> = {
  green: '#3f8f43',
  yellow: '#b58900',
  orange: '#d9730d',
  red: '#c4322b',
  blue: '#2f7fc1',
};

export function colourOf(at: number): string {
  return COLOURS[at % COLOURS.length] ?? INK;
}

export function named(colour: string): string {
  return NAMED[colour] ?? INK;
}

export interface Box {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

export function rectangle({ x, y, width, height }: Box, attributes: string): string {
  return `<rect x="${round(x)}" y="${round(y)}" width="${round(width)}" height="${round(height)}" ${attributes}/>`;
}

export function words(x: number, y: number, said: string, attributes = ''): string {
  return `<text x="${round(x)}" y="${round(y)}"${attributes === '' ? '' : ` ${attributes}`}>${escaped(said)}</text>`;
}

/** Cut off where it would leave its place; a letter is a little more than half as wide as it is high. */
export function fitting(said: string, width: number, size: number): string {
  const most = Math.max(1, Math.floor(width / (size * 0.58)));
  return said.length <= most ? said : `${said.slice(0, most - 1)}…`;
}

export function round(value: number): number {
  return Math.round(value * 10) / 10;
}

/** Panels are told apart by those who hear a picture, and by those who point at it. */
export function group(title: string, drawn: readonly string[]): string[] {
  return [`<g><title>${escaped(title)}</title>`, ...drawn, '</g>'];
}

export function escaped(said: string): string {
  return said.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
}
