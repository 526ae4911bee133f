/**
 * What came compared with what was expected. An object fits when each field that is named fits; more may be there. A list
 * fits when it is as long, one by one. A mapping whose names begin with `$` is a matcher, or several that must all fit.
 */
import { isFields } from '../fields.js';
import { type Bindings, filled, isGenerator } from './bindings.js';
import { durationOf } from './durations.js';

/** What fits, with the names that it bound; or what does not. */
export type Match = { readonly bound: Bindings } | { readonly wrong: string };

/** Absent is a value of its own: only `$absent`, and `$any: false`, fit it. */
const ABSENT = Symbol('absent');

interface Comparison {
  readonly bindings: Bindings;
  readonly bound: Map<string, unknown>;
}

/** What does not fit, and where; undefined: it fits. */
type Wrong = string | undefined;

type Matcher = (wanted: unknown, value: unknown, place: string, comparison: Comparison) => Wrong;

export function match(pattern: unknown, value: unknown, bindings: Bindings): Match {
  const comparison = { bindings, bound: new Map<string, unknown>() };
  const wrong = differs(pattern, value, '', comparison);
  return wrong === undefined ? { bound: comparison.bound } : { wrong };
}

function differs(pattern: unknown, value: unknown, place: string, comparison: Comparison): Wrong {
  if (isMatcher(pattern)) return all(pattern, value, place, comparison);
  if (isGenerator(pattern)) return differs(resolved(pattern, comparison), value, place, comparison);
  if (value === ABSENT) return wrongAt(place, `${shown(pattern)} was expected, and nothing is there`);
  if (Array.isArray(pattern)) return listDiffers(pattern, value, place, comparison);
  if (isFields(pattern)) return fieldsDiffer(pattern, value, place, comparison);
  const wanted = resolved(pattern, comparison);
  return same(wanted, value) ? undefined : expected(wanted, value, place);
}

export function isMatcher(pattern: unknown): pattern is Readonly<Record<string, unknown>> {
  return isFields(pattern) && Object.keys(pattern).length > 0 && Object.keys(pattern).every((name) => name in MATCHERS);
}

function all(pattern: Readonly<Record<string, unknown>>, value: unknown, place: string, comparison: Comparison): Wrong {
  for (const [name, wanted] of Object.entries(pattern)) {
    const wrong = MATCHERS[name]?.(wanted, value, place, comparison);
    if (wrong !== undefined) return wrong;
  }
  return undefined;
}

function fieldsDiffer(pattern: object, value: unknown, place: string, comparison: Comparison): Wrong {
  if (!isFields(value)) return expected(pattern, value, place);
  for (const [name, wanted] of Object.entries(pattern)) {
    const there = Object.hasOwn(value, name) ? value[name] : ABSENT;
    const wrong = differs(wanted, there, place === '' ? name : `${place}.${name}`, comparison);
    if (wrong !== undefined) return wrong;
  }
  return undefined;
}

function listDiffers(pattern: readonly unknown[], value: unknown, place: string, comparison: Comparison): Wrong {
  if (!Array.isArray(value)) return expected(pattern, value, place);
  if (value.length !== pattern.length) {
    return wrongAt(place, `${pattern.length} were expected, there are ${value.length}: ${shown(value)}`);
  }
  for (const [at, wanted] of pattern.entries()) {
    const wrong = differs(wanted, value[at], `${place}[${at}]`, comparison);
    if (wrong !== undefined) return wrong;
  }
  return undefined;
}

