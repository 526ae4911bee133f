import type { View } from './listing.js';

/**
 * In which the rows of a partition are written: the newest that all members read that may own, so that each of them can be the next
 * home; never an older one than it has.
 *
 * @param own the newest of this member
 */
export function formatOf({ guards, members }: View, partition: number, own: number): number {
  const owners = [...members.values()].filter(({ weight }) => weight > 0);
  const common = Math.min(own, ...owners.map(({ format }) => format));
  return Math.max(common, guards[partition]?.format ?? 0);
}
