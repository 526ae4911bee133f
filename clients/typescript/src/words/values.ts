/** Values that callers give: what is text, how a value is shown, and the error that names the fields that are wrong. */
import { toUSVString } from 'node:util';
import { type FieldViolation, KeyturnError, NO_DETAILS } from './errors.js';

/** Half of a surrogate pair would be replaced on the way, and different keys would become equal. */
export function isText(value: unknown): value is string {
  return typeof value === 'string' && toUSVString(value) === value;
}

/** A value in a message: no more of it than a line, and nothing of it that could throw. */
export function shown(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value.length > 64 ? `${value.slice(0, 64)}…` : value);
  if (typeof value === 'number' || typeof value === 'bigint' || typeof value === 'boolean') return String(value);
  return value === null || value === undefined ? String(value) : `of type ${typeof value}`;
}

/**
 * The error that the sidecar would answer: each field by its name in the proto, with what is allowed.
 *
 * @param path stands before each field
 */
export function badRequest(wrong: readonly (readonly [field: string, description: string])[], path = ''): KeyturnError {
  const violations: readonly FieldViolation[] = wrong.map(([field, description]) => ({
    field: `${path}${field}`,
    description,
  }));
  const message = violations.map(({ field, description }) => `${field}: ${description}`).join('; ');
  return new KeyturnError(message, 'INVALID_ARGUMENT', 'BAD_REQUEST', { ...NO_DETAILS, violations });
}
