/** Real engines as people set them, which can be killed, brought back, and lost with their machines. */
import { once } from 'node:events';
import type { TestContext } from 'node:test';
import { openStore } from '../../../src/cluster/engines/open.js';
import { ownKey } from '../../../src/cluster/store/redis/keys.js';
import { until } from '../../cli/keyturn-process.js';
import { LossyProxy } from '../../support/cluster/lossy-proxy.js';
import { RawPostgres } from '../../support/cluster/raw-postgres.js';
import { RawRedis } from '../../support/cluster/raw-redis.js';
import type { NeededProgram } from '../../support/needed-program.js';
import { TestPostgres } from '../../support/postgres.js';
import { TestRedis } from '../../support/redis.js';
import { type ClusterNode, TestRedisCluster } from '../../support/redis-cluster.js';
import { TestSentinels } from '../../support/sentinel.js';
import type { Setting } from './table.js';

/** Of the cluster that is in the store. */
export const CLUSTER = 'c';
/** Among so many are two at one of three masters. */
const PARTITIONS = 4;

export interface Scene {
  /** For `store`. */
  readonly url: string;
  /** Two that are at the server to which it happens. Unset: all are. */
  readonly partitions?: readonly [number, number];
  readonly replicas: number | 'auto';
  /** What is written from now on comes no further than is answered for: to no replica that nobody waits for, to no disk. */
  lag(): Promise<void>;
  /** Its process is killed, or its power fails; it starts again on what it has. */
  back(): Promise<void>;
  /** Its machine is gone: who follows it takes its place, or an empty one does. */
  gone(): Promise<void>;
}

type Start = (t: TestContext, program: NeededProgram) => Promise<Scene>;

const ALWAYS = ['--appendonly', 'yes', '--appendfsync', 'always'];
const QUICK_SYNC = ['--repl-diskless-sync-delay', '0'];

export const SCENES: Readonly<Record<Setting, Start>> = {
  always: (t, program) => redisAlone(t, program, ALWAYS),
  everysec: (t, program) => redisAlone(t, program, ['--appendonly', 'yes', '--appendfsync', 'everysec']),
  power: (t, program) => redisAlone(t, program, ['--appendonly', 'yes', '--appendfsync', 'everysec'], 'power fails'),
  snapshots: (t, program) => redisAlone(t, program, [], 'snapshot'),
  memory: (t, program) => redisAlone(t, program, []),
  waited: (t, program) => redisPair(t, program, 1),
  unwaited: (t, program) => redisPair(t, program, 0),
  sentinels: (t) => sentinels(t, 'auto'),
  sentinelsUnwaited: (t) => sentinels(t, 0),
  redisCluster: (t) => redisCluster(t, 'auto'),
  redisClusterUnwaited: (t) => redisCluster(t, 0),
  postgres: (t) => postgresAlone(t),
  asynchronous: (t) => postgresPair(t, 'auto', false),
  notAsked: (t) => postgresPair(t, 0, true),
  synchronous: (t) => postgresPair(t, 'auto', true),
};

async function redisAlone(
  t: TestContext,
  program: NeededProgram,
  settings: readonly string[],
  how?: 'power fails' | 'snapshot',
): Promise<Scene> {
  const redis = await TestRedis.start(t, settings, program);
  const front = await LossyProxy.start(t, redis.port);
  let putBack = async (): Promise<void> => undefined;
  return {
    url: `redis://127.0.0.1:${front.port}`,
    replicas: 0,
    async lag() {
      const person = await RawRedis.connect(t, redis.port);
      if (how === 'snapshot') await person.ask('SAVE');
      if (how === 'power fails') putBack = await redis.disk();
    },
    async back() {
      await redis.kill();
      await putBack();
      await redis.start();
    },
    async gone() {
      await redis.kill();
      front.target = (await TestRedis.start(t, settings, program)).port;
      front.drop();
    },
  };
}

async function redisPair(t: TestContext, program: NeededProgram, replicas: number): Promise<Scene> {
  const master = await TestRedis.start(t, [...ALWAYS, ...QUICK_SYNC], program);
  const replica = await TestRedis.start(
    t,
    [...ALWAYS, ...QUICK_SYNC, '--replicaof', '127.0.0.1', String(master.port)],
    program,
  );
  const front = await LossyProxy.start(t, master.port);
  await hasReplicas(t, master, 1);
  return {
    url: `redis://127.0.0.1:${front.port}`,
    replicas,
    lag: () => leaveReplicasBehind(t, master, 1),
    async back() {
      await master.kill();
      await master.start();
      await hasReplicas(t, master, 1);
    },
    async gone() {
      await master.kill();
      const person = await RawRedis.connect(t, replica.port);
      await person.ask('REPLICAOF', 'NO', 'ONE');
      // Or nothing would be written that waits for one.
      await TestRedis.start(t, [...ALWAYS, '--replicaof', '127.0.0.1', String(replica.port)], program);
      await hasReplicas(t, replica, 1);
      front.target = replica.port;
      front.drop();
    },
  };
}

