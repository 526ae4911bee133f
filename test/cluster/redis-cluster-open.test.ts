/** What keeps a Redis Cluster from being the store or the registry of a cluster is told at the start. */
import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { openRegistry, openStore } from '../../src/cluster/engines/open.js';
import { openRedisRegistry } from '../../src/cluster/registry/redis/redis-registry.js';
import { openRedisStore } from '../../src/cluster/store/redis/redis-store.js';
import { JournalError, type JournalProblem } from '../../src/local/journal/journal.js';
import { RawRedis } from '../support/cluster/raw-redis.js';
import { freePort } from '../support/free-port.js';
import { needs } from '../support/needed-program.js';
import { REDIS, TestRedis } from '../support/redis.js';
import { TestRedisCluster, urlOf } from '../support/redis-cluster.js';

const OPTIONS = { cluster: 'keyturn', startDeadline: 5_000 } as const;

async function isRefused(url: string, problem: JournalProblem, says: RegExp): Promise<void> {
  for (const open of [openRedisStore, openRedisRegistry])
    await assert.rejects(open(url, OPTIONS), (error: unknown) => {
      assert.ok(error instanceof JournalError, String(error));
      assert.match(error.message, says);
      assert.equal(error.problem, problem, error.message);
      assert.doesNotMatch(error.message, /geheim/);
      return true;
    });
}

/** Alone, with all slots or with none. */
async function node(t: TestContext, slots: readonly string[], settings: readonly string[] = []): Promise<TestRedis> {
  const own = ['--cluster-enabled', 'yes', '--cluster-port', String(await freePort())];
  const redis = await TestRedis.start(t, [...own, ...settings]);
  if (slots.length > 0) {
    await (await RawRedis.connect(t, redis.port)).ask('CLUSTER', 'ADDSLOTSRANGE', ...slots);
  }
  return redis;
}

describe('opening a Redis Cluster', needs([REDIS]), () => {
  it('S516: is refused for a Redis that is in none, and one of its nodes is refused as a Redis alone, with the address to take', async (t) => {
    const alone = await TestRedis.start(t);
    await isRefused(
      urlOf([alone.port]),
      'unfit',
      /is no node of a Redis Cluster \(cluster-enabled no\): the address of a Redis alone is redis:\/\//,
    );
    const whole = await node(t, ['0', '16383']);
    await isRefused(
      whole.url,
      'unfit',
      new RegExp(
        `is a node of a Redis Cluster, .*: address the cluster, redis\\+cluster://127\\.0\\.0\\.1:${whole.port},`,
      ),
    );
  });

  it('S516: is refused when slots have no master, when nobody is there, for another database, and for a wrong password', async (t) => {
    const half = await node(t, ['0', '8191']);
    await isRefused(
      urlOf([half.port]),
      'unfit',
      /has masters for 8192 of 16384 slots: make it whole \(redis-cli --cluster/,
    );
    await isRefused(urlOf([1, 2]), 'io', /no node of .* answers: .*nothing listens there/);
    await isRefused(
      `${urlOf([half.port])}3`,
      'unfit',
      /nothing may follow the nodes: a Redis Cluster has database 0 only/,
    );
    await isRefused(
      urlOf([half.port]).replace('://', '://u:geheim@'),
      'unfit',
      /(has no password, and one is given|refuses user or password)/,
    );
  });

  it('S516: is refused for a user without a right at any of its masters, which is named', async (t) => {
    const servers = await TestRedisCluster.start(t);
    const url = servers.url.replace('://', '://worker:geheim@');
    const rights = ['on', '>geheim', '~{keyturn.*', '+@all'];
    for (const [at, command] of [
      [0, 'cluster|nodes'],
      [1, 'hset'],
      [2, 'evalsha'],
    ] as const) {
      for (const [own, { raw }] of servers.masters.entries())
        await raw.ask('ACL', 'SETUSER', 'worker', 'reset', ...rights, ...(own === at ? [`-${command}`] : []));
      const name = command.toUpperCase().replace('|', '\\|');
      if (command !== 'cluster|nodes') await isRefused(url, 'unfit', new RegExp(`worker of .* may not run ${name} `));
      else await isRefused(url.replace(/,.*/, '/'), 'unfit', new RegExp(`worker of .* may not run ${name} `));
    }
    for (const { raw } of servers.masters) await raw.ask('ACL', 'SETUSER', 'worker', 'reset', ...rights);
    const store = await openRedisStore(url, OPTIONS);
    t.after(() => store.close());
    assert.equal(`${store.name}/`, servers.url);
    assert.equal((await store.claim({ partition: 0, expected: '', member: 'a', floor: 1, format: 1 })).claimed, true);
  });

  it('S516: says what could be set up better, and takes any of its nodes for the address', async (t) => {
    const slow = await node(t, ['0', '16383'], ['--cluster-node-timeout', '15000']);
    const [store, registry] = [
      await openStore(urlOf([1, slow.port]), { cluster: 'keyturn', replicas: 'auto' }),
      await openRegistry(urlOf([1, slow.port]), { cluster: 'keyturn', replicas: 'auto' }),
    ];
    t.after(() => Promise.all([store.close(), registry.close()]));
    assert.match(store.caution ?? '', /cluster-node-timeout is 15000 ms: .*3000 is better/);
    assert.match(store.caution ?? '', /cluster-require-full-coverage is yes: .*stops all partitions/);
    const quick = await node(
      t,
      ['0', '16383'],
      ['--cluster-node-timeout', '3000', '--cluster-require-full-coverage', 'no'],
    );
    const other = await openRedisStore(urlOf([quick.port]), OPTIONS);
    t.after(() => other.close());
    assert.equal(other.caution, undefined);
    const alone = await TestRedis.start(t);
    const one = await openRedisStore(alone.url, OPTIONS);
    t.after(() => one.close());
    assert.equal(one.caution, undefined);
  });
});
