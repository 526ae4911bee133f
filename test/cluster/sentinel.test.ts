/** A real Redis with replicas behind sentinels: the master is replaced, by hand and because it died. */
import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { openRedisRegistry } from '../../src/cluster/registry/redis/redis-registry.js';
import type { ClusterStore } from '../../src/cluster/store/cluster-store.js';
import { openRedisStore, type RedisStoreOptions } from '../../src/cluster/store/redis/redis-store.js';
import { JournalError, type JournalProblem } from '../../src/local/journal/journal.js';
import { until } from '../cli/keyturn-process.js';
import { itemRow, puts } from '../local/journal/rows.js';
import { RawRedis } from '../support/cluster/raw-redis.js';
import { needs } from '../support/needed-program.js';
import { REDIS } from '../support/redis.js';
import { MASTER, TestSentinels } from '../support/sentinel.js';
import { claim, isProblem, rowsOf } from './store-place.js';

const OPTIONS = { cluster: 'c', deadline: 1_000, startDeadline: 60_000 } as const;

async function opened(t: TestContext, url: string, more: Partial<RedisStoreOptions> = {}): Promise<ClusterStore> {
  const store = await openRedisStore(url, { ...OPTIONS, ...more });
  t.after(() => store.close());
  return store;
}

/** Tried until it is there, as a home does. */
async function written(write: () => Promise<void>): Promise<void> {
  await until('it is written', () =>
    write().then(
      () => true,
      (error: unknown) => !isProblem('io')(error),
    ),
  );
}

describe('a real Redis behind sentinels', needs([REDIS]), () => {
  it('S460: the master is replaced by hand, then dies: homes follow, notice both, and lose nothing that was answered', async (t) => {
    const redis = await TestSentinels.start(t, 2);
    const store = await opened(t, redis.url);
    let failovers = 0;
    store.onFailover = () => (failovers += 1);
    const claimed = await claim(store);
    const home = store.open(claimed);
    let seq = 0;
    const write = async (count: number) => {
      for (const end = seq + count; seq < end; seq += 1) await written(() => home.write(puts([itemRow(seq)]), 1));
    };
    await write(20);
    const first = await redis.master();
    await redis.failOver();
    await until('another one is the master', async () => (await redis.master()) !== first);
    await write(20);
    await until('the home has noticed', async () => failovers === 1);
    const second = await redis.master();
    await redis.kill();
    await until('another one is the master', async () => (await redis.master()) !== second);
    await write(20);
    assert.equal(failovers, 2);
    // Another sidecar, as the first is dead.
    const next = await opened(t, redis.url);
    const taken = await claim(next, { member: 'b', expected: claimed.guard.owner });
    assert.deepEqual(
      await rowsOf(next.open(taken)),
      Array.from({ length: 60 }, (_, at) => itemRow(at)),
    );
    await assert.rejects(home.write(puts([itemRow(99)]), 1), isProblem('fenced'));
  });

  it('S461: a master that is cut off from its sentinels is left, though it answers', async (t) => {
    const redis = await TestSentinels.start(t, 1);
    const store = await opened(t, redis.url, { replicas: 0 });
    const home = store.open(await claim(store));
    await home.write(puts([itemRow(1)]), 1);
    const old = await redis.master();
    // It is taken for dead by those who decide, and lives.
    const raw = await RawRedis.connect(t, old.port);
    let failovers = 0;
    store.onFailover = () => (failovers += 1);
    await redis.failOver();
    await until('another one is the master', async () => (await redis.master()) !== old);
    // The old one forgets what it was told, as one that nobody reaches.
    await raw.ask('REPLICAOF', 'NO', 'ONE');
    await until('the home has left it', async () => failovers === 1);
    await written(() => home.write(puts([itemRow(2)]), 2));
    const master = await redis.master();
    assert.notEqual(master, old);
    assert.deepEqual(await rowsOf(home), [itemRow(1), itemRow(2)]);
  });

  it('S462: what is wrong is told: nobody there, no such master, a wrong password', async (t) => {
    const redis = await TestSentinels.start(t, 0);
    const refused: readonly (readonly [url: string, problem: JournalProblem, says: RegExp])[] = [
      [
        `redis+sentinel://127.0.0.1:1,127.0.0.1:2/${MASTER}`,
        'io',
        /no sentinel of .* answers: .*nothing listens there/,
      ],
      [redis.url.replace(MASTER, 'other'), 'unfit', /no sentinel of .* knows a master called "other"/],
      [
        redis.url.replace('://', '://u:geheim@'),
        'unfit',
        /the master of .* (has no password, and one is given|refuses user or password)/,
      ],
    ];
    for (const [url, problem, says] of refused)
      for (const open of [openRedisStore, openRedisRegistry])
        await assert.rejects(open(url, { ...OPTIONS, startDeadline: 5_000 }), (error: unknown) => {
          assert.ok(error instanceof JournalError, String(error));
          assert.match(error.message, says);
          assert.equal(error.problem, problem);
          assert.doesNotMatch(error.message, /geheim/);
          return true;
        });
    const store = await opened(t, redis.url);
    assert.equal(store.name, redis.url);
  });
});
