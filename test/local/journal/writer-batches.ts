import type { RowChange } from '../../../src/core/contract/rows.js';
import { contentOf, itemRow } from './rows.js';

/** Batches whose rows are still there when this many newer ones are; then they are deleted. */
const KEPT = 50;

/** The n-th batch: its rows, and the end of those of an old one. Each row says of which batch it is. */
export function batchOf(batch: number, rows: number): readonly RowChange[] {
  return Array.from({ length: rows }, (_, at): readonly RowChange[] => {
    const old = (batch - KEPT) * rows + at;
    const content = contentOf(`${batch} `.repeat(at % 2 === 0 ? 20 : 400));
    const put: RowChange = { put: itemRow(batch * rows + at, { id: String(batch), content }) };
    return batch > KEPT ? [put, { delete: { table: 'items', seq: old } }] : [put];
  }).flat();
}

/** The batches whose rows are there when the newest is `last`. */
export function batchesAfter(last: number): readonly number[] {
  return Array.from({ length: Math.min(KEPT, last) }, (_, at) => last - at).reverse();
}
