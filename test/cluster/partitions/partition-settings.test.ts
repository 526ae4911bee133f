import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { PartitionMap } from '../../../src/cluster/partitions/partition-map.js';
import { routesIn, settingsOf } from '../../../src/cluster/partitions/partition-settings.js';
import { settings } from '../../support/builders.js';

const QUEUES = {
  alone: {},
  orders: { group: 'shop' },
  bills: { group: 'shop' },
  same: { group: 'same' },
  hot: { spread: 16, maxInFlight: 100, rate: { perSecond: 50, burst: 20 } },
};

describe('the settings of a partition', () => {
  const whole = settings({ queues: QUEUES, startupHold: 5_000, defaultPolicy: { maxInFlight: 64 } });
  const routes = new Map(Object.entries(routesIn(whole)));

  it('routes are those of queues that are not on their own, in one order whatever the order of the file', () => {
    assert.deepEqual(
      [...routes],
      [
        ['bills', { group: 'shop', spread: 1 }],
        ['hot', { group: 'hot', spread: 16 }],
        ['orders', { group: 'shop', spread: 1 }],
      ],
    );
  });

  for (const partitions of [1, 4, 64, 256]) {
    it(`S274: of ${partitions}: every queue is where the map says, and what it may have is shared out exactly`, () => {
      const map = new PartitionMap(partitions, routes);
      const all = Array.from({ length: partitions }, (_, partition) => settingsOf(whole, map, partition));
      for (const name of Object.keys(QUEUES)) {
        const there = all.flatMap(({ queues }, partition) => (queues.has(name) ? [partition] : []));
        assert.deepEqual(there, map.all(name), name);
      }
      const inFlight = all.map(({ queues }) => queues.get('hot')?.maxInFlight ?? 0);
      assert.equal(
        inFlight.reduce((sum, share) => sum + share, 0),
        100,
      );
      assert.ok(
        all.every(({ startupHold, defaultPolicy }) => startupHold === 0 && defaultPolicy === whole.defaultPolicy),
      );
      assert.equal(map.of('orders', 'k'), map.of('bills', 'k'), 'a group lives together');
    });
  }

  it('a queue that the record spreads and the configuration does not name has its share of the default policy', () => {
    const map = new PartitionMap(64, new Map([['later', { group: 'later', spread: 8 }]]));
    const shares = map.all('later').map((partition) => settingsOf(whole, map, partition).queues.get('later'));
    assert.equal(
      shares.reduce((sum, share) => sum + (share?.maxInFlight ?? Number.NaN), 0),
      64,
    );
  });
});
