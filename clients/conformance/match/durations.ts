/** `250ms`, `2s`, `1m`, as the sidecar's settings have them. */
const DURATION = /^(\d+(?:\.\d+)?)(ms|s|m)$/;
const MS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000 };

/** @returns ms; undefined when it is none */
export function durationOf(value: unknown): number | undefined {
  if (typeof value !== 'string') return undefined;
  const [, number, unit] = DURATION.exec(value) ?? [];
  const factor = unit === undefined ? undefined : MS[unit];
  return factor === undefined ? undefined : Number(number) * factor;
}
