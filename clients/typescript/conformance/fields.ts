/** What stands in a request, with the type that it must have. */

export type Fields = Readonly<Record<string, unknown>>;

/** The request is not what the protocol says: a fault of the one who sent it, or of this player. */
export class WrongRequest extends Error {
  override readonly name = 'WrongRequest';
}

export function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function fieldsOf(value: unknown, name: string): Fields {
  if (isFields(value)) return value;
  throw new WrongRequest(`${name} is no object`);
}

export function list(fields: Fields, name: string): readonly unknown[] {
  const value = fields[name];
  if (Array.isArray(value)) return value;
  throw new WrongRequest(`${name} is no list`);
}

export function text(fields: Fields, name: string): string {
  const value = optionalText(fields, name);
  if (value !== undefined) return value;
  throw new WrongRequest(`${name} is missing`);
}

export function optionalText(fields: Fields, name: string): string | undefined {
  const value = fields[name];
  if (value === undefined || typeof value === 'string') return value;
  throw new WrongRequest(`${name} is no text`);
}

export function number(fields: Fields, name: string): number {
  const value = optionalNumber(fields, name);
  if (value !== undefined) return value;
  throw new WrongRequest(`${name} is missing`);
}

export function optionalNumber(fields: Fields, name: string): number | undefined {
  const value = fields[name];
  if (value === undefined || typeof value === 'number') return value;
  throw new WrongRequest(`${name} is no number`);
}

export function optionalFlag(fields: Fields, name: string): boolean | undefined {
  const value = fields[name];
  if (value === undefined || typeof value === 'boolean') return value;
  throw new WrongRequest(`${name} is neither true nor false`);
}

/**
 * A word is handed to the client as it came: what is allowed is the client's to say, and its type promises more than a
 * line of JSON can.
 */
export function optionalWord<W extends string>(fields: Fields, name: string): W | undefined {
  return optionalText(fields, name) as W | undefined;
}
