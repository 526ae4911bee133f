import { formatOf as fixedFormat } from '../store/format.js';
import type { View } from './listing.js';

/**
 * In which the rows of a partition are written: the one that a person fixed, if all members read it that may own. Until then no row
 * of a newer one is written, so a version that cannot read it may still come back and be the home. Never an older one than it has.
 *
 * @param own the newest of this member
 */
export function formatOf({ guards, members, record }: View, partition: number, own: number): number {
  const owners = [...members.values()].filter(({ weight }) => weight > 0);
  const common = Math.min(own, ...owners.map(({ format }) => format));
  return Math.max(Math.min(common, fixedFormat(record ?? {})), guards[partition]?.format ?? 0);
}
