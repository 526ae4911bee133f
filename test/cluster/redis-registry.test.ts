import { describe, type TestContext } from 'node:test';
import { openRedisRegistry } from '../../src/cluster/registry/redis/redis-registry.js';
import type { Registry } from '../../src/cluster/registry/registry.js';
import { HELD } from '../support/cluster/held-clock.js';
import { needs } from '../support/needed-program.js';
import { REDIS, type TestRedis, VALKEY } from '../support/redis.js';
import { RedisScene, sharedRedis } from './redis-scene.js';
import { type RegistryPlace, registrySuite } from './registry-suite.js';

describe('with a real Valkey', needs([VALKEY]), () => {
  const valkey = sharedRedis([], VALKEY);
  registrySuite('the registry in Valkey', (t) => placeIn(t, valkey()));
});

describe('with a real Redis', needs([REDIS]), () => {
  const redis = sharedRedis();
  registrySuite('the registry in Redis', (t) => placeIn(t, redis()));
});

async function placeIn(t: TestContext, redis: TestRedis): Promise<RegistryPlace> {
  const scene = await RedisScene.make<Registry>(t, redis);
  const { cluster, clock, raw } = scene;
  return {
    open: async () => {
      const registry = await scene.behindProxy((url) => openRedisRegistry(url, { cluster, clock, deadline: HELD }));
      t.after(() => registry.close());
      return registry;
    },
    // Sessions end by the clock of Redis: it is they that are brought nearer to their end.
    pass: async (ms) => {
      for (const key of await raw.keys(cluster)) {
        const left = Number(await raw.ask('PTTL', key));
        if (left >= 0) await raw.ask('PEXPIRE', key, String(Math.max(0, left - ms)));
      }
    },
    empty: () => raw.empty(cluster),
    lose: (registry, what) => scene.lose(registry, what),
    outwait: (promise) => scene.outwait(promise),
  };
}
