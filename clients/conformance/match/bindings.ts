/** What a scenario has given a name: `$token` where a value stands, `${token}` inside a text. */
import { isFields } from '../fields.js';

export type Bindings = ReadonlyMap<string, unknown>;

const WHOLE = /^\$([a-z][a-z0-9_]*)$/;
const INSIDE = /\$\{([a-z][a-z0-9_]*)\}/g;

/** A name that nothing has. */
export class Unbound extends Error {
  override readonly name = 'Unbound';
}

/** The generators that may stand where a value stands. */
export const GENERATORS: readonly string[] = ['$repeat', '$times'];

export function isGenerator(value: unknown): boolean {
  if (!isFields(value)) return false;
  const [first, ...more] = Object.keys(value);
  return first !== undefined && more.length === 0 && GENERATORS.includes(first);
}
const MOST_GENERATED = 100_000_000;

/** @returns the value with every name replaced by what it has, and every generator by what it makes */
export function filled(value: unknown, bindings: Bindings): unknown {
  if (typeof value === 'string') return filledText(value, bindings);
  if (Array.isArray(value)) return value.map((one) => filled(one, bindings));
  if (!isFields(value)) return value;
  if ('$repeat' in value) return repeated(value['$repeat'], bindings);
  if ('$times' in value) return times(value['$times'], bindings);
  return Object.fromEntries(
    Object.entries(value).map(([name, one]) => [inside(name, bindings), filled(one, bindings)]),
  );
}

/** Text that is as long as so many of it: for what is large. */
function repeated(arguments_: unknown, bindings: Bindings): string {
  const [text, count] = pairOf(filled(arguments_, bindings), '$repeat');
  if (typeof text !== 'string' || text.length * count > MOST_GENERATED) {
    throw new Unbound(`$repeat needs a text and how often, up to ${MOST_GENERATED} characters`);
  }
  return text.repeat(count);
}

/** A list of so many, each with its number as `$n`, from 1. */
function times(arguments_: unknown, bindings: Bindings): readonly unknown[] {
  if (!Array.isArray(arguments_)) throw new Unbound('$times needs a list: how many, and what');
  const [count, template]: readonly unknown[] = arguments_;
  const many = Number(filled(count, bindings));
  if (!Number.isSafeInteger(many) || many > 100_000) throw new Unbound('$times needs how many, up to 100000');
  return Array.from({ length: many }, (_, at) => filled(template, new Map([...bindings, ['n', at + 1]])));
}

function pairOf(value: unknown, name: string): readonly [unknown, number] {
  if (!Array.isArray(value) || typeof value[1] !== 'number') throw new Unbound(`${name} needs a list of two`);
  return [value[0], value[1]];
}

function filledText(text: string, bindings: Bindings): unknown {
  const whole = WHOLE.exec(text)?.[1];
  if (whole !== undefined) return known(whole, bindings);
  return inside(text, bindings);
}

function inside(text: string, bindings: Bindings): string {
  return text.replaceAll(INSIDE, (_, name: string) => String(known(name, bindings)));
}

function known(name: string, bindings: Bindings): unknown {
  if (bindings.has(name)) return bindings.get(name);
  throw new Unbound(
    `$${name} has no value; there are ${[...bindings.keys()].map((one) => `$${one}`).join(', ') || 'none'}`,
  );
}
