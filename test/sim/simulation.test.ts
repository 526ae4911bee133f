/**
 * Many seeds of the simulated world. To run one again: `KEYTURN_SEED=… node --test dist/test/sim/simulation.test.js`;
 * `KEYTURN_RUNS=…` runs that many seeds.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { RecountedCoordinator } from '../support/recounted.js';
import { seedsOf } from '../support/runs.js';
import { type Outcome, Simulation } from './simulation.js';

/** Recounted after each so many steps; a prime, so that it is not always after the same. */
const EVERY = 47;

async function simulate(seed: number): Promise<Outcome> {
  try {
    return await new Simulation(
      (settings, clock, its) => new RecountedCoordinator(settings, { clock, seed: its }, EVERY),
      seed,
    ).run();
  } catch (error) {
    const again = `KEYTURN_SEED=${seed} node --test dist/test/sim/simulation.test.js`;
    throw new Error(`seed ${seed} fails; to run it again: ${again}`, { cause: error });
  }
}

describe('simulation', () => {
  it('many seeds: one live turn per key, tokens grow, order, one answer per call, every item ends once', async (t) => {
    for (const seed of seedsOf(t, 1_000, { usual: 40 })) {
      const { calls, items, finished, turns, takenBack } = await simulate(seed);
      assert.ok(
        calls > 100 && items > 10 && finished > 10 && turns > 50 && takenBack > 0,
        `seed ${seed} does something: ${calls} ${items} ${finished} ${turns} ${takenBack}`,
      );
    }
  });

  it('the same seed gives the same log, another one another', async () => {
    const [first, second, other] = [await simulate(7), await simulate(7), await simulate(8)];
    assert.equal(first.hash, second.hash);
    assert.notEqual(first.hash, other.hash);
  });
});
