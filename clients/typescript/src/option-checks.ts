/** Settings that are wrong are told at once, with their name, their value, and what is allowed. */
import { KeyturnError } from './errors.js';

/** @throws KeyturnError (INVALID_ARGUMENT) unless `value` is a number from `least` to `most` */
export function numberWithin(name: string, value: number, least: number, most: number): number {
  if (typeof value === 'number' && value >= least && value <= most) return value;
  throw wrongSetting(`${name} is ${String(value)}; allowed is a number from ${least} to ${most}`);
}

/** @throws KeyturnError (INVALID_ARGUMENT) unless `value` is a whole number from `least` to `most` */
export function countWithin(name: string, value: number, least: number, most: number): number {
  if (Number.isSafeInteger(value) && value >= least && value <= most) return value;
  throw wrongSetting(`${name} is ${String(value)}; allowed is a whole number from ${least} to ${most}`);
}

/** @throws KeyturnError (INVALID_ARGUMENT) unless `value` is unset or one of the words */
export function wordWithin(name: string, value: string | undefined, words: readonly string[]): void {
  if (value === undefined || words.includes(value)) return;
  const allowed = words.map((word) => JSON.stringify(word)).join(', ');
  throw wrongSetting(`${name} is ${JSON.stringify(value)}; allowed are ${allowed}`);
}

/** @throws KeyturnError (INVALID_ARGUMENT) unless `value` is a function */
export function functionNeeded(name: string, value: unknown): void {
  if (typeof value !== 'function') throw wrongSetting(`${name} is ${typeof value}; needed is a function`);
}

/** @throws KeyturnError (INVALID_ARGUMENT) unless `value` is a text that is not empty */
export function textNeeded(name: string, value: string): string {
  if (typeof value === 'string' && value !== '') return value;
  throw wrongSetting(`${name} is ${JSON.stringify(value)}; needed is a text that is not empty`);
}

export function wrongSetting(what: string): KeyturnError {
  return new KeyturnError(what, 'INVALID_ARGUMENT');
}
