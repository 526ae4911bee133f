/** Times and lengths of time, for people. */

const UNITS = [
  [86_400, 'd'],
  [3_600, 'h'],
  [60, 'min'],
  [1, 's'],
] as const;

/** `3 min 20 s`: the largest unit and the next. Below ten seconds with a tenth, if it is known. */
export function lengthOf(ms: number): string {
  const seconds = Math.max(0, ms) / 1_000;
  if (seconds < 1) return `${Math.round(seconds * 1_000)} ms`;
  if (seconds < 10) return `${Math.floor(seconds * 10) / 10} s`;
  const at = UNITS.findIndex(([size]) => seconds >= size);
  const [size, unit] = UNITS[at] ?? UNITS[3];
  const [nextSize, nextUnit] = UNITS[at + 1] ?? [1, 's'];
  const first = Math.floor(seconds / size);
  const rest = Math.floor((seconds - first * size) / nextSize);
  return rest === 0 || size === 1 ? `${first} ${unit}` : `${first} ${unit} ${rest} ${nextUnit}`;
}

/** Ages move every second: no fractions. */
export function ageOf(ms: number): string {
  return ms < 1_000 ? '0 s' : lengthOf(Math.floor(ms / 1_000) * 1_000);
}

/** Of a duration in JSON, `1.5s`. Undefined: unset, or none. */
export function msOf(duration: string | undefined): number | undefined {
  const match = /^(-?\d+(?:\.\d+)?)s$/.exec(duration ?? '');
  return match === null ? undefined : Number(match[1]) * 1_000;
}

/** Of a time in JSON. */
export function momentOf(time: string | undefined): number | undefined {
  const moment = time === undefined ? Number.NaN : Date.parse(time);
  return Number.isNaN(moment) ? undefined : moment;
}

/** By the clock on the wall of whoever looks, and the date when it is not of today. */
export function clockTime(moment: number, today: number): string {
  const at = new Date(moment);
  const time = at.toLocaleTimeString();
  return at.toDateString() === new Date(today).toDateString() ? time : `${at.toLocaleDateString()} ${time}`;
}

export function counted(count: number, one: string, many = `${one}s`): string {
  return `${count.toLocaleString('en')} ${count === 1 ? one : many}`;
}
