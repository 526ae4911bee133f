/** A table of settings, and what reads and writes a group of them by it. */
import { type At, type Kind, refuse, type YamlValue } from './kinds.js';
import { nearest } from './nearest.js';
import { type Entry, entryOf, show, type Written } from './written.js';

export interface Setting<T> {
  readonly kind: Kind<T>;
  /** One or two sentences, for the help, the printed configuration and the reference. */
  readonly doc: string;
}

/** Total: a field that no setting fills does not compile. */
export type Table<T> = { readonly [K in keyof T]-?: Setting<T[K]> };

/** A setting of the contract that this version does not offer: it must never be accepted in silence. */
export interface Refusal {
  /** What asks for nothing, and so is no harm. */
  readonly harmless: string | boolean | undefined;
  readonly why: string;
}

export interface Group<T> {
  readonly table: Table<T>;
  readonly refusals: Readonly<Record<string, Refusal>>;
  /** Numbers that have no built-in value: somebody has to say them. NaN until then. */
  readonly needs?: readonly (keyof T & string)[];
}

/** `maxHold` is `max_hold` wherever people see it. */
export function snakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** The fields of a table, in its order. */
export function fieldsOf<T>(table: Table<T>): readonly (keyof T & string)[] {
  // Object.keys() promises only strings; the tables are literals of this program and have no other keys.
  return Object.keys(table) as (keyof T & string)[];
}

/** What `written` says, and `inherited` where it says nothing. */
export function readGroup<T extends object>(group: Group<T>, written: Written, at: At, inherited: T): T {
  const result = { ...inherited };
  if (written.kind === 'scalar' && written.value === null) return result;
  if (written.kind !== 'map') {
    refuse(written, at, 'a mapping of settings');
    return result;
  }
  const fields = new Map(fieldsOf(group.table).map((field) => [snakeCase(field), field]));
  for (const entry of uniqueEntries(written.entries(), at)) {
    const field = fields.get(entry.key);
    if (field === undefined) refuseUnknown(group, entry, at, [...fields.keys()]);
    else readField(group.table, field, entry.value, under(at, entry.key), result);
  }
  checkNeeds(group, written, at, result);
  return result;
}

function checkNeeds<T>({ table, needs = [] }: Group<T>, written: Written, at: At, result: T): void {
  for (const field of needs) {
    if (!Number.isNaN(result[field]) || entryOf(written, snakeCase(field)) !== undefined) continue;
    at.problems.add(
      under(at, snakeCase(field)).path,
      written.place,
      `is missing, must be ${table[field].kind.allowed}`,
    );
  }
}

function readField<T, K extends keyof T>(table: Table<T>, field: K, written: Written, at: At, result: T): void {
  result[field] = table[field].kind.read(written, at, result[field]);
}

/** The entries, without the second one of a name: which of the two is meant is not ours to guess. */
export function* uniqueEntries(entries: Iterable<Entry>, at: At): Iterable<Entry> {
  const seen = new Map<string, string>();
  for (const entry of entries) {
    const first = seen.get(entry.key);
    if (first === undefined) {
      seen.set(entry.key, entry.place);
      yield entry;
    } else {
      at.problems.add(under(at, entry.key).path, entry.place, `is written twice; the first time at ${first}`);
    }
  }
}

function refuseUnknown<T>(group: Group<T>, entry: Entry, at: At, known: readonly string[]): void {
  const { path } = under(at, entry.key);
  const refusal = Object.hasOwn(group.refusals, entry.key) ? group.refusals[entry.key] : undefined;
  if (refusal === undefined) {
    const near = nearest(entry.key, known);
    const hint = near === undefined ? `known are ${known.join(', ')}` : `did you mean ${near}?`;
    at.problems.add(path, entry.place, `is not a setting; ${hint}`);
  } else if (entry.value.kind !== 'scalar' || entry.value.value !== refusal.harmless) {
    at.problems.add(path, entry.value.place, `is ${show(entry.value)}; ${refusal.why}`);
  }
}

export function under(at: At, name: string): At {
  return { ...at, path: at.path === '' ? name : `${at.path}.${name}` };
}

export function writeGroup<T extends object>(table: Table<T>, values: T): Record<string, YamlValue> {
  const result: Record<string, YamlValue> = {};
  for (const field of fieldsOf(table)) result[snakeCase(field)] = writeField(table, field, values);
  return result;
}

export function writeField<T, K extends keyof T>(table: Table<T>, field: K, values: T): YamlValue {
  return table[field].kind.write(values[field]);
}

/** A group as the value of one setting, as `retry` and `limits`. What it does not say it takes from what it inherits. */
export function groupKind<T extends object>(group: Group<T>): Kind<T> {
  return {
    allowed: `a mapping of ${fieldsOf(group.table).map(snakeCase).join(', ')}`,
    read: (written, at, inherited) => readGroup(group, written, at, inherited),
    write: (values) => writeGroup(group.table, values),
  };
}
