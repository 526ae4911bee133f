import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { openPlaces } from '../../src/cluster/redis/places/open-places.js';
import type { ClusterStore } from '../../src/cluster/store/cluster-store.js';
import { tagOf } from '../../src/cluster/store/redis/keys.js';
import { RedisRecords } from '../../src/cluster/store/redis/records.js';
import { openRedisStore } from '../../src/cluster/store/redis/redis-store.js';
import { SpreadWhole } from '../../src/cluster/store/redis/spread-whole.js';
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

/** As a Redis Cluster does it, step by step, which needs none. */
describe('a record that is put back in two steps', needs([REDIS]), () => {
  const redis = sharedRedis();

  it('S572: lets nobody begin under the one in between, also when it was cut off there', async (t) => {
    const { cluster, clock } = await RedisScene.make<ClusterStore>(t, redis());
    const shape = { connections: 1, each: 16 };
    const places = await openPlaces(`redis://127.0.0.1:${redis().port}`, { deadline: HELD, clock, shape });
    t.after(() => places.close());
    const records = new RedisRecords(places, cluster, 0);
    const whole = new SpreadWhole(places, records, { cluster, replicas: 0 });
    await records.record({ ...RECORD, id: 'another' });
    const { readEach } = places;
    places.readEach = () => Promise.reject(new Error('cut off'));
    await assert.rejects(whole.restoreRecord(RECORD, 'another', []), /cut off/);
    places.readEach = readEach;
    const { record } = await whole.look(RECORD.partitions);
    assert.ok(record !== undefined && record.id !== 'another' && record.id !== RECORD.id);
    await assert.rejects(records.record({ ...RECORD, id: 'begins' }), /is being put back over that of another one/);
    assert.equal(await whole.restoreRecord(RECORD, record.id, []), true);
    assert.deepEqual(await records.record({ ...RECORD, id: 'begins' }), RECORD);
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
