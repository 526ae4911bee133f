/** Partitions whose calls nobody takes now, for people: which, and why. */

/** What is longer is cut short: it is one line of a probe and of the log. */
const MOST_REASONS = 4;
const MOST_RANGES = 8;
const LONGEST_REASON = 300;

/**
 * @param reasons by partition, in order
 * @returns as `0-3, 7 (why), 12 (why)`
 */
export function homelessText(reasons: ReadonlyMap<number, string>): string {
  const byReason = new Map<string, number[]>();
  for (const [partition, why] of reasons) {
    const reason = short(why.replace(/^partition \d+ has no home: /, ''));
    const known = byReason.get(reason);
    if (known === undefined) byReason.set(reason, [partition]);
    else known.push(partition);
  }
  const all = [...byReason].sort(([, a], [, b]) => b.length - a.length);
  const told = all.slice(0, MOST_REASONS).map(([reason, partitions]) => `${rangesOf(partitions)} (${reason})`);
  const left = all.slice(MOST_REASONS).reduce((sum, [, partitions]) => sum + partitions.length, 0);
  return left === 0 ? told.join(', ') : `${told.join(', ')}, and ${left} more`;
}

function rangesOf(partitions: readonly number[]): string {
  const ranges: { readonly first: number; last: number }[] = [];
  for (const partition of partitions) {
    const range = ranges.at(-1);
    if (range?.last === partition - 1) range.last = partition;
    else ranges.push({ first: partition, last: partition });
  }
  const told = ranges
    .slice(0, MOST_RANGES)
    .map(({ first, last }) => (first === last ? `${first}` : `${first}-${last}`));
  const left = ranges.slice(MOST_RANGES).reduce((sum, { first, last }) => sum + last - first + 1, 0);
  return left === 0 ? told.join(', ') : `${told.join(', ')} and ${left} others`;
}

function short(reason: string): string {
  return reason.length <= LONGEST_REASON ? reason : `${reason.slice(0, LONGEST_REASON)}…`;
}
