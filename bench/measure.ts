/** The arithmetic of the benchmark: from the rounds of a figure to the line that is printed and kept. */
import { FEWEST, medianInterval } from './against/interval.js';

export type Better = 'higher' | 'lower';

/** One round: Keyturn, and right after it the peer. */
export interface Round {
  readonly value: number;
  /** Unset: the figure has no peer. */
  readonly peer: number | undefined;
  /** CPU time of an operation, µs, all threads of the process that is measured. Unset: nobody looked. */
  readonly cpu?: number;
  readonly peerCpu?: number;
}

/** CPU time of an operation, µs: the median of the rounds. */
export interface CpuTime {
  readonly keyturn: number;
  /** Unset: the peer's is not known. */
  readonly peer: number | undefined;
}

/** Bounds of the 95 % interval of what is judged. */
export type Bounds = readonly [low: number, high: number];

/** What a row measured: one line of the table. */
export interface Figure {
  /** The row of the results that it belongs to. Unset: the one that measured it, which has one kind of figures. */
  readonly row?: string;
  /** What tells it from the other figures of its row. Unset: the row has one figure. */
  readonly part: string | undefined;
  /** One line: what is done, and what is counted. */
  readonly what: string;
  readonly unit: string;
  /** Unset: the figure is held against a plain value. */
  readonly peer: string | undefined;
  readonly better: Better;
  /** A ratio where there is a peer, otherwise in `unit`. Unset: it is told, and not judged. */
  readonly enough: number | undefined;
  readonly aim: number | undefined;
  readonly outcome: Outcome;
}

export type Outcome =
  | { readonly is: 'measured'; readonly rounds: readonly Round[] }
  /** Something that the measurement needs is not installed. `install` is the command that brings it. */
  | { readonly is: 'missing'; readonly needs: string; readonly install: string }
  /** It takes long, and nobody asked for it. */
  | { readonly is: 'not run' };

export const VERDICTS = ['aim', 'enough', 'short', 'measured', 'missing', 'not run'] as const;
export type Verdict = (typeof VERDICTS)[number];

/** A figure in the form in which it is printed. Unset numbers: not measured, or there is no peer. */
export interface Line {
  readonly row: string;
  readonly part: string | undefined;
  readonly what: string;
  readonly unit: string;
  readonly value: number | undefined;
  readonly peer: string | undefined;
  readonly peerValue: number | undefined;
  readonly ratio: number | undefined;
  readonly better: Better;
  readonly enough: number | undefined;
  readonly aim: number | undefined;
  /** Of what is judged (the ratio, or the value), over the rounds: the largest less the smallest, as a share of the median. */
  readonly spread: number | undefined;
  /** Of what is judged: between order statistics of the rounds. Unset: they are too few for one. */
  readonly interval: Bounds | undefined;
  readonly cpu: CpuTime | undefined;
  readonly verdict: Verdict;
}

/** Precondition: at least one value. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  const upper = sorted[middle];
  if (upper === undefined) throw new RangeError('the median of nothing');
  const lower = sorted[sorted.length % 2 === 1 ? middle : middle - 1];
  return (upper + (lower ?? upper)) / 2;
}

/** The smallest value that at least this share of the values does not exceed. Precondition: at least one value. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  const value = sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)];
  if (value === undefined) throw new RangeError('a percentile of nothing');
  return value;
}

/** The rate of several laps of equal work taken together. Precondition: all above zero. */
export function harmonicMean(rates: readonly number[]): number {
  return rates.length / rates.reduce((sum, rate) => sum + 1 / rate, 0);
}

/** The largest less the smallest, as a share of the median. 0 when all are equal, all zero included. */
export function spread(values: readonly number[]): number {
  const range = Math.max(...values) - Math.min(...values);
  return range === 0 ? 0 : range / Math.abs(median(values));
}

/** Without marks there is nothing to judge by. */
export function judge(
  measured: number,
  better: Better,
  enough: number | undefined,
  aim: number | undefined,
): Extract<Verdict, 'aim' | 'enough' | 'short' | 'measured'> {
  if (enough === undefined || aim === undefined) return 'measured';
  const reaches = (mark: number) => (better === 'higher' ? measured >= mark : measured <= mark);
  if (reaches(aim)) return 'aim';
  return reaches(enough) ? 'enough' : 'short';
}

/** The ratio is the median of the ratios of neighbours, which had the same weather; so are its interval and its spread. */
export function lineOf(measuredBy: string, figure: Figure): Line {
  const { row = measuredBy, outcome, peer, ...told } = figure;
  if (outcome.is === 'missing')
    return { row, ...told, ...UNMEASURED, peer: missing(outcome.needs, outcome.install), verdict: 'missing' };
  if (outcome.is === 'not run') return { row, ...told, ...UNMEASURED, peer: notRun(measuredBy), verdict: 'not run' };
  const { rounds } = outcome;
  const value = median(rounds.map((round) => round.value));
  if (peer === undefined) {
    const verdict = judge(value, told.better, told.enough, told.aim);
    const values = rounds.map((round) => round.value);
    const range = { spread: spread(values), interval: intervalOf(values), cpu: cpuOf(rounds) };
    return { row, ...told, value, peer, peerValue: undefined, ratio: undefined, ...range, verdict };
  }
  const pairs = rounds.map((round) => ({ value: round.value, peer: peerOf(row, round) }));
  const peerValue = median(pairs.map((pair) => pair.peer));
  const ratios = pairs.map((pair) => pair.value / pair.peer);
  const ratio = median(ratios);
  const verdict = judge(ratio, told.better, told.enough, told.aim);
  const range = { spread: spread(ratios), interval: intervalOf(ratios), cpu: cpuOf(rounds) };
  return { row, ...told, value, peer, peerValue, ratio, ...range, verdict };
}

/** @throws when a figure was measured so seldom that it has no interval: nobody could tell what it is worth */
export function mustHaveIntervals(figures: readonly Figure[]): void {
  for (const { part, what, outcome } of figures)
    if (outcome.is === 'measured' && outcome.rounds.length < FEWEST)
      throw new RangeError(`${part ?? what}: ${outcome.rounds.length} rounds have no interval; ${FEWEST} have one`);
}

function intervalOf(values: readonly number[]): Bounds | undefined {
  const { bounds } = medianInterval(values);
  return bounds === undefined ? undefined : [bounds.low, bounds.high];
}

function cpuOf(rounds: readonly Round[]): CpuTime | undefined {
  const [own, peers] = [known(rounds.map(({ cpu }) => cpu)), known(rounds.map(({ peerCpu }) => peerCpu))];
  if (own.length === 0) return undefined;
  return { keyturn: median(own), peer: peers.length === 0 ? undefined : median(peers) };
}

/** Not every system tells the time of a program that is not ours. */
function known(values: readonly (number | undefined)[]): number[] {
  return values.flatMap((value) => (value === undefined || Number.isNaN(value) ? [] : value));
}

const UNMEASURED = {
  value: undefined,
  peerValue: undefined,
  ratio: undefined,
  spread: undefined,
  interval: undefined,
  cpu: undefined,
} as const;

/** Where its peer would stand. */
function notRun(row: string): string {
  return `not run, it takes long (npm run bench -- --only ${row}, or --all)`;
}

export function missing(needs: string, install: string): string {
  return `missing: ${needs} (${install})`;
}

function peerOf(row: string, round: Round): number {
  if (round.peer === undefined) throw new RangeError(`${row} has a peer, but a round without its value`);
  return round.peer;
}
