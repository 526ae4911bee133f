/**
 * Clients and a sidecar over a bad network, many seeds. To run one again:
 * `KEYTURN_SEED=… node --test dist/test/sim/network.test.js`; `KEYTURN_RUNS=…` runs that many seeds.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { seedsOf } from '../support/runs.js';
import { NetworkSimulation, type Outcome } from './network-simulation.js';

const AMOUNT = { usual: 60, fewest: 2 };

async function simulate(seed: number, restarts: boolean): Promise<Outcome> {
  const outcome = await new NetworkSimulation({ seed, restarts }).run();
  const { violations, tail } = outcome;
  if (violations.length > 0) {
    const again = `KEYTURN_SEED=${seed} node --test dist/test/sim/network.test.js`;
    const told = [...violations.slice(0, 10), '…', ...tail].join('\n');
    throw new Error(`seed ${seed}${restarts ? ' with restarts' : ''} fails; to run it again: ${again}\n${told}`);
  }
  return outcome;
}

describe('clients and a sidecar over a bad network', () => {
  for (const restarts of [false, true]) {
    const what = restarts ? 'a sidecar that loses its memory' : 'a sidecar that lives';
    it(`many seeds, ${what}: one acting handler per key, nothing lost or done twice, nothing hangs or leaks`, async (t) => {
      let aborts = 0;
      for (const seed of seedsOf(t, 1, AMOUNT)) {
        const { runs, settled, items, troubles, ...seen } = await simulate(seed, restarts);
        aborts += seen.aborts;
        const did = `${runs} runs, ${settled} promises, ${items} items, ${troubles} troubles`;
        assert.ok(runs > 20 && settled > 100 && troubles > 5, `seed ${seed} does something: ${did}`);
      }
      assert.ok(aborts > 0, 'some turns are lost');
    });
  }

  it('the same seed gives the same log, another one another', async () => {
    const [first, second, other] = [await simulate(7, true), await simulate(7, true), await simulate(8, true)];
    assert.equal(first.hash, second.hash);
    assert.notEqual(first.hash, other.hash);
  });
});
