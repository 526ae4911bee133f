import type { ClusterRecord } from './cluster-store.js';

/** The format of rows that this version reads and writes. 2: there are rows of an outbox and an inbox, and items that wait for other groups. */
export const FORMAT = 2;
/** From this one on. */
export const OUTBOX_FORMAT = 2;

/** The format in which rows are at least: who cannot read it does not join. */
export function formatOf({ format = 1 }: Pick<ClusterRecord, 'format'>): number {
  return format;
}