async function sentinels(t: TestContext, replicas: number | 'auto'): Promise<Scene> {
  const redis = await TestSentinels.start(t, 2, ALWAYS);
  const first = await redis.master();
  await hasReplicas(t, first, 2);
  const gone = async (): Promise<void> => {
    await redis.kill();
    // On a machine that does much else an election may fail, and is held again ten seconds later.
    while ((await redis.master()) === first) await once(AbortSignal.timeout(50), 'abort');
  };
  return {
    url: redis.url,
    replicas,
    lag: () => leaveReplicasBehind(t, first, 2),
    // Too late to be the master again: it becomes a replica, and what it has beyond the new one goes.
    async back() {
      await gone();
      await redis.restart();
    },
    gone,
  };
}

async function redisCluster(t: TestContext, replicas: number | 'auto'): Promise<Scene> {
  const servers = await TestRedisCluster.start(t, { replicas: 2, settings: ALWAYS });
  const { master, partitions } = await together(servers);
  const gone = async (): Promise<void> => {
    await servers.kill(master);
    // Until another one has its slots.
    await servers.masterOf(ownKey(CLUSTER, partitions[0]));
  };
  return {
    url: servers.url,
    partitions,
    replicas,
    lag: () => leaveReplicasBehind(t, master.redis, 2),
    // Too late to be the master again, as behind sentinels.
    async back() {
      await gone();
      await servers.restart();
    },
    gone,
  };
}

/** Two partitions whose slots are at one master. */
async function together(
  servers: TestRedisCluster,
): Promise<{ readonly master: ClusterNode; readonly partitions: readonly [number, number] }> {
  const first = new Map<ClusterNode, number>();
  for (let partition = 0; partition < PARTITIONS; partition += 1) {
    const master = await servers.masterOf(ownKey(CLUSTER, partition));
    const other = first.get(master);
    if (other !== undefined) return { master, partitions: [other, partition] };
    first.set(master, partition);
  }
  throw new Error('there are more than three masters');
}

async function postgresAlone(t: TestContext): Promise<Scene> {
  const postgres = await TestPostgres.start(t);
  const front = await LossyProxy.start(t, postgres.port);
  return {
    url: `postgres://owner@127.0.0.1:${front.port}/postgres`,
    replicas: 'auto',
    lag: async () => undefined,
    async back() {
      await postgres.kill();
      await postgres.start();
    },
    async gone() {
      await postgres.kill();
      const empty = await TestPostgres.start(t);
      // As `keyturn store migrate`: before a cluster can be put back there are tables.
      await (await openStore(empty.url, { cluster: 'none', replicas: 'auto' })).close();
      front.target = empty.port;
      front.drop();
    },
  };
}

async function postgresPair(t: TestContext, replicas: number | 'auto', isSynchronous: boolean): Promise<Scene> {
  const primary = await TestPostgres.start(t);
  const link = await LossyProxy.start(t, primary.port);
  const standby = await primary.standby(t, 's1', link.port);
  const person = await RawPostgres.connect(t, primary.url);
  if (isSynchronous) {
    await person.ask(`ALTER SYSTEM SET synchronous_standby_names = 'ANY 1 (s1)'`);
    await person.ask('SELECT pg_reload_conf()');
  }
  const state = isSynchronous ? 'quorum' : 'async';
  const follows = `SELECT 1 FROM pg_stat_replication WHERE sync_state = '${state}' AND state = 'streaming'`;
  await until('the standby follows', async () => (await person.ask(follows)).length > 0);
  return {
    url: `postgres://owner@127.0.0.1:${primary.port},127.0.0.1:${standby.port}/postgres`,
    replicas,
    async lag() {
      const level = 'SELECT 1 FROM pg_stat_replication WHERE flush_lsn >= $1';
      const [[now] = []] = await person.ask('SELECT pg_current_wal_lsn()');
      await until('the standby has all', async () => (await person.ask(level, [now])).length > 0);
      link.cut = 'both';
    },
    async back() {
      await primary.kill();
      await primary.start();
      link.cut = undefined;
      link.drop();
    },
    async gone() {
      await primary.kill();
      await standby.promote();
    },
  };
}

async function hasReplicas(t: TestContext, master: TestRedis, count: number): Promise<void> {
  const person = await RawRedis.connect(t, master.port);
  await until('the replicas are there', async () => Number(await person.ask('WAIT', String(count), '50')) === count);
}

/** They have all that was written so far, and are not let in again when they are cut off. */
async function leaveReplicasBehind(t: TestContext, master: TestRedis, count: number): Promise<void> {
  const person = await RawRedis.connect(t, master.port);
  await person.ask('SET', 'now', 'now');
  await person.ask('WAIT', String(count), '0');
  await person.ask('ACL', 'SETUSER', 'default', '-psync', '-sync');
  await person.ask('CLIENT', 'KILL', 'TYPE', 'replica');
}
