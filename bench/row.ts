import type { Dist, Side } from './against/side.js';
import type { Figure } from './measure.js';

/** Says how far a row is, for who watches. */
export type Say = (progress: string) => void;

/** A row of the benchmark. It runs in a process of its own, with `--expose-gc`. */
export interface Row {
  /** One line, for the list of rows. */
  readonly what: string;
  /** It is ended after this many seconds. Several times what it takes on a slow machine. */
  readonly limit: number;
  /**
   * Set: it takes more than what a run of all may take, and runs only when it is named, or with `--all`. These are its
   * lines otherwise.
   */
  readonly unlessAsked?: readonly Figure[];
  run(say: Say): Promise<RowReport>;
  /** For `--against`: what it measures, laid open lap by lap, by the code of a commit. Unset: whole runs are compared. */
  readonly side?: (dist: Dist) => Promise<Side>;
}

export interface RowReport {
  readonly figures: readonly Figure[];
  readonly chart?: Chart;
  /** A picture of its own. */
  readonly svg?: string;
}

/** Lines over a logarithmic x axis. */
export interface Chart {
  readonly title: string;
  readonly x: string;
  readonly y: string;
  readonly series: readonly Series[];
}

export interface Series {
  readonly name: string;
  readonly points: readonly { readonly x: number; readonly y: number }[];
}
