import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { openPostgresRegistry } from '../../src/cluster/registry/postgres/postgres-registry.js';
import type { Registry } from '../../src/cluster/registry/registry.js';
import { HELD } from '../support/cluster/held-clock.js';
import { needs } from '../support/needed-program.js';
import { POSTGRES, type TestPostgres } from '../support/postgres.js';
import { PostgresScene, sharedPostgres } from './postgres-scene.js';
import { member, type RegistryPlace, registrySuite } from './registry-suite.js';

describe('with a real PostgreSQL', needs([POSTGRES]), () => {
  const postgres = sharedPostgres();
  registrySuite('the registry in PostgreSQL', (t) => placeIn(t, postgres()));

  it('S562: a server whose clock is set back, or another one whose clock is behind, keeps no dead member for as long', async (t) => {
    const place = await placeIn(t, postgres());
    const registry = await place.open();
    for (const id of ['dead', 'living']) await registry.join(member(id), 60_000);
    await place.pass(-3_600_000);
    assert.equal(await registry.renew(member('living'), 60_000), true);
    assert.deepEqual(await registry.members(), [member('living')]);
  });
});

async function placeIn(t: TestContext, postgres: TestPostgres): Promise<RegistryPlace> {
  const scene = await PostgresScene.make<Registry>(t, postgres);
  const { cluster, clock, raw } = scene;
  return {
    open: async () => {
      const registry = await scene.behindProxy((url) => openPostgresRegistry(url, { cluster, clock, deadline: HELD }));
      t.after(() => registry.close());
      return registry;
    },
    // Sessions end by the server's clock: it is they that are brought nearer to their end.
    pass: async (ms) => {
      await raw.ask(`UPDATE keyturn.members SET expires = expires - $2 * interval '1 ms' WHERE cluster = $1`, [
        cluster,
        ms,
      ]);
    },
    empty: () => raw.empty(cluster),
    lose: (registry, what) => scene.lose(registry, what),
    outwait: (promise) => scene.outwait(promise),
  };
}
