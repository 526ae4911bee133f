/**
 * The alert rules with shorter times, for a rehearsal: nobody wants to wait for twenty minutes to see one resolve.
 *
 * Every time is divided by the factor: `for`, `keep_firing_for`, ranges (`[5m]`), offsets (`offset 30m`), and the seconds
 * with which an age is compared (`keyturn_oldest_ready_seconds > 300`). What is not a time stays: shares, counts, sizes,
 * how far ahead the disk is looked at, the life of a certificate.
 */
import { parse } from 'yaml';

const UNITS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };
const AGE = /(keyturn_(?:oldest_ready|leader_vacant|cluster_follow_ups_held_up)_seconds > )(\d+)/g;

/** @param rules text of a rules file. @returns one that says the same in `factor`-th of the time */
export function shortened(rules: string, factor: number): string {
  return JSON.stringify(parse(rules), (name: string, value: unknown) => {
    if (typeof value !== 'string') return value;
    if (name === 'for' || name === 'keep_firing_for') return shorter(value, factor);
    return name === 'expr' ? shorterExpression(value, factor) : value;
  });
}

function shorterExpression(expression: string, factor: number): string {
  return expression
    .replace(/\[(\w+)\]/g, (_, range: string) => `[${shorter(range, factor)}]`)
    .replace(/\boffset (\w+)/g, (_, by: string) => `offset ${shorter(by, factor)}`)
    .replace(AGE, (_, asked: string, seconds: string) => `${asked}${Number(seconds) / factor}`);
}

function shorter(time: string, factor: number): string {
  const [, count = '', unit = ''] = /^(\d+)([smhd])$/.exec(time) ?? [];
  const ms = Number(count) * (UNITS[unit] ?? Number.NaN);
  if (Number.isNaN(ms)) throw new Error(`not a time: ${time}`);
  return `${Math.round(ms / factor)}ms`;
}
