/**
 * Two commits, lap by lap in turn, until the ratio is known well enough.
 *
 * Every round begins with both started anew: how an engine compiles the same code, and where its memory lies, differs
 * from process to process by several percent, and rounds of one process would agree with each other about that.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Say } from '../row.js';
import { FEWEST, type Interval, isWithin, medianInterval, NARROW } from './interval.js';
import type { Part, Side } from './side.js';

const MOST_ROUNDS = 60;

export interface Comparison {
  readonly part: string | undefined;
  readonly unit: string;
  /** Unset: values, not rates; there is no CPU time of theirs. */
  readonly judgedBy: 'cpu' | 'wall' | undefined;
  readonly today: Measured;
  readonly other: Measured;
  /** Today's against the other's, round by round; above 1 is better today, whatever the unit. */
  readonly wall: Interval;
  readonly cpu: Interval | undefined;
  readonly rounds: number;
}

/** Medians over the rounds. */
export interface Measured {
  /** Per second on the wall, or a value in `unit`. */
  readonly value: number;
  /** CPU seconds of a million operations. */
  readonly cpu: number | undefined;
}

/** The ratio that counts. */
export function judged({ judgedBy, cpu, wall }: Pick<Comparison, 'judgedBy' | 'cpu' | 'wall'>): Interval {
  return judgedBy === 'cpu' && cpu !== undefined ? cpu : wall;
}

/** Whether today's is worse by more than what the rounds can leave open. */
export function isWorse(comparison: Comparison): boolean {
  const { bounds } = judged(comparison);
  return bounds !== undefined && bounds.high < 1;
}

interface Sample {
  /** Seconds of an operation. */
  readonly wall: number;
  readonly cpu: number;
}

interface Round {
  readonly today: Sample;
  readonly other: Sample;
}

/** There and back, of each part, after one of them to warm up. */
const TIMES = 3;

/** @param longestSeconds no round begins after it */
export async function compare(
  startToday: () => Promise<Side>,
  startOther: () => Promise<Side>,
  longestSeconds: number,
  say: Say,
): Promise<Comparison[]> {
  const measured = new Map<string | undefined, PartRounds>();
  const end = performance.now() + longestSeconds * 1_000;
  for (let index = 1; index <= MOST_ROUNDS && performance.now() < end; index++) {
    const known = [...measured.values()].map((part) => (part.rounds.length < FEWEST ? undefined : comparisonOf(part)));
    if (index > 1 && known.every((each) => each !== undefined && isWithin(judged(each), NARROW))) break;
    say(`round ${index}${widths(known)}`);
    const [today, other] = [await startToday(), await startOther()];
    await oneRound(today, other, measured);
    await Promise.all([today.close(), other.close()]);
  }
  if (measured.size === 0) throw new Error(`no round was measured in ${longestSeconds} s`);
  return [...measured.values()].map(comparisonOf);
}

interface PartRounds {
  readonly part: Part;
  readonly rounds: Round[];
}

async function oneRound(today: Side, other: Side, measured: Map<string | undefined, PartRounds>): Promise<void> {
  const pairs = today.parts.map((part) => ({ today: part, other: partOf(other, part), times: [] as Round[] }));
  for (let time = 0; time <= TIMES; time++)
    for (const pair of pairs) {
      const thereAndBack = await round(pair);
      if (time > 0) pair.times.push(thereAndBack);
    }
  for (const { today: part, times } of pairs) {
    const known = measured.get(part.name) ?? { part, rounds: [] };
    measured.set(part.name, known);
    known.rounds.push({
      today: middleOf(times.map((each) => each.today)),
      other: middleOf(times.map((each) => each.other)),
    });
  }
}

function middleOf(samples: readonly Sample[]): Sample {
  return {
    wall: medianInterval(samples.map(({ wall }) => wall)).median,
    cpu: medianInterval(samples.map(({ cpu }) => cpu)).median,
  };
}

function partOf(side: Side, { name }: Part): Part {
  const part = side.parts.find((each) => each.name === name);
  if (part === undefined) throw new Error(`the other commit has no part '${name}'`);
  return part;
}

/** There and back: what grows or ages while it lasts weighs on both alike. */
async function round(pair: { readonly today: Part; readonly other: Part }): Promise<Round> {
  const laps = [];
  for (const part of [pair.today, pair.other, pair.other, pair.today]) laps.push(await sample(part));
  const [first, second, third, fourth] = laps;
  return { today: mean(first, fourth), other: mean(second, third) };
}

async function sample(part: Part): Promise<Sample> {
  // What the lap before left to do is not of this one.
  await nextTurn();
  const before = await part.cpuSeconds();
  const { operations, seconds } = await part.lap();
  const used = (await part.cpuSeconds()) - before;
  return { wall: seconds / operations, cpu: used / operations };
}

function mean(a: Sample | undefined, b: Sample | undefined): Sample {
  if (a === undefined || b === undefined) throw new RangeError('a round has two laps of each');
  return { wall: (a.wall + b.wall) / 2, cpu: (a.cpu + b.cpu) / 2 };
}

function comparisonOf({ part: today, rounds }: PartRounds): Comparison {
  const middle = (of: (round: Round) => number): number => medianInterval(rounds.map(of)).median;
  return {
    part: today.name,
    unit: `${today.unit}/s`,
    judgedBy: today.judgedBy,
    today: { value: 1 / middle((each) => each.today.wall), cpu: 1e6 * middle((each) => each.today.cpu) },
    other: { value: 1 / middle((each) => each.other.wall), cpu: 1e6 * middle((each) => each.other.cpu) },
    wall: medianInterval(rounds.map((each) => each.other.wall / each.today.wall)),
    cpu: medianInterval(rounds.map((each) => each.other.cpu / each.today.cpu)),
    rounds: rounds.length,
  };
}

function widths(known: readonly (Comparison | undefined)[]): string {
  const said = known.flatMap((each) => {
    const { bounds, median } = each === undefined ? { bounds: undefined, median: 1 } : judged(each);
    return bounds === undefined ? [] : [`±${Math.ceil((50 * (bounds.high - bounds.low)) / median)} %`];
  });
  return said.length === 0 ? '' : `, ${said.join(', ')}`;
}
