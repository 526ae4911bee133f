/** How far a cluster carries: the page says what the simulation says, and the simulation what was measured. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { tables } from '../../bench/scaling/ceilings.js';
import { type Shape, Simulated } from '../../bench/scaling/cluster.js';
import { MEASURED } from '../../bench/scaling/costs.js';
import { POINTS, simulated } from '../../bench/scaling/points.js';
import { read } from '../project/repository.js';

/** Two processors that others used, too, did not measure better. */
const WITHIN = 1 / 3;
const CORES = 2;
/** Pairs/s of one queue through a gateway, on a quiet day. */
const FORWARDED = 13_100;

const SHAPE: Shape = {
  homes: 2,
  gateways: 4,
  partitions: 64,
  spread: 8,
  inFlight: 64,
  keys: 10_000,
  cores: undefined,
  evenly: true,
  registryInStore: true,
};

describe('the simulation of a cluster under load', () => {
  it('S542: docs/SCALING.md has the tables that `npm run scaling` prints', () => {
    const page = read('docs/SCALING.md').text;
    const { hotQueue, sidecars } = tables();
    for (const [name, table] of Object.entries({ 'hot queue': hotQueue, sidecars })) {
      const mark = (which: string) => `<!-- npm run scaling, ${name}: ${which} -->`;
      const [, rest = ''] = page.split(mark('begin'));
      assert.equal(
        rest.split(mark('end'))[0]?.trim(),
        table,
        `the table of ${name}: \`npm run scaling\` prints the right one`,
      );
    }
  });

  for (const point of POINTS)
    it(`S542: says what was measured with ${point.homes} homes and spread ${point.spread}`, () => {
      const { batchesOfPair, ofPair } = simulated(point, CORES);
      const said = { batches: batchesOfPair, home: ofPair.home, gateway: ofPair.gateway, store: ofPair.store };
      for (const key of ['batches', 'home', 'gateway', 'store'] as const) {
        const ratio = said[key] / point[key];
        assert.ok(
          Math.abs(Math.log(ratio)) < Math.log(1 + WITHIN),
          `${key}: ${said[key]}, and ${point[key]} was measured`,
        );
      }
    });

  it('S542: says the rate that the row `forwarded` measured in a cluster, to which nothing was fitted', () => {
    const { rate } = simulated({ homes: 1, spread: 1 }, CORES);
    assert.ok(Math.abs(Math.log(rate / FORWARDED)) < Math.log(1 + WITHIN), `${rate} pairs/s`);
  });

  it('gives the same figures again, and no operation comes from nowhere', () => {
    const [once, again] = [new Simulated(MEASURED, SHAPE).run(), new Simulated(MEASURED, SHAPE).run()];
    assert.deepEqual(once, again);
    // A home cannot do more than its CPU allows.
    assert.ok(once.rate * 2 * MEASURED.home.operation <= SHAPE.homes * 1e6);
    assert.ok(once.rate > 0);
  });

  it('a store that costs nothing is never what gives; homes that cost nothing are not either', () => {
    const free = { ...MEASURED.store, turn: 0, row: 0, batch: 0, flush: 0 };
    const homes = new Simulated({ ...MEASURED, store: free }, { ...SHAPE, registryInStore: false }).run();
    assert.equal(homes.store, 0);
    assert.ok(homes.home > 0.9, `the busiest home: ${homes.home}`);
    const store = new Simulated({ ...MEASURED, home: { turn: 0, operation: 0, batch: 0 } }, SHAPE).run();
    assert.ok(store.home < 0.1 && store.store > 0.9, `home ${store.home}, store ${store.store}`);
  });

  it('members that list each other in the store ask more of it the more they are', () => {
    const share = (homes: number) => new Simulated(MEASURED, { ...SHAPE, homes }).run().registry;
    const [ten, twenty] = [share(10), share(20)];
    assert.ok(twenty / ten > 3 && twenty / ten < 5, `${ten}, ${twenty}`);
  });
});
