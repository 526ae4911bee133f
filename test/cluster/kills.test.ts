/**
 * S412: what was answered outlives the deaths of a home, a gateway, both and the store, as processes. What is chosen is the same for the
 * same seed; what meets what is the machine's. Longer, and other kinds: `node dist/test/cluster/kills.js 20`.
 */
import assert from 'node:assert/strict';
import { env } from 'node:process';
import { test } from 'node:test';
import { REGISTRIES, STORES } from '../support/killed-store.js';
import { needs } from '../support/needed-program.js';
import { type KillPlan, KillWorld } from './kill-world.js';

const SEED = Number(env['KEYTURN_SEED'] ?? 1);

/** Each store and each registry once, each kind at least once; in the first all are processes. */
const ROWS: readonly Pick<KillPlan, 'store' | 'registry' | 'kinds'>[] = [
  { store: 'redis', registry: 'store', kinds: ['gateway', 'both', 'home', 'store'] },
  { store: 'valkey', registry: 'store', kinds: ['store'] },
  { store: 'sentinel', registry: 'zookeeper', kinds: ['store'] },
  { store: 'redis-cluster', registry: 'store', kinds: ['store'] },
  { store: 'postgres', registry: 'etcd', kinds: ['store', 'home'] },
];

for (const row of ROWS) {
  const { store, registry, kinds } = row;
  test(
    `${kinds.join(', ')} die (store ${store}, registry ${registry}): nothing answered is lost, one holder per key, order kept, tokens grow`,
    needs([STORES[store].needs, ...REGISTRIES[registry].needs]),
    async (t) => {
      const plan: KillPlan = { ...row, seed: SEED, mostEvents: 200, say: (what) => t.diagnostic(what) };
      const { violations, tail, rounds, acked, turns } = await KillWorld.run(t, plan);
      assert.deepEqual(violations, [], `seed ${SEED}\n${[...violations.slice(0, 10), '…', ...tail].join('\n')}`);
      assert.equal(rounds, kinds.length);
      assert.ok(acked > 50 && turns > 50, `it does something: ${acked} acked, ${turns} turns`);
    },
  );
}
