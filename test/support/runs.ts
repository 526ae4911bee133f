/**
 * How many rounds a random test runs: its usual number, or as many as its budget of time allows. What a budget skipped is
 * printed. Seeds do not depend on the budget: the first rounds are the same on every machine.
 *
 * - `KEYTURN_RUNS=12`: exactly 12 rounds, and no budget
 * - `KEYTURN_BUDGET_S=30`: 30 s for each random test
 * - `KEYTURN_LOT=7`: the same rows of a table of cases ({@link someOf})
 * - `KEYTURN_SEED=7`: the world of this seed alone; the scenarios of this seed
 * - `KEYTURN_FIRST_SEED=7`: seeds from 7 on until the budget is used up, as `npm run test:long` does
 */
import { randomInt } from 'node:crypto';
import { cpuUsage, env } from 'node:process';
import type { TestContext } from 'node:test';
import { Chance } from '../sim/random.js';

/** Seconds of each random test in `npm test`. */
const BUDGET_S = 1.5;

export interface Amount {
  /** Rounds, if the budget suffices. */
  readonly usual: number;
  /** Rounds that run whatever they take: sums over fewer say little. Unset: 1. */
  readonly fewest?: number;
  /** What the budget is made of. Unset: the processor's time, which other programs do not shorten. */
  readonly time?: 'processor' | 'wall';
}

/** `KEYTURN_RUNS` or else the usual number: for a test without a budget. */
export function runsOf(usual: number): number {
  return numberOf('KEYTURN_RUNS', Number.isSafeInteger) ?? usual;
}

/** The seed of a property. */
export function seedOf(usual: number): number {
  return seedIn('KEYTURN_SEED') ?? seedIn('KEYTURN_FIRST_SEED') ?? usual;
}

/**
 * The seeds of a test that runs one world after another.
 *
 * @param first the seed of the first world; each further seed is one higher
 */
export function* seedsOf(t: Pick<TestContext, 'diagnostic'>, first: number, amount: Amount): Generator<number> {
  const only = seedIn('KEYTURN_SEED');
  if (only !== undefined) return yield only;
  const begin = seedOf(first);
  const rounds = new Rounds(amount);
  let seed = begin;
  let stopped = true;
  try {
    for (; rounds.next(); seed += 1) yield seed;
    stopped = false;
  } finally {
    t.diagnostic(stopped ? `stopped at KEYTURN_SEED=${seed}` : `${rounds.report} from seed ${begin} on`);
  }
}

/**
 * Rows of a table of expensive cases, by lot, as many as the budget allows: each run draws others, and prints what it skipped.
 * `KEYTURN_LOT` draws the same again.
 *
 * @param amount without a usual number: that is all of them
 */
export function* someOf<T>(
  t: Pick<TestContext, 'diagnostic'>,
  rows: readonly T[],
  nameOf: (row: T) => string,
  amount: Omit<Amount, 'usual'>,
): Generator<T> {
  const lot = numberOf('KEYTURN_LOT', Number.isSafeInteger) ?? randomInt(1, 1_000_000);
  const chance = new Chance(lot);
  const left = [...rows];
  const rounds = new Rounds({ ...amount, usual: rows.length });
  while (left.length > 0 && rounds.next()) {
    const [row] = left.splice(chance.int(0, left.length - 1), 1);
    if (row !== undefined) yield row;
  }
  t.diagnostic(`${rounds.report} (KEYTURN_LOT=${lot}) ${left.map(nameOf).join('; ')}`.trimEnd());
}

/** Counts the rounds of one random test and the time that they take. */
export class Rounds {
  readonly most: number;
  readonly #fewest: number;
  /** Seconds. */
  readonly #budget: number;
  readonly #now: () => number;
  readonly #began: number;
  #done = 0;

  constructor({ usual, fewest = 1, time = 'processor' }: Amount) {
    const said = numberOf('KEYTURN_RUNS', Number.isSafeInteger);
    const budget = numberOf('KEYTURN_BUDGET_S', Number.isFinite) ?? BUDGET_S;
    this.#fewest = fewest;
    this.#budget = said === undefined ? budget : Number.POSITIVE_INFINITY;
    this.most = Math.max(fewest, said ?? (seedIn('KEYTURN_FIRST_SEED') === undefined ? usual : ENDLESS));
    this.#now = time === 'wall' ? () => performance.now() / 1_000 : processorSeconds;
    this.#began = this.#now();
  }

  /** Rounds that began. */
  get done(): number {
    return this.#done;
  }

  /** Whether another round may begin, which is counted then. */
  next(): boolean {
    if (this.#done >= this.most) return false;
    // Some kernels count processor time in ticks: several rounds may seem to take nothing.
    const seconds = Math.max(this.#seconds, this.#done * 1e-6);
    if (this.#done >= this.#fewest && seconds >= this.#budget) return false;
    this.#done += 1;
    return true;
  }

  /** For people, such as `ran 212 of 500 rounds in 3.0 s: the budget skipped 288`. */
  get report(): string {
    const took = `in ${this.#seconds.toFixed(1)} s`;
    if (this.most === ENDLESS) return `ran ${this.#done} rounds ${took}`;
    const skipped = this.most - this.#done;
    return `ran ${this.#done} of ${this.most} rounds ${took}${skipped > 0 ? `: the budget skipped ${skipped}` : ''}`;
  }

  get #seconds(): number {
    return this.#now() - this.#began;
  }
}

/** The budget ends it. */
const ENDLESS = Number.MAX_SAFE_INTEGER;

function processorSeconds(): number {
  const { user, system } = cpuUsage();
  return (user + system) / 1_000_000;
}

function seedIn(name: 'KEYTURN_SEED' | 'KEYTURN_FIRST_SEED'): number | undefined {
  const value = env[name];
  if (value === undefined) return undefined;
  if (value.trim() !== '' && Number.isSafeInteger(Number(value))) return Number(value);
  throw new Error(`${name} is ${JSON.stringify(value)}: a whole number is allowed`);
}

function numberOf(
  name: 'KEYTURN_RUNS' | 'KEYTURN_BUDGET_S' | 'KEYTURN_LOT',
  isAllowed: (value: number) => boolean,
): number | undefined {
  const value = env[name];
  if (value === undefined) return undefined;
  const number = Number(value);
  // No round at all would pass without having tested anything.
  if (number > 0 && isAllowed(number)) return number;
  throw new Error(`${name} is ${JSON.stringify(value)}: a number above 0 is allowed, of rounds a whole one`);
}
