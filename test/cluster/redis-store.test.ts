import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import type { ClusterStore } from '../../src/cluster/store/cluster-store.js';
import { tagOf } from '../../src/cluster/store/redis/keys.js';
import { openRedisStore } from '../../src/cluster/store/redis/redis-store.js';
import { itemRow, puts } from '../local/journal/rows.js';
import { HELD } from '../support/cluster/held-clock.js';
import { needs } from '../support/needed-program.js';
import { REDIS, type TestRedis, VALKEY } from '../support/redis.js';
import { RedisScene, sharedRedis } from './redis-scene.js';
import { claim, type OpenOptions, RECORD, type StorePlace } from './store-place.js';
import { storeSuite } from './store-suite.js';

describe('with a real Valkey', needs([VALKEY]), () => {
  const valkey = sharedRedis([], VALKEY);
  storeSuite('the store in Valkey', (t) => placeIn(t, valkey()));
});

describe('with a real Redis', needs([REDIS]), () => {
  const redis = sharedRedis();
  storeSuite('the store in Redis', (t) => placeIn(t, redis()));

  it('S440: what Redis keeps for who reads ahead ends there within 20 s, also if nobody writes any more', async (t) => {
    const { raw, cluster, clock } = await RedisScene.make<ClusterStore>(t, redis());
    const store = await openRedisStore(`redis://127.0.0.1:${redis().port}`, { cluster, clock, deadline: HELD });
    t.after(() => store.close());
    await store.record(RECORD);
    const home = store.open(await claim(store));
    await home.write(puts([itemRow(1)]), 1);
    assert.ok((await store.readAhead(0, () => true)) !== undefined);
    const endsIn = async () => Number(await raw.ask('TTL', `${tagOf(cluster, 0)}followed`));
    const first = await endsIn();
    assert.ok(first > 0 && first <= 20, `${first}`);
    await home.write(puts([itemRow(2)]), 2);
    const then = await endsIn();
    assert.ok(then > 0 && then <= first, `a batch that is kept keeps nothing for longer: ${then}`);
  });
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
