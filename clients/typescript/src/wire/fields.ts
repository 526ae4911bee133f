/**
 * What the fields of a call may hold. The types say the same; programs in JavaScript have none, and many calls travel in one
 * message: one that cannot be written would end the stream, with every other call on it, and again on the next stream.
 */

import type { Duration } from '../gen/google/protobuf/duration.js';
import type { KeyturnError } from '../words/errors.js';
import { type Names, noSuchName, unknownName } from '../words/names.js';
import { badRequest, isText, shown } from '../words/values.js';
import type { Token } from '../words/worker-words.js';
import { toDuration } from './time.js';

const NOTHING = new Uint8Array(0);
const MOST_COUNT = 2 ** 32 - 1;
const MOST_TOKEN = 2n ** 64n - 1n;

function refusal(field: string, description: string): KeyturnError {
  return badRequest([[field, description]]);
}

export function text(field: string, value: string): string {
  if (isText(value)) return value;
  throw refusal(field, `${shown(value)} is no text in Unicode`);
}

export function optionalText(field: string, value: string | undefined): string {
  return value === undefined ? '' : text(field, value);
}

export function optionalBytes(field: string, value: Uint8Array | undefined): Uint8Array {
  if (value === undefined) return NOTHING;
  if (value instanceof Uint8Array) return value;
  throw refusal(field, `${shown(value)} is no Uint8Array`);
}

export function optionalCount(field: string, value: number | undefined): number {
  if (value === undefined) return 0;
  if (Number.isInteger(value) && value >= 0 && value <= MOST_COUNT) return value;
  throw refusal(field, `${shown(value)} is no whole number from 0 to ${MOST_COUNT}`);
}

/** Whatever is not false would be taken for true: the text "false" too. */
export function optionalFlag(field: string, value: boolean | undefined): boolean {
  if (value === undefined) return false;
  if (typeof value === 'boolean') return value;
  throw refusal(field, `${shown(value)} is not true or false`);
}

export function optionalMs(field: string, value: number | undefined): Duration | undefined {
  if (value === undefined) return undefined;
  if (typeof value === 'number' && value >= 0) return toDuration(value);
  throw refusal(field, `${shown(value)} is no number of ms`);
}

export function token(field: string, value: Token): bigint {
  const whole = typeof value === 'bigint' || Number.isInteger(value) ? BigInt(value) : -1n;
  if (whole >= 0n && whole <= MOST_TOKEN) return whole;
  throw refusal(field, `${shown(value)} is no token`);
}

export function word<W extends string, N extends number>(field: string, numbers: Readonly<Record<W, N>>, value: W): N {
  if (Object.hasOwn(numbers, value)) return numbers[value];
  throw refusal(field, `${shown(value)} is not one of ${Object.keys(numbers).join(', ')}`);
}

export function list<T>(field: string, value: readonly T[]): readonly T[] {
  if (Array.isArray(value)) return value;
  throw refusal(field, `${shown(value)} is no array`);
}

/** The call itself, with no names but those that there are. */
export function call<T extends object>(value: T, known: Names): T {
  object('call', value);
  const unknown = unknownName(value, known);
  if (unknown === undefined) return value;
  throw refusal('call', noSuchName(unknown, known));
}

/** The call itself, or a part of it. */
export function object<T extends object>(field: string, value: T): T {
  if (typeof value === 'object' && value !== null) return value;
  throw refusal(field, `${shown(value)} is no object`);
}
