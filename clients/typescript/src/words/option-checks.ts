/** Settings that are wrong are refused at once, with their name, their value, and what is allowed. */
import type { CallSettings } from './calls.js';
import { KeyturnError } from './errors.js';
import { type Names, noSuchName, unknownName } from './names.js';
import { isText, shown } from './values.js';

/** @throws KeyturnError (INVALID_ARGUMENT) unless `value` is a number from `least` to `most` */
export function numberWithin(name: string, value: number, least: number, most: number): number {
  if (typeof value === 'number' && value >= least && value <= most) return value;
  throw wrongSetting(`${name} is ${shown(value)}; allowed is a number from ${least} to ${most}`);
}

/** @throws KeyturnError (INVALID_ARGUMENT) unless `value` is a whole number from `least` to `most` */
export function countWithin(name: string, value: number, least: number, most: number): number {
  if (Number.isSafeInteger(value) && value >= least && value <= most) return value;
  throw wrongSetting(`${name} is ${shown(value)}; allowed is a whole number from ${least} to ${most}`);
}

/** @throws KeyturnError (INVALID_ARGUMENT) unless `value` is unset or one of the words */
export function wordWithin(name: string, value: string | undefined, words: readonly string[]): void {
  if (value === undefined || words.includes(value)) return;
  const allowed = words.map((word) => JSON.stringify(word)).join(', ');
  throw wrongSetting(`${name} is ${shown(value)}; allowed are ${allowed}`);
}

/** @throws KeyturnError (INVALID_ARGUMENT) unless `value` is a function */
export function functionNeeded(name: string, value: unknown): void {
  if (typeof value !== 'function') throw wrongSetting(`${name} is ${shown(value)}; needed is a function`);
}

/** @throws KeyturnError (INVALID_ARGUMENT) unless `value` is a text that is not empty */
export function textNeeded(name: string, value: string): string {
  if (isText(value) && value !== '') return value;
  throw wrongSetting(`${name} is ${shown(value)}; needed is a text in Unicode that is not empty`);
}

/** @throws KeyturnError (INVALID_ARGUMENT) unless `value` is unset or a text */
export function optionalText(name: string, value: string | undefined): void {
  if (value !== undefined && !isText(value))
    throw wrongSetting(`${name} is ${shown(value)}; allowed is a text in Unicode`);
}

/** @throws KeyturnError (INVALID_ARGUMENT) unless `value` is unset or a signal */
export function optionalSignal(name: string, value: AbortSignal | undefined): void {
  if (value === undefined) return;
  // By what is used of it: signals of another realm, or of a library, are signals too.
  const isSignal = value !== null && typeof value === 'object' && typeof value.addEventListener === 'function';
  if (!isSignal || typeof value.aborted !== 'boolean')
    throw wrongSetting(`${name} is ${shown(value)}; allowed is an AbortSignal`);
}

/** @throws KeyturnError (INVALID_ARGUMENT) unless it is an object */
function objectNeeded(name: string, options: object): void {
  if (typeof options !== 'object' || options === null || Array.isArray(options))
    throw wrongSetting(`${name} is ${shown(options)}; needed is an object`);
}

/** Names and texts, any of which would break a whole message if it were something else. @throws KeyturnError (INVALID_ARGUMENT) */
export function textsNeeded(name: string, texts: Readonly<Record<string, string>>): ReadonlyMap<string, string> {
  objectNeeded(name, texts);
  const entries = Object.entries(texts);
  for (const [key, text] of entries) {
    if (!isText(key)) throw wrongSetting(`a name in ${name} is ${shown(key)}; needed is a text in Unicode`);
    if (!isText(text)) throw wrongSetting(`${name}.${key} is ${shown(text)}; needed is a text in Unicode`);
  }
  return new Map(entries);
}

/**
 * A misspelt name would lose what it asks for, in silence.
 *
 * @param known all names that there are
 * @throws KeyturnError (INVALID_ARGUMENT) unless it is an object of options that there are
 */
export function optionsNeeded(name: string, options: object, known: Names): void {
  objectNeeded(name, options);
  const unknown = unknownName(options, known);
  if (unknown !== undefined) throw wrongSetting(`${name}: ${noSuchName(unknown, known)}`);
}

const LONGEST_END = 86_400_000;
const END_OPTIONS = { timeout: true } as const;
const CALL_SETTINGS: Readonly<Record<keyof CallSettings, true>> = { timeout: true, signal: true, leave: true };

/** How long something may take to end. @throws KeyturnError (INVALID_ARGUMENT) naming what is wrong */
export function checkEndOptions(name: string, options: { readonly timeout?: number | undefined }): void {
  optionsNeeded(name, options, END_OPTIONS);
  if (options.timeout !== undefined) numberWithin('timeout', options.timeout, 0, LONGEST_END);
}

/** @throws KeyturnError (INVALID_ARGUMENT) naming what is wrong */
export function checkCallSettings(settings: CallSettings | undefined): void {
  if (settings === undefined) return;
  if (typeof settings !== 'object' || settings === null)
    throw wrongSetting(`the settings of the call are ${shown(settings)}; needed is an object`);
  const unknown = unknownName(settings, CALL_SETTINGS);
  if (unknown !== undefined) throw wrongSetting(`the settings of the call: ${noSuchName(unknown, CALL_SETTINGS)}`);
  if (settings.timeout !== undefined) numberWithin('timeout', settings.timeout, 0, Infinity);
  if (settings.leave !== undefined && typeof settings.leave !== 'boolean')
    throw wrongSetting(`leave is ${shown(settings.leave)}; allowed is true or false`);
  optionalSignal('signal', settings.signal);
}

export function wrongSetting(what: string): KeyturnError {
  return new KeyturnError(what, 'INVALID_ARGUMENT');
}
