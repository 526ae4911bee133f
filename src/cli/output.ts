/** How values are shown to people. */
import { harmless } from '../observability/harmless.js';

/** Rows with aligned columns, each on its own line, whatever is in them. The last column is not padded. */
export function alignColumns(cells: readonly (readonly string[])[]): string {
  const rows = cells.map((row) => row.map(harmless));
  const widths: number[] = [];
  for (const row of rows) {
    row.forEach((cell, at) => {
      widths[at] = Math.max(widths[at] ?? 0, cell.length);
    });
  }
  const line = (row: readonly string[]) => row.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join('  ');
  return rows.map((row) => `${line(row).trimEnd()}\n`).join('');
}

const UNITS = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1_000],
] as const;

/** A duration in its two largest units: `2m 3s`, `1d 4h`; below ten seconds `2.5s`, below one `250ms`. */
export function humanDuration(ms: number): string {
  const whole = Math.max(0, Math.round(ms));
  if (whole < 1_000) return `${whole}ms`;
  if (whole < 9_950) return `${Number((whole / 1_000).toFixed(1))}s`;
  const first = UNITS.findIndex(([, size]) => Math.round(whole / 1_000) * 1_000 >= size);
  return twoUnits(Math.round(whole / 1_000) * 1_000, first);
}

function twoUnits(ms: number, first: number): string {
  let rest = ms;
  const parts = UNITS.slice(first, first + 2).map(([name, size]) => {
    const amount = Math.floor(rest / size);
    rest -= amount * size;
    return amount === 0 ? '' : `${amount}${name}`;
  });
  return parts.filter((part) => part !== '').join(' ');
}

/** How long ago an instant (ms since the epoch) was, by the clock of this machine. */
export function ago(instant: number, now = Date.now()): string {
  return `${humanDuration(now - instant)} ago`;
}

export function isoInstant(instant: number): string {
  return new Date(instant).toISOString();
}

export function count(value: number): string {
  return value.toLocaleString('en-US');
}

/** `1 item`, `2 items`. */
export function amount(value: number, noun: string): string {
  return `${count(value)} ${noun}${value === 1 ? '' : 's'}`;
}

export function percent(share: number): string {
  return `${(share * 100).toFixed(1)} %`;
}

/** A key or id on one line: quoted when it is empty or has blanks or unprintable characters. */
export function plain(text: string): string {
  return /^[^\s"\\\p{C}]+$/u.test(text) ? text : harmless(JSON.stringify(text));
}

/** `0-3, 7`. */
export function ranges(numbers: readonly number[]): string {
  const parts: { from: number; to: number }[] = [];
  for (const number of numbers) {
    const last = parts.at(-1);
    if (last?.to === number - 1) last.to = number;
    else parts.push({ from: number, to: number });
  }
  return parts.map(({ from, to }) => (from === to ? `${from}` : `${from}-${to}`)).join(', ');
}
