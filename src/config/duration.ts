/** Durations as people write them: a number and its unit. A number alone is refused, because nobody knows what it means. */

const UNITS = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 } as const;

const WRITTEN = /^(\d{1,15}(?:\.\d{1,9})?)(ms|s|m|h)$/;

/** ms; unset when `text` is not a duration of whole milliseconds. `1.5s` is one, `0.5ms` is not. */
export function parseDuration(text: string): number | undefined {
  const match = WRITTEN.exec(text);
  if (match === null) return undefined;
  const [, amount, unit] = match;
  const factor = unit === 'ms' || unit === 's' || unit === 'm' || unit === 'h' ? UNITS[unit] : Number.NaN;
  // 1.1 * 60_000 is 66000.00000000001: what is left of a millisecond after rounding decides, not equality.
  const ms = Number(amount) * factor;
  const whole = Math.round(ms);
  return Number.isSafeInteger(whole) && Math.abs(ms - whole) < 1e-6 ? whole : undefined;
}

/** The largest unit that says it without a fraction. `parseDuration` reads it back. */
export function formatDuration(ms: number): string {
  if (ms === 0) return '0s';
  for (const unit of ['h', 'm', 's'] as const) {
    if (ms % UNITS[unit] === 0) return `${ms / UNITS[unit]}${unit}`;
  }
  return `${ms}ms`;
}
