/**
 * Many seeds of a world in which the process dies and its disk fails. To run one again:
 * `KEYTURN_SEED=… node --test dist/test/sim/durable.test.js`; `KEYTURN_RUNS=…` runs that many seeds.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { seedsOf } from '../support/runs.js';
import { type DurableOutcome, DurableSimulation } from './durable-simulation.js';

async function simulate(seed: number): Promise<DurableOutcome> {
  const again = `KEYTURN_SEED=${seed} node --test dist/test/sim/durable.test.js`;
  try {
    const outcome = await new DurableSimulation(seed).run();
    if (outcome.violations.length === 0) return outcome;
    throw new Error([...outcome.tail, ...outcome.violations].join('\n'));
  } catch (error) {
    throw new Error(`seed ${seed} fails; to run it again: ${again}`, { cause: error });
  }
}

describe('simulation of a coordinator that dies, on a disk that fails', () => {
  it('many seeds: nothing that was answered is lost, done twice, or told before it is on the disk', async (t) => {
    let [kept, worlds] = [0, 0];
    for (const seed of seedsOf(t, 5_000, { usual: 16, fewest: 2 })) {
      worlds += 1;
      const { lives, items, acks, turns, terms, handedOver, keptTerms } = await simulate(seed);
      kept += keptTerms;
      assert.ok(
        lives > 5 && items > 50 && acks > 20 && turns > 20,
        `seed ${seed} does something: ${lives} ${items} ${acks} ${turns}`,
      );
      assert.ok(terms > 5 && handedOver > 1, `seed ${seed} has leaders: ${terms} ${handedOver}`);
    }
    assert.ok(kept >= worlds / 2, `${kept} terms were kept by another process`);
  });

  it('the same seed gives the same log, another one another', async () => {
    const [first, second, other] = [await simulate(7), await simulate(7), await simulate(8)];
    assert.equal(first.hash, second.hash);
    assert.notEqual(first.hash, other.hash);
  });
});
