/**
 * S412: what was answered outlives the deaths of a home, a gateway, both and the store, as processes. What is chosen is the same for the
 * same seed; what meets what is the machine's. Longer, and other kinds: `node dist/test/cluster/kills.js 20`.
 */
import assert from 'node:assert/strict';
import { env } from 'node:process';
import { describe, type TestContext, test } from 'node:test';
import { REGISTRIES, STORES } from '../support/killed-store.js';
import { needs } from '../support/needed-program.js';
import { someOf } from '../support/runs.js';
import { type KillPlan, KillWorld } from './kill-world.js';

const SEED = Number(env['KEYTURN_SEED'] ?? 1);

type Row = Pick<KillPlan, 'store' | 'registry' | 'kinds'>;

/** All are processes. */
const EACH_KIND: Row = { store: 'redis', registry: 'store', kinds: ['gateway', 'both', 'home', 'store'] };

/** Each other store and each other registry once. */
const OTHER_STORES: readonly Row[] = [
  { store: 'valkey', registry: 'store', kinds: ['store'] },
  { store: 'sentinel', registry: 'zookeeper', kinds: ['store'] },
  { store: 'redis-cluster', registry: 'store', kinds: ['store'] },
  { store: 'postgres', registry: 'etcd', kinds: ['store', 'home'] },
];

const nameOf = ({ store, registry, kinds }: Row) => `${kinds.join(', ')} die (store ${store}, registry ${registry})`;
const needed = (...rows: readonly Row[]) =>
  needs(rows.flatMap(({ store, registry }) => [STORES[store].needs, ...REGISTRIES[registry].needs]));

async function live(t: TestContext, row: Row): Promise<void> {
  const plan: KillPlan = { ...row, seed: SEED, mostEvents: 200, say: (what) => t.diagnostic(what) };
  const { violations, tail, rounds, acked, turns } = await KillWorld.run(t, plan);
  assert.deepEqual(violations, [], `seed ${SEED}\n${[...violations.slice(0, 10), '…', ...tail].join('\n')}`);
  assert.equal(rounds, row.kinds.length);
  assert.ok(acked > 50 && turns > 50, `it does something: ${acked} acked, ${turns} turns`);
}

describe('nothing answered is lost, one holder per key, order kept, tokens grow', () => {
  test(nameOf(EACH_KIND), needed(EACH_KIND), (t) => live(t, EACH_KIND));

  test('and with other stores and registries', needed(...OTHER_STORES), async (t) => {
    for (const row of someOf(t, OTHER_STORES, nameOf, { time: 'wall' })) await t.test(nameOf(row), (t) => live(t, row));
  });
});
