import type { ClusterRecord } from './cluster-store.js';

/** The format of rows that this version reads and writes. */
export const FORMAT = 1;

/** The format in which rows are at least: who cannot read it does not join. */
export function formatOf({ format = 1 }: Pick<ClusterRecord, 'format'>): number {
  return format;
}
