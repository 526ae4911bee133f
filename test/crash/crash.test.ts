/**
 * A sidecar that is killed (SIGKILL) at random moments and started again on its directory, under working clients, with a
 * ledger outside that knows everything that the clients were told. What is chosen is the same for the same seed; what meets
 * what is the machine's. To run one again:
 * `KEYTURN_SEED=… node --test dist/test/crash/crash.test.js`; `KEYTURN_RUNS=…` runs that many seeds instead of the usual
 * number, `KEYTURN_CRASHES=…` kills that often in each.
 */
import assert from 'node:assert/strict';
import { env } from 'node:process';
import { describe, it, type TestContext } from 'node:test';
import { seedsOf } from '../support/runs.js';
import { type Outcome, World } from './world.js';

const { KEYTURN_CRASHES } = env;
const CRASHES = Number(KEYTURN_CRASHES ?? 5);
/** How many worlds there are at once: each waits for processes most of the time. */
const AT_ONCE = 3;
const AMOUNT = { usual: 6, fewest: AT_ONCE, time: 'wall' } as const;

async function live(t: TestContext, seed: number): Promise<Outcome> {
  const outcome = await World.run(t, { seed, crashes: CRASHES });
  const { violations, tail } = outcome;
  if (violations.length > 0) {
    const again = `KEYTURN_SEED=${seed} KEYTURN_CRASHES=${CRASHES} node --test dist/test/crash/crash.test.js`;
    const told = [...violations.slice(0, 10), '…', ...tail].join('\n');
    throw new Error(`seed ${seed} fails; to run it again: ${again}\n${told}`);
  }
  return outcome;
}

describe('a sidecar that is killed again and again', () => {
  it(`many seeds, ${CRASHES} crashes: one handler per key, nothing lost, nothing done twice, order kept, tokens grow`, async (t) => {
    const seeds = seedsOf(t, 1, AMOUNT);
    const lane = async () => {
      for (const seed of seeds) {
        const { accepted, acked, runs, turns, told, crashes } = await live(t, seed);
        const did = `seed ${seed}: ${crashes} crashes, ${accepted} items accepted, ${acked} acked, ${turns} turns, ${runs} runs, ${told} told`;
        t.diagnostic(did);
        assert.ok(accepted > 10 && acked > 10 && crashes >= CRASHES, `it does something: ${did}`);
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, lane));
  });
});
