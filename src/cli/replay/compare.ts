import { setImmediate as nextTurn } from 'node:timers/promises';
import { type Assumptions, trafficOf } from '../../designs/assumed.js';
import { Comparison } from '../../designs/compare.js';
import type { DesignName } from '../../designs/designs.js';
import type { Figures } from '../../designs/figures.js';
import { LONGEST_WORK } from '../../designs/traffic.js';
import { EXIT } from '../exit-codes.js';
import { CommandFailure } from '../failure.js';
import type { Line } from './lines.js';
import { excerpt } from './rows.js';

/** Lines that are held at once, and played before the next ones are read: a log of any length needs no more memory. */
const STRETCH = 100_000;
/** Events between two looks at signals. */
const SLICE = 20_000;

interface ComparePlan {
  /** For messages. */
  readonly file: string;
  /** Unset: work times are assumed. */
  readonly workColumn: string | undefined;
  /** Unset: arrivals are assumed. */
  readonly timeColumn: string | undefined;
  readonly assumed: Assumptions;
}

export interface Compared {
  readonly lines: number;
  readonly plan: ComparePlan;
  readonly figures: ReadonlyMap<DesignName, Figures>;
}

/** Plays lines through all designs. @returns unset: it was stopped */
export async function compareLines(
  lines: AsyncIterable<Line>,
  plan: ComparePlan,
  stop: AbortSignal,
  watch: (progress: () => { readonly lines: number; readonly bytes: number }) => void = () => {},
  longest = STRETCH,
): Promise<Compared | undefined> {
  const comparison = new Comparison(plan.assumed.workers, plan.assumed);
  const seen = { lines: 0, bytes: 0 };
  watch(() => seen);
  let stretch = new Stretch(plan);
  for await (const line of lines) {
    stretch.add(line);
    seen.lines += 1;
    seen.bytes = line.bytes;
    if (stretch.length < longest) continue;
    if (!(await play(comparison, stretch, plan, stop))) return undefined;
    stretch = new Stretch(plan);
  }
  if (!(await play(comparison, stretch, plan, stop))) return undefined;
  return { lines: seen.lines, plan, figures: comparison.figures() };
}

/** @returns false: it was stopped */
async function play(comparison: Comparison, stretch: Stretch, plan: ComparePlan, stop: AbortSignal): Promise<boolean> {
  if (stretch.length === 0) return !stop.aborted;
  let events = 0;
  for (const _ of comparison.play(trafficOf(stretch.known(), plan.assumed))) {
    events += 1;
    if (events % SLICE === 0) await nextTurn();
    if (stop.aborted) return false;
  }
  await nextTurn();
  return !stop.aborted;
}

class Stretch {
  readonly #index = new Map<string, number>();
  readonly #keyOf: number[] = [];
  readonly #work: number[] = [];
  readonly #times: number[] = [];

  constructor(private readonly plan: ComparePlan) {}

  get length(): number {
    return this.#keyOf.length;
  }

  add(line: Line): void {
    const { workColumn, timeColumn } = this.plan;
    if (workColumn !== undefined) this.#work.push(this.#read(line, workColumn, workTime, WORK_WORDS));
    if (timeColumn !== undefined) this.#times.push(this.#read(line, timeColumn, instant, TIME_WORDS));
    const known = this.#index.get(line.key);
    this.#keyOf.push(known ?? this.#index.size);
    if (known === undefined) this.#index.set(line.key, this.#index.size);
  }

  known() {
    const { workColumn, timeColumn } = this.plan;
    return {
      keys: [...this.#index.keys()],
      keyOf: Uint32Array.from(this.#keyOf),
      work: workColumn === undefined ? undefined : Float64Array.from(this.#work),
      times: timeColumn === undefined ? undefined : Float64Array.from(this.#times),
    };
  }

  #read(line: Line, column: string, parse: (value: unknown) => number, allowed: string): number {
    const there = Object.hasOwn(line.values, column);
    const parsed = there ? parse(line.values[column]) : Number.NaN;
    if (!Number.isNaN(parsed)) return parsed;
    const name = JSON.stringify(column);
    const what = there ? `column ${name} is ${excerpt(String(line.values[column]))}; ${allowed}` : `no column ${name}`;
    throw new CommandFailure(`${this.plan.file}, line ${line.line}: ${what}`, EXIT.failure);
  }
}

const WORK_WORDS = `a work time is a number of milliseconds from 0 to ${LONGEST_WORK}`;
const TIME_WORDS = 'an arrival is in Unix seconds, or a date like 2026-01-31T12:00:00.250Z';
const NUMBER = /^\d{1,15}(\.\d{1,12})?$/;

function workTime(value: unknown): number {
  const ms = NUMBER.test(String(value)) ? Number(value) : Number.NaN;
  return ms <= LONGEST_WORK ? ms : Number.NaN;
}

function instant(value: unknown): number {
  if (NUMBER.test(String(value))) return Number(value) * 1_000;
  return typeof value === 'string' && /^\d{4}-\d\d-\d\d/.test(value) ? Date.parse(value) : Number.NaN;
}
