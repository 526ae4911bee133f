/** S540: what leaders are promised holds over each store and each registry. All of them: `node dist/test/cluster/leaders/matrix.js`. */
import { describe, it } from 'node:test';
import { REGISTRIES, type RegistryName, STORES, type StoreName } from '../../support/killed-store.js';
import { needs } from '../../support/needed-program.js';
import { Career } from './career.js';

/** Each store and each registry once, the stores' own registries among them. */
const ROWS: readonly (readonly [StoreName, RegistryName])[] = [
  ['redis', 'store'],
  ['postgres', 'store'],
  ['sentinel', 'etcd'],
  ['valkey', 'zookeeper'],
];

// They wait for signs of life and for the ends of sessions most of the time.
describe('S398: a leader keeps its term over the deaths of home, gateway and store; then the next one leads', {
  concurrency: 2,
}, () => {
  for (const [store, registry] of ROWS)
    it(
      `store ${store}, registry ${registry}`,
      needs([STORES[store].needs, ...REGISTRIES[registry].needs]),
      async (t) => {
        await Career.run(t, { store, registry }, (what) => t.diagnostic(what));
      },
    );
});