/** By name, what each wants. */
const MATCHERS: Readonly<Record<string, Matcher>> = {
  $any: (_, value, place) =>
    value === ABSENT ? wrongAt(place, 'anything was expected, and nothing is there') : undefined,
  $absent: (_, value, place) =>
    value === ABSENT ? undefined : wrongAt(place, `nothing was expected, there is ${shown(value)}`),
  $bind: (name, value, place, { bound }) => {
    if (value === ABSENT) return wrongAt(place, `there is nothing to be called $${String(name)}`);
    bound.set(String(name), value);
    return undefined;
  },
  $not: (pattern, value, place, comparison) =>
    differs(pattern, value, place, comparison) === undefined
      ? wrongAt(place, `anything but ${shown(pattern)} was expected`)
      : undefined,
  $one_of: (patterns, value, place, comparison) =>
    listOf(patterns).some((pattern) => differs(pattern, value, place, comparison) === undefined)
      ? undefined
      : expected({ $one_of: patterns }, value, place),
  $greater: compares('greater than', (value, limit) => value > limit),
  $less: compares('less than', (value, limit) => value < limit),
  $at_least: compares('at least', (value, limit) => value >= limit),
  $at_most: compares('at most', (value, limit) => value <= limit),
  $between: (limits, value, place, comparison) => {
    const [least, most] = listOf(limits).map((limit) => numberOf(resolved(limit, comparison)));
    const isBetween = typeof value === 'number' && value >= Number(least) && value <= Number(most);
    return isBetween ? undefined : expected({ $between: limits }, value, place);
  },
  $length: (pattern, value, place, comparison) =>
    Array.isArray(value) || typeof value === 'string'
      ? differs(pattern, value.length, `length of ${place}`, comparison)
      : wrongAt(place, `something with a length was expected, there is ${shown(value)}`),
  $contains: (patterns, value, place, comparison) => within(listOf(patterns), value, place, comparison, false),
  $in_any_order: (patterns, value, place, comparison) => within(listOf(patterns), value, place, comparison, true),
  $matches: (pattern, value, place) =>
    typeof value === 'string' && new RegExp(String(pattern), 'i').test(value)
      ? undefined
      : expected({ $matches: pattern }, value, place),
};

export const MATCHER_NAMES: readonly string[] = Object.keys(MATCHERS);

function compares(what: string, holds: (value: number, limit: number) => boolean): Matcher {
  return (limit, value, place, comparison) => {
    const wanted = numberOf(resolved(limit, comparison));
    if (typeof value === 'number' && holds(value, wanted)) return undefined;
    return wrongAt(place, `${what} ${wanted} was expected, there is ${shown(value)}`);
  };
}

/** Each pattern has a value of its own. */
function within(
  patterns: readonly unknown[],
  value: unknown,
  place: string,
  comparison: Comparison,
  isAll: boolean,
): Wrong {
  if (!Array.isArray(value)) return expected(patterns, value, place);
  const left: unknown[] = [...value];
  for (const pattern of patterns) {
    const at = left.findIndex((one) => differs(pattern, one, place, comparison) === undefined);
    if (at < 0) return wrongAt(place, `${shown(pattern)} was expected among ${shown(value)}`);
    left.splice(at, 1);
  }
  return isAll && left.length > 0
    ? wrongAt(place, `nothing more was expected than asked for: ${shown(left)}`)
    : undefined;
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [value];
}

function numberOf(value: unknown): number {
  return durationOf(value) ?? Number(value);
}

/** Names that were bound by this very comparison count too. */
function resolved(pattern: unknown, { bindings, bound }: Comparison): unknown {
  return filled(pattern, bound.size === 0 ? bindings : new Map([...bindings, ...bound]));
}

function same(wanted: unknown, value: unknown): boolean {
  if (wanted === value) return true;
  if (typeof wanted !== 'object' || typeof value !== 'object' || wanted === null || value === null) return false;
  return JSON.stringify(wanted) === JSON.stringify(value);
}

function expected(wanted: unknown, value: unknown, place: string): string {
  return wrongAt(place, `${shown(wanted)} was expected, there is ${shown(value)}`);
}

function wrongAt(place: string, what: string): string {
  return place === '' ? what : `${place}: ${what}`;
}

const LONGEST_SHOWN = 600;

export function shown(value: unknown): string {
  if (value === ABSENT) return 'nothing';
  if (typeof value === 'string' && value.length > LONGEST_SHOWN) return `a text of ${value.length} characters`;
  const text = JSON.stringify(value) ?? String(value);
  return text.length > LONGEST_SHOWN ? `${text.slice(0, LONGEST_SHOWN)}…` : text;
}
