/** The form in which a run is kept: bench/results/latest.json. */
import type { Better, Line } from './measure.js';

export interface KeptRun {
  readonly machine: string;
  readonly date: string;
  readonly commit: string;
  readonly rows: readonly KeptRow[];
}

/**
 * Unmeasured numbers are null, and so are the marks of a row that is told and not judged. Where there is a peer,
 * `enough` and `aim` are ratios, otherwise values in `unit`.
 */
export interface KeptRow {
  readonly row: string;
  readonly what: string;
  readonly unit: string;
  readonly value: number | null;
  readonly peer: string | null;
  readonly peer_value: number | null;
  readonly ratio: number | null;
  readonly better: Better;
  readonly enough: number | null;
  readonly aim: number | null;
  readonly spread: number | null;
}

export function keptRow(line: Line): KeptRow {
  return {
    row: line.row,
    what: line.what,
    unit: line.unit,
    value: line.value ?? null,
    peer: line.peer ?? null,
    peer_value: line.peerValue ?? null,
    ratio: line.ratio ?? null,
    better: line.better,
    enough: line.enough ?? null,
    aim: line.aim ?? null,
    spread: line.spread ?? null,
  };
}
