/** Numbers as Grafana shows them, for the units that our dashboards use. */

type Show = (value: number) => string;

const UNITS: Readonly<Record<string, Show>> = {
  none: plain,
  short: (value) => scaled(value, 1_000, ['', ' K', ' Mil', ' Bil']),
  cps: (value) => `${plain(value)} c/s`,
  reqps: (value) => `${plain(value)} req/s`,
  percentunit: (value) => `${plain(value * 100)} %`,
  bytes: (value) => scaled(value, 1_024, [' B', ' KiB', ' MiB', ' GiB', ' TiB']),
  s: seconds,
  dtdurations: duration,
  dateTimeFromNow: (ms) => `${seconds((Date.now() - ms) / 1_000)} ago`,
};

/** @throws when the unit is not known: then it stands here soon */
export function inUnit(value: number, unit: string): string {
  const show = UNITS[unit];
  if (show === undefined) throw new Error(`nobody can draw the unit ${unit} yet`);
  return Number.isFinite(value) ? show(value) : '–';
}

/** Three digits that count. */
function plain(value: number): string {
  if (Number.isInteger(value)) return String(value);
  return String(Number(value.toPrecision(3)));
}

function scaled(value: number, base: number, names: readonly string[]): string {
  let rest = value;
  let at = 0;
  while (Math.abs(rest) >= base && at < names.length - 1) {
    rest /= base;
    at += 1;
  }
  return `${plain(rest)}${names[at] ?? ''}`;
}

function seconds(value: number): string {
  const size = Math.abs(value);
  if (size === 0) return '0 s';
  if (size < 0.001) return `${plain(value * 1_000_000)} µs`;
  if (size < 1) return `${plain(value * 1_000)} ms`;
  if (size < 60) return `${plain(value)} s`;
  if (size < 3_600) return `${plain(value / 60)} min`;
  return `${plain(value / 3_600)} h`;
}

function duration(value: number): string {
  if (value >= 86_400) return `${Math.floor(value / 86_400)} days ${Math.floor((value % 86_400) / 3_600)} h`;
  return seconds(value);
}
