/**
 * Words of the port as JSON and back, checked: for what is rare. One description gives both directions, and does not
 * compile unless it names every property. What a newer version adds is passed over.
 */
import { bytesOfPayload, type Payload } from '../../../coordinator.js';

export interface Shape<T> {
  /** @throws RangeError when the value is not of this shape; `at` says where it stands */
  read(value: unknown, at: string): T;
  write(value: T): unknown;
}

/** A property that may be missing altogether, which is not the same as `undefined`; one that is always there is {@link maybe}. */
export interface AbsentShape<T> extends Shape<T | undefined> {
  readonly isAbsent: true;
}

type Fields<T> = { readonly [K in keyof T]-?: Shape<T[K]> };

export function toBytes<T>(shape: Shape<T>, value: T): Uint8Array {
  return Buffer.from(JSON.stringify(shape.write(value)) ?? 'null');
}

/** @throws SyntaxError, RangeError */
export function fromBytes<T>(shape: Shape<T>, bytes: Buffer): T {
  const value: unknown = JSON.parse(bytes.toString());
  return shape.read(value, '');
}

export const text: Shape<string> = {
  read: (value, at) => (typeof value === 'string' ? value : wrong(at, 'a text')),
  write: (value) => value,
};

export const flag: Shape<boolean> = {
  read: (value, at) => (typeof value === 'boolean' ? value : wrong(at, 'true or false')),
  write: (value) => value,
};

const BEYOND: ReadonlyMap<unknown, number> = new Map([
  ['Infinity', Number.POSITIVE_INFINITY],
  ['-Infinity', Number.NEGATIVE_INFINITY],
]);

/** JSON has no infinity. */
export const number: Shape<number> = {
  read: (value, at) => (typeof value === 'number' ? value : (BEYOND.get(value) ?? wrong(at, 'a number'))),
  write: (value) => (Number.isFinite(value) ? value : String(value)),
};

export const bytes: Shape<Uint8Array> = {
  read: (value, at) => new Uint8Array(Buffer.from(text.read(value, at), 'base64')),
  write: (value) => Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('base64'),
};

export const payload: Shape<Payload> = {
  read: bytes.read,
  write: (value) => bytes.write(bytesOfPayload(value)),
};

export const nothing: Shape<void> = { read: () => undefined, write: () => null };

/** Travels in the shape of `of`. */
export function converted<W, T>(of: Shape<W>, from: (value: W) => T, to: (value: T) => W): Shape<T> {
  return { read: (value, at) => from(of.read(value, at)), write: (value) => of.write(to(value)) };
}

export function word<W extends string>(...words: readonly W[]): Shape<W> {
  return {
    read: (value, at) => words.find((one) => one === value) ?? wrong(at, words.join(', ')),
    write: (value) => value,
  };
}

export function either<A extends string | number, B extends string | number>(
  a: Shape<A>,
  b: Shape<B>,
  isA: (value: unknown) => boolean,
): Shape<A | B> {
  return {
    read: (value, at) => (isA(value) ? a.read(value, at) : b.read(value, at)),
    write: (value) => value,
  };
}

export function list<T>(of: Shape<T>): Shape<readonly T[]> {
  return {
    read: (value, at) => {
      if (!Array.isArray(value)) return wrong(at, 'a list');
      return value.map((one, index) => of.read(one, `${at}[${index}]`));
    },
    write: (value) => value.map((one) => of.write(one)),
  };
}

export const texts: Shape<ReadonlyMap<string, string>> = {
  read: (value, at) =>
    new Map(Object.entries(objectAt(value, at)).map(([name, one]) => [name, text.read(one, `${at}.${name}`)])),
  write: (value) => Object.fromEntries(value),
};

/** Null in JSON, where `undefined` would be left out. */
export function maybe<T>(of: Shape<T>): Shape<T | undefined> {
  return {
    read: (value, at) => (value === undefined || value === null ? undefined : of.read(value, at)),
    write: (value) => (value === undefined ? null : of.write(value)),
  };
}

export function absent<T>(of: Shape<T>): AbsentShape<T> {
  return { ...maybe(of), isAbsent: true };
}

export function object<T extends object>(fields: Fields<T>): Shape<T> {
  const names = Object.keys(fields);
  const shapes: readonly [string, Shape<unknown>][] = names.map((name) => [name, shapeIn(fields, name)]);
  return {
    read: (value, at) => {
      const from = objectAt(value, at);
      const made: Record<string, unknown> = {};
      for (const [name, shape] of shapes) {
        if (!(name in from) && isAbsent(shape)) continue;
        made[name] = shape.read(Reflect.get(from, name), at === '' ? name : `${at}.${name}`);
      }
      // Every property of T has been read by the shape of its type: `Fields` sees to it.
      return made as T;
    },
    write: (value) => {
      const made: Record<string, unknown> = {};
      for (const [name, shape] of shapes) {
        if (name in value || !isAbsent(shape)) made[name] = shape.write(Reflect.get(value, name));
      }
      return made;
    },
  };
}

/** The shape of some members of a union. */
interface Member<T> {
  read(value: unknown, at: string): T;
  write(value: never): unknown;
}

/** The shapes of the members of a union, by the word in which they differ. */
export function union<T extends object>(by: string, members: Readonly<Record<string, Member<T>>>): Shape<T> {
  const memberOf = (value: object, at: string): Shape<T> => {
    const name: unknown = Reflect.get(value, by);
    const member = typeof name === 'string' && Object.hasOwn(members, name) ? members[name] : undefined;
    if (member === undefined) return wrong(`${at}.${by}`, Object.keys(members).join(', '));
    // The word says which member it is; the compiler does not correlate the two.
    return member as Shape<T>;
  };
  return {
    read: (value, at) => memberOf(objectAt(value, at), at).read(value, at),
    write: (value) => memberOf(value, '').write(value),
  };
}

function shapeIn(fields: object, name: string): Shape<unknown> {
  return Reflect.get(fields, name);
}

function isAbsent(shape: Shape<unknown>): boolean {
  return 'isAbsent' in shape;
}

function objectAt(value: unknown, at: string): object {
  return typeof value === 'object' && value !== null ? value : wrong(at, 'an object');
}

function wrong(at: string, allowed: string): never {
  throw new RangeError(`${at === '' ? 'the value' : at} is not allowed; allowed: ${allowed}`);
}
