/** S510: a Redis Cluster keeps what every store and every registry promises. */
import { describe, type TestContext } from 'node:test';
import { openRedisRegistry } from '../../src/cluster/registry/redis/redis-registry.js';
import type { Registry } from '../../src/cluster/registry/registry.js';
import type { ClusterStore } from '../../src/cluster/store/cluster-store.js';
import { ownKey } from '../../src/cluster/store/redis/keys.js';
import { openRedisStore } from '../../src/cluster/store/redis/redis-store.js';
import { HELD } from '../support/cluster/held-clock.js';
import { needs } from '../support/needed-program.js';
import { REDIS } from '../support/redis.js';
import type { ClusterNode, TestRedisCluster } from '../support/redis-cluster.js';
import { RedisClusterScene, sharedRedisCluster } from './redis-cluster-scene.js';
import { type RegistryPlace, registrySuite } from './registry-suite.js';
import type { OpenOptions, StorePlace } from './store-place.js';
import { storeSuite } from './store-suite.js';

describe('with a real Redis Cluster of three masters', needs([REDIS]), () => {
  const servers = sharedRedisCluster();
  storeSuite('the store in a Redis Cluster', async (t) => storePlace(t, servers()));
  registrySuite('the registry in a Redis Cluster', async (t) => registryPlace(t, servers()));
});

function storePlace(t: TestContext, servers: TestRedisCluster): StorePlace {
  const scene = new RedisClusterScene<ClusterStore>(t, servers);
  const { cluster, clock } = scene;
  let marked: { readonly node: ClusterNode; readonly dumped: Awaited<ReturnType<ClusterNode['raw']['dump']>> }[] = [];
  return {
    open: async ({ ring }: OpenOptions = {}) => {
      const rest = ring === undefined ? {} : { ring };
      const store = await scene.behindProxy((url) => openRedisStore(url, { cluster, clock, deadline: HELD, ...rest }));
      t.after(() => store.close());
      return store;
    },
    mark: async () => {
      marked = await Promise.all(servers.masters.map(async (node) => ({ node, dumped: await node.raw.dump(cluster) })));
    },
    fallBack: async () => {
      await scene.empty();
      for (const { node, dumped } of marked) for (const { key, value } of dumped) await node.raw.put(key, value);
    },
    dropGuard: async (partition) => {
      const key = ownKey(cluster, partition);
      if ((await scene.at(key).raw.ask('DEL', key)) !== 1) throw new Error(`${key} is not there`);
    },
    empty: () => scene.empty(),
    lose: (store, what) => scene.lose(store, what),
    outwait: (promise) => scene.outwait(promise),
  };
}

function registryPlace(t: TestContext, servers: TestRedisCluster): RegistryPlace {
  const scene = new RedisClusterScene<Registry>(t, servers);
  const { cluster, clock } = scene;
  return {
    open: async () => {
      const registry = await scene.behindProxy((url) => openRedisRegistry(url, { cluster, clock, deadline: HELD }));
      t.after(() => registry.close());
      return registry;
    },
    // Sessions end by the clock of Redis: it is they that are brought nearer to their end.
    pass: async (ms) => {
      for (const { key, node } of await scene.keys()) {
        const left = Number(await node.raw.ask('PTTL', key));
        if (left >= 0) await node.raw.ask('PEXPIRE', key, String(Math.max(0, left - ms)));
      }
    },
    empty: () => scene.empty(),
    lose: (registry, what) => scene.lose(registry, what),
    outwait: (promise) => scene.outwait(promise),
  };
}
