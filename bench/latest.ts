/** The form in which a run is kept: bench/results/latest.json. */
import type { Better, Bounds, Line } from './measure.js';

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
  /** Of what is judged, 95 %. Null: too few rounds. Unset: it was measured before there were any. */
  readonly interval?: Bounds | null;
  /** Of an operation, µs. Null: nobody looked, or it is not known. */
  readonly cpu_us?: number | null;
  readonly peer_cpu_us?: number | null;
  /** Where and when it was measured, if not with the others. */
  readonly apart?: Pick<KeptRun, 'machine' | 'date' | 'commit'>;
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
    interval: line.interval ?? null,
    cpu_us: line.cpu?.keyturn ?? null,
    peer_cpu_us: line.cpu?.peer ?? null,
  };
}

/**
 * The kept run with the rows of a later, smaller one in their places, each with its own machine, day and commit. Ratios of two
 * machines may stand in one table as long as it says so.
 */
export function withRowsOf(kept: KeptRun, later: KeptRun, order: readonly string[]): KeptRun {
  const { machine, date, commit } = later;
  const names = new Set(later.rows.map(groupOf));
  const rows = [
    ...kept.rows.filter((row) => !names.has(groupOf(row))),
    ...later.rows.map((row) => ({ ...row, apart: { machine, date, commit } })),
  ];
  const place = (row: KeptRow) => order.indexOf(groupOf(row));
  return { ...kept, rows: rows.toSorted((a, b) => place(a) - place(b)) };
}

/** The name that is asked for: a row may have several parts. */
function groupOf({ row }: KeptRow): string {
  return row.split(' ')[0] ?? row;
}
