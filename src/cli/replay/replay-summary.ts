import type { RepetitionClass } from '../../core/items/repetition.js';

/** The contract's summary of a replay; its names are printed as they stand. */
export interface ReplaySummary {
  /** Lines that had their end. */
  readonly lines: number;
  /** Lines that got a turn. */
  readonly accepted: number;
  /** Lines that found somebody before them on their key. */
  readonly waited: number;
  /** Lines that were not needed. */
  readonly declined: number;
  /** Share of lines not processed, 0 to 1. */
  readonly saved: number;
  /** From the arrival of an accepted line to its turn. */
  readonly wait_p50_ms: number;
  readonly wait_p99_ms: number;
  /** The most workers seen at once on one key: must be 1. */
  readonly max_at_once: number;
  /** Lines that started after a later one of their key: must be 0. */
  readonly order_violations: number;
  readonly class: RepetitionClass;
  readonly seconds: number;
}
