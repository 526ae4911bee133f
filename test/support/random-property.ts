/** Properties of fast-check within a budget of time. */
import type { TestContext } from 'node:test';
import fc from 'fast-check';
import { type Amount, Rounds, seedOf } from './runs.js';

interface Settings extends Amount {
  /** Unless the environment sets another one. */
  readonly seed: number;
  /** The caller makes what failed smaller. */
  readonly endOnFailure?: boolean;
}

type Found<Value> = Promise<fc.RunDetails<[Value]>>;

/** Looks for a value that fails, as `fc.check` does; `KEYTURN_PATH` leads to the one that failed before. */
export async function checkRandom<Value>(
  t: Pick<TestContext, 'diagnostic'>,
  values: fc.Arbitrary<Value>,
  run: (value: Value) => void | Promise<void>,
  { seed, endOnFailure = false, ...amount }: Settings,
): Found<Value> {
  const rounds = new Rounds(amount);
  const property = fc.asyncProperty(values, withBudget(rounds, run));
  const path = process.env['KEYTURN_PATH'];
  const again = path === undefined ? {} : { path };
  const begin = seedOf(seed);
  const details = await fc.check(property, { seed: begin, numRuns: rounds.most, endOnFailure, ...again });
  t.diagnostic(`${rounds.report} with seed ${begin}`);
  return details;
}

/** What failed is thrown, with its seed and path. */
export async function assertRandom<Value>(
  t: Pick<TestContext, 'diagnostic'>,
  values: fc.Arbitrary<Value>,
  run: (value: Value) => void | Promise<void>,
  settings: Settings,
): Promise<void> {
  const details = await checkRandom(t, values, run, settings);
  const error = fc.defaultReportMessage(details);
  if (error !== undefined) {
    const again = `KEYTURN_SEED=${details.seed} KEYTURN_PATH=${details.counterexamplePath}`;
    throw new Error(`${error}\n\nto run it again: ${again}`, { cause: details.errorInstance });
  }
}

/** Not while a failing value is made smaller: that takes the time that it takes. */
function withBudget<Value>(
  rounds: Rounds,
  run: (value: Value) => void | Promise<void>,
): (value: Value) => Promise<void> {
  let failed = false;
  return async (value) => {
    if (!failed && !rounds.next()) throw new fc.PreconditionFailure(true);
    try {
      await run(value);
    } catch (error) {
      failed = true;
      throw error;
    }
  };
}
