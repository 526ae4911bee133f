/** What may stand where in a scenario file. Whatever else stands there is told with its place and what is allowed. */
import { isFields } from '../fields.js';
import { GENERATORS, isGenerator } from '../match/bindings.js';
import { durationOf } from '../match/durations.js';
import { isMatcher, MATCHER_NAMES, shown } from '../match/match.js';

export type Path = readonly (string | number)[];
export type Tell = (path: Path, what: string) => void;
export type Shape = (value: unknown, path: Path, tell: Tell) => void;

function leaf(what: string, fits: (value: unknown) => boolean): Shape {
  return (value, path, tell) => {
    if (!fits(value)) tell(path, `${shown(value)} is not allowed; ${what} is`);
  };
}

export const anything: Shape = () => undefined;
export const text = leaf('a text', (value) => typeof value === 'string');
export const flag = leaf('true or false', (value) => typeof value === 'boolean');
export const count = leaf('a whole number', (value) => Number.isSafeInteger(value));
export const duration = leaf('a duration (250ms, 2s, 1m)', (value) => durationOf(value) !== undefined);
export const word = (...allowed: readonly string[]): Shape =>
  leaf(allowed.join(', '), (value) => allowed.includes(String(value)));

export function listOf(shape: Shape): Shape {
  return (value, path, tell) => {
    if (!Array.isArray(value)) return tell(path, `${shown(value)} is not allowed; a list is`);
    for (const [at, one] of value.entries()) shape(one, [...path, at], tell);
  };
}

export function mapOf(shape: Shape): Shape {
  return (value, path, tell) => {
    if (!isFields(value)) return tell(path, `${shown(value)} is not allowed; a mapping is`);
    for (const [name, one] of Object.entries(value)) shape(one, [...path, name], tell);
  };
}

export function either(...shapes: readonly Shape[]): Shape {
  return (value, path, tell) => {
    const told: (readonly [Path, string])[] = [];
    for (const shape of shapes) {
      const before = told.length;
      shape(value, path, (at, what) => told.push([at, what]));
      if (told.length === before) return;
    }
    for (const [at, what] of told) tell(at, what);
  };
}

/** @param needed names that must be there */
export function fields(allowed: Readonly<Record<string, Shape>>, needed: readonly string[] = []): Shape {
  return (value, path, tell) => {
    if (!isFields(value)) return tell(path, `${shown(value)} is not allowed; a mapping of ${names(allowed)} is`);
    for (const [name, one] of Object.entries(value)) {
      const shape = Object.hasOwn(allowed, name) ? allowed[name] : undefined;
      if (shape === undefined) tell([...path, name], `${name} is not known; allowed are ${names(allowed)}`);
      else shape(one, [...path, name], tell);
    }
    for (const name of needed) if (!Object.hasOwn(value, name)) tell(path, `${name} is missing`);
  };
}

function names(allowed: object): string {
  return Object.keys(allowed).join(', ');
}

/** Besides what the shape allows: a name that was bound, or a generator. */
export function value(shape: Shape): Shape {
  return (given, path, tell) => {
    if (typeof given === 'string' && given.includes('$')) return;
    if (isGenerator(given)) return;
    const names = isFields(given) ? Object.keys(given) : [];
    if (!names.some((name) => name.startsWith('$'))) return shape(given, path, tell);
    tell(path, `${names.join(', ')} is no generator; allowed is one of ${GENERATORS.join(', ')}`);
  };
}

/** What is expected: as the shape, each part replaced by a matcher if need be. Unset: anything may be expected there. */
export function pattern(shape?: Readonly<Record<string, Shape>>): Shape {
  return (given, path, tell) => {
    if (typeof given === 'string' && given.startsWith('$')) return;
    if (Array.isArray(given)) return listOf(pattern(shape))(given, path, tell);
    if (!isFields(given)) return;
    if (isMatcher(given)) return matcher(shape)(given, path, tell);
    if (isGenerator(given)) return;
    for (const [name, one] of Object.entries(given)) {
      if (name.startsWith('$')) tell([...path, name], `${name} is no matcher; there are ${MATCHER_NAMES.join(', ')}`);
      else if (shape !== undefined && !Object.hasOwn(shape, name)) {
        tell([...path, name], `${name} is not known; allowed are ${names(shape)}`);
      } else (shape?.[name] ?? pattern())(one, [...path, name], tell);
    }
  };
}

const OF_PARTS: ReadonlySet<string> = new Set(['$contains', '$in_any_order', '$one_of', '$not']);

function matcher(shape: Readonly<Record<string, Shape>> | undefined): Shape {
  return (given, path, tell) => {
    if (!isFields(given)) return;
    for (const [name, wanted] of Object.entries(given)) {
      if (OF_PARTS.has(name)) pattern(shape)(wanted, [...path, name], tell);
      if (name === '$bind') text(wanted, [...path, name], tell);
      if (name === '$between' && !(Array.isArray(wanted) && wanted.length === 2)) {
        tell([...path, name], `${shown(wanted)} is not allowed; a list of two limits is`);
      }
    }
  };
}
