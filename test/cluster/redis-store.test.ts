import assert from 'node:assert/strict';
import { describe, type TestContext } from 'node:test';
import type { ClusterStore } from '../../src/cluster/store/cluster-store.js';
import { tagOf } from '../../src/cluster/store/redis/keys.js';
import { openRedisStore } from '../../src/cluster/store/redis/redis-store.js';
import { HELD } from '../support/cluster/held-clock.js';
import { needs } from '../support/needed-program.js';
import { REDIS, type TestRedis } from '../support/redis.js';
import { RedisScene, sharedRedis } from './redis-scene.js';
import type { OpenOptions, StorePlace } from './store-place.js';
import { storeSuite } from './store-suite.js';

describe('with a real Redis', needs([REDIS]), () => {
  const redis = sharedRedis();
  storeSuite('the store in Redis', (t) => placeIn(t, redis()));
});

async function placeIn(t: TestContext, redis: TestRedis): Promise<StorePlace> {
  const scene = await RedisScene.make<ClusterStore>(t, redis);
  const { cluster, clock, raw } = scene;
  let marked: Awaited<ReturnType<typeof raw.dump>> = [];
  return {
    open: async ({ ring }: OpenOptions = {}) => {
      const rest = ring === undefined ? {} : { ring };
      const store = await scene.behindProxy((url) => openRedisStore(url, { cluster, clock, deadline: HELD, ...rest }));
      t.after(() => store.close());
      return store;
    },
    mark: async () => {
      marked = await raw.dump(cluster);
    },
    fallBack: () => raw.restore(cluster, marked),
    dropGuard: async (partition) => {
      assert.equal(await raw.ask('DEL', `${tagOf(cluster, partition)}own`), 1);
    },
    empty: () => raw.empty(cluster),
    lose: (store, what) => scene.lose(store, what),
    outwait: (promise) => scene.outwait(promise),
  };
}
