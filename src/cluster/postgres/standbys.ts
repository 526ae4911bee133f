/** The setting `synchronous_standby_names`. */

/** How many a commit waits for. `FIRST n (…)`, `ANY n (…)`, `n (…)`, or names alone, which is the first of them. */
export function standbysIn(setting: string): number {
  if (setting.trim() === '') return 0;
  const count = /^\s*(?:(?:FIRST|ANY)\s+)?(\d+)\s*\(/i.exec(setting)?.[1];
  return count === undefined ? 1 : Number(count);
}
