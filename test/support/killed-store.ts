/** Engines under a cluster of a test: a store that it kills, and starts again on what it had; a registry beside it. */
import { openZooKeeperRegistry } from '../../src/cluster/registry/zookeeper/zookeeper-registry.js';
import { ownKey } from '../../src/cluster/store/redis/keys.js';
import { ETCD, TestEtcd } from './etcd.js';
import type { NeededProgram } from './needed-program.js';
import { POSTGRES, TestPostgres } from './postgres.js';
import { type Cleanup, REDIS, TestRedis, VALKEY } from './redis.js';
import { TestRedisCluster } from './redis-cluster.js';
import { TestSentinels } from './sentinel.js';
import { JAVA, TestZooKeeper, ZOOKEEPER } from './zookeeper.js';

export interface KilledStore {
  /** For `store`. */
  readonly url: string;
  /** As `kill -9`. */
  kill(): Promise<void>;
  start(): Promise<void>;
}

interface StoreKind {
  readonly needs: NeededProgram;
  /** What was answered is on its disk: it may be killed, too. */
  start(cleanup: Cleanup): Promise<KilledStore>;
}

export const STORES = {
  redis: {
    needs: REDIS,
    start: (cleanup) => TestRedis.start(cleanup, ['--appendonly', 'yes', '--appendfsync', 'always']),
  },
  valkey: {
    needs: VALKEY,
    start: (cleanup) => TestRedis.start(cleanup, ['--appendonly', 'yes', '--appendfsync', 'always'], VALKEY),
  },
  sentinel: {
    needs: REDIS,
    start: async (cleanup) => {
      const redis = await TestSentinels.start(cleanup, 2, ['--appendonly', 'yes', '--appendfsync', 'always']);
      return { url: redis.url, kill: () => redis.kill(), start: () => redis.restart() };
    },
  },
  'redis-cluster': {
    needs: REDIS,
    start: async (cleanup) => {
      const settings = ['--appendonly', 'yes', '--appendfsync', 'always'];
      const redis = await TestRedisCluster.start(cleanup, { replicas: 1, settings });
      let killed = 0;
      let key = '';
      return {
        url: redis.url,
        kill: async () => {
          key = ownKey('keyturn', killed);
          killed += 1;
          await redis.kill(await redis.masterOf(key));
        },
        start: async () => {
          // Every second time its replica takes over first, else it comes back as the master that it was.
          if (killed % 2 === 1) await redis.masterOf(key);
          await redis.restart();
        },
      };
    },
  },
  postgres: { needs: POSTGRES, start: (cleanup) => TestPostgres.start(cleanup) },
} as const satisfies Readonly<Record<string, StoreKind>>;

/** One server of each: members of an ensemble die in tests of their own. */
interface RegistryKind {
  readonly needs: readonly NeededProgram[];
  /** @returns for `registry` */
  start(cleanup: Cleanup): Promise<string>;
}

export const REGISTRIES = {
  store: { needs: [], start: async () => 'store' },
  etcd: {
    needs: [ETCD],
    start: async (cleanup) => `etcd://127.0.0.1:${(await TestEtcd.start(cleanup)).port}`,
  },
  zookeeper: {
    needs: [JAVA, ZOOKEEPER],
    start: async (cleanup) => {
      const url = `zookeeper://keyturn:secret@127.0.0.1:${(await TestZooKeeper.start(cleanup)).port}`;
      // The first login makes a JVM load classes, for longer than a sidecar waits on a machine that does much else.
      await (await openZooKeeperRegistry(url, { cluster: 'first', deadline: 60_000, startDeadline: 60_000 })).close();
      return url;
    },
  },
} as const satisfies Readonly<Record<string, RegistryKind>>;

export type StoreName = keyof typeof STORES;
export type RegistryName = keyof typeof REGISTRIES;

export function storeNamed(name: string): StoreName {
  return named(STORES, name, 'store');
}

export function registryNamed(name: string): RegistryName {
  return named(REGISTRIES, name, 'registry');
}

function named<T extends object>(all: T, name: string, what: string): keyof T {
  for (const one in all) if (one === name) return one;
  throw new Error(`the ${what} is ${name}; allowed: ${Object.keys(all).join(', ')}`);
}
