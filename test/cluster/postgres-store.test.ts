import assert from 'node:assert/strict';
import { describe, type TestContext } from 'node:test';
import type { ClusterStore } from '../../src/cluster/store/cluster-store.js';
import { openPostgresStore } from '../../src/cluster/store/postgres/postgres-store.js';
import { HELD } from '../support/cluster/held-clock.js';
import { needs } from '../support/needed-program.js';
import { POSTGRES, type TestPostgres } from '../support/postgres.js';
import { PostgresScene, sharedPostgres } from './postgres-scene.js';
import type { OpenOptions, StorePlace } from './store-place.js';
import { storeSuite } from './store-suite.js';

describe('with a real PostgreSQL', needs([POSTGRES]), () => {
  const postgres = sharedPostgres();
  storeSuite('the store in PostgreSQL', (t) => placeIn(t, postgres()));
});

async function placeIn(t: TestContext, postgres: TestPostgres): Promise<StorePlace> {
  const scene = await PostgresScene.make<ClusterStore>(t, postgres);
  const { cluster, clock, raw } = scene;
  return {
    open: async ({ ring }: OpenOptions = {}) => {
      const rest = ring === undefined ? {} : { ring };
      const options = { cluster, clock, deadline: HELD, ...rest };
      const store = await scene.behindProxy((url) => openPostgresStore(url, options));
      t.after(() => store.close());
      return store;
    },
    mark: () => raw.mark(cluster),
    fallBack: () => raw.fallBack(cluster),
    dropGuard: async (partition) => {
      const gone = await raw.ask('DELETE FROM keyturn.guards WHERE cluster = $1 AND partition = $2 RETURNING 1', [
        cluster,
        partition,
      ]);
      assert.equal(gone.length, 1);
    },
    empty: () => raw.empty(cluster),
    lose: (store, what) => scene.lose(store, what),
    outwait: (promise) => scene.outwait(promise),
  };
}
