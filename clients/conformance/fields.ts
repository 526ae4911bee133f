/** Objects of which nothing is known yet: lines of players, files of scenarios. */

export type Fields = Readonly<Record<string, unknown>>;

export function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Of what should be one: nothing of what is none. */
export function fieldsOf(value: unknown): Fields {
  return isFields(value) ? value : {};
}
