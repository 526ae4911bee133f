/** Whether two sides say the same. Tokens are the same when they were first seen in the same place. */
import assert from 'node:assert/strict';

/** The tokens of one side and when each was first seen. */
export type Tokens = Map<number, number>;

export interface Said {
  readonly value: unknown;
  readonly tokens: Tokens;
}

/** The words for people and the numbers that no promise fixes. */
const NOT_COMPARED: readonly string[] = ['description', 'violations', 'limit'];

/** `unlike`: fields that may differ besides. */
export function assertSame(real: Said, model: Said, what: string, unlike: readonly string[] = []): void {
  const skipped = [...NOT_COMPARED, ...unlike];
  if (same(real.value, model.value, real.tokens, model.tokens, skipped)) return;
  assert.deepEqual(normal(real.value, real.tokens, skipped), normal(model.value, model.tokens, skipped), what);
  assert.fail(`${what}: tokens`);
}

/** Nearly all is the same nearly always, so this builds nothing. */
function same(one: unknown, other: unknown, mine: Tokens, theirs: Tokens, skipped: readonly string[]): boolean {
  if (one === other || (isNothing(one) && isNothing(other))) return true;
  if (typeof one === 'string' && typeof other === 'string') return text(one) === text(other);
  if (typeof one !== 'object' || typeof other !== 'object' || one === null || other === null) return false;
  if (one instanceof Uint8Array && other instanceof Uint8Array) return Buffer.compare(one, other) === 0;
  if (Array.isArray(one) && Array.isArray(other)) {
    return one.length === other.length && one.every((part, at) => same(part, other[at], mine, theirs, skipped));
  }
  return sameFields(one, other, mine, theirs, skipped);
}

function sameFields(one: object, other: object, mine: Tokens, theirs: Tokens, skipped: readonly string[]): boolean {
  const own = one as Readonly<Record<string, unknown>>; // both are read only by the names of their own fields
  const fields = other as Readonly<Record<string, unknown>>;
  let shared = 0;
  for (const name of Object.keys(one)) {
    const part = own[name];
    const its = fields[name];
    if (its !== undefined) shared += 1;
    if (isSkipped(name, one, skipped)) continue;
    const alike =
      name === 'token' && typeof part === 'number' && typeof its === 'number'
        ? ordinal(mine, part) === ordinal(theirs, its)
        : same(part, its, mine, theirs, skipped);
    if (!alike) return false;
  }
  // What only the other one has may be nothing.
  let its = 0;
  for (const name of Object.keys(other)) if (fields[name] !== undefined) its += 1;
  return its === shared || onlyNothing(one, fields, skipped);
}

function onlyNothing(one: object, fields: Readonly<Record<string, unknown>>, skipped: readonly string[]): boolean {
  return Object.entries(fields).every(([name, part]) => name in one || isNothing(part) || skipped.includes(name));
}

function isSkipped(name: string, of: object, skipped: readonly string[]): boolean {
  return skipped.includes(name) || (name === 'retryAfter' && 'kind' in of && of.kind === 'queue_full');
}

function isNothing(value: unknown): boolean {
  return (
    value === undefined ||
    (value instanceof Uint8Array && value.length === 0) ||
    (value instanceof Map && value.size === 0)
  );
}

function text(value: string): string {
  return value.startsWith('lease expired') ? 'lease expired' : value;
}

/** The same value on both sides exactly when they mean the same, for people who look at the difference. */
function normal(value: unknown, tokens: Tokens, skipped: readonly string[]): unknown {
  if (isNothing(value)) return undefined;
  if (typeof value === 'string') return text(value);
  if (value instanceof Uint8Array) return Buffer.from(value).toString('latin1');
  if (value instanceof Map) return Object.fromEntries(value);
  if (Array.isArray(value)) return value.map((part) => normal(part, tokens, skipped));
  if (typeof value !== 'object' || value === null) return value;
  const parts = Object.entries(value).flatMap(([name, part]): [string, unknown][] => {
    if (isSkipped(name, value, skipped) || isNothing(part)) return [];
    return [[name, name === 'token' ? ordinal(tokens, Number(part)) : normal(part, tokens, skipped)]];
  });
  return Object.fromEntries(parts);
}

function ordinal(tokens: Tokens, token: number): number {
  if (token === 0) return -1;
  const known = tokens.get(token);
  if (known !== undefined) return known;
  tokens.set(token, tokens.size);
  return tokens.size - 1;
}
