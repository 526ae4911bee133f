/** Guards, for all engines alike. */
import type { Guard } from '../cluster-store.js';

/** 2025-01-01T00:00:00Z: epochs count from then. */
export const EPOCHS_BEGIN = 1_735_689_600_000;

/** Larger than the one before, and than any that was given before now and lost since. */
export function nextEpoch(before: number, now: number): number {
  return Math.max(before + 1, now - EPOCHS_BEGIN);
}

/** Of a partition that was never claimed. */
export function noGuard(partition: number): Guard {
  return { partition, owner: '', epoch: 0, member: '', seq: 0, at: 0, floor: 0, format: 0 };
}
