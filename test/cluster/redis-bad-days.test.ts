/** What Redis does on bad days, while a home writes to it. */
import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { openRedisRegistry } from '../../src/cluster/registry/redis/redis-registry.js';
import type { Member } from '../../src/cluster/registry/registry.js';
import type { Claimed, ClusterStore, PartitionStore } from '../../src/cluster/store/cluster-store.js';
import { openRedisStore, type RedisStoreOptions } from '../../src/cluster/store/redis/redis-store.js';
import type { RowChange } from '../../src/core/contract/rows.js';
import { JournalError } from '../../src/local/journal/journal.js';
import { contentOf, itemRow, puts } from '../local/journal/rows.js';
import { LossyProxy } from '../support/cluster/lossy-proxy.js';
import { RawRedis } from '../support/cluster/raw-redis.js';
import { deferred } from '../support/deferred.js';
import { needs } from '../support/needed-program.js';
import { REDIS, TestRedis } from '../support/redis.js';
import { sharedRedis } from './redis-scene.js';
import { claim, isProblem, RECORD, rowsOf } from './store-place.js';

/** Long enough for a busy machine: nothing here waits for it to pass. */
const DEADLINE = 30_000;

const MEMBER: Member = {
  id: 'm1',
  name: 'one',
  address: '127.0.0.1:1',
  grpc: '',
  version: '1',
  format: 1,
  weight: 1,
  isLeaving: false,
  routes: 1,
};

interface Scene {
  readonly store: ClusterStore;
  readonly claimed: Claimed;
  readonly home: PartitionStore;
}

async function opened(
  t: TestContext,
  url: string,
  cluster: string,
  options: Partial<RedisStoreOptions> = {},
): Promise<Scene> {
  const store = await openRedisStore(url, { cluster, deadline: DEADLINE, ...options });
  t.after(() => store.close());
  await untilDone(() => store.record(RECORD));
  // Also when an answer was lost: then the owner is our own.
  const claimed = await untilDone(async () => claim(store, { expected: (await store.guards(1))[0]?.owner ?? '' }));
  return { store, claimed, home: store.open(claimed) };
}

/** As the writer of a coordinator does: the same changes again until they are written. */
function writeUntilDone(home: PartitionStore, changes: readonly RowChange[], unless?: RegExp): Promise<void> {
  return untilDone(() => home.write(changes, 1), unless);
}

/** As members do: again, as long as it is not known. A replica that has just come may be slow to say what it has. */
async function untilDone<T>(task: () => Promise<T>, unless = /^$/): Promise<T> {
  for (;;) {
    try {
      return await task();
    } catch (error) {
      if (!(error instanceof JournalError) || error.problem !== 'io' || unless.test(error.message)) throw error;
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  }
}

describe('a Redis that stays', needs([REDIS]), () => {
  const redis = sharedRedis();

  it('whose memory is full takes no batch, not even half of it, but claims; and goes on when there is room', async (t) => {
    const own = await TestRedis.start(t);
    const raw = await RawRedis.connect(t, own.port);
    const { store, claimed, home } = await opened(t, own.url, 'full');
    await home.write(puts([itemRow(1)]), 1);
    await raw.ask('CONFIG', 'SET', 'maxmemory', '1');
    // Deletes are allowed when memory is full, puts are not: one script with both must do neither.
    const small: RowChange[] = [{ delete: { table: 'items', seq: 1 } }, ...puts([itemRow(2), itemRow(3)])];
    const large = puts([4, 5, 6].map((seq) => itemRow(seq, { content: contentOf('x'.repeat(700_000)) })));
    await assert.rejects(home.write(small, 2), isProblem('full'));
    const renewed = await claim(store, { expected: claimed.guard.owner, expectedSeq: home.guard.seq });
    assert.deepEqual(await rowsOf(store.open(renewed)), [itemRow(1)]);
    await raw.ask('CONFIG', 'SET', 'maxmemory', '0');
    const again = store.open(renewed);
    await again.write(small, 2);
    await raw.ask('CONFIG', 'SET', 'maxmemory', '1');
    await assert.rejects(again.write(large, 3), isProblem('full'));
    await raw.ask('CONFIG', 'SET', 'maxmemory', '0');
    await again.write(large, 3);
    assert.equal((await rowsOf(again)).length, 5);
  });

  it('that forgets its scripts is told them again', async (t) => {
    const raw = await RawRedis.connect(t, redis().port);
    const { home } = await opened(t, redis().url, 'scripts');
    await home.write(puts([itemRow(1)]), 1);
    await raw.ask('SCRIPT', 'FLUSH');
    await home.write(puts([itemRow(2)]), 2);
    assert.deepEqual(await rowsOf(home), [itemRow(1), itemRow(2)]);
  });

  it('that is made a replica takes no writes, and goes on when it is none any more', async (t) => {
    const raw = await RawRedis.connect(t, redis().port);
    const { home } = await opened(t, redis().url, 'replica');
    await raw.ask('CONFIG', 'SET', 'replica-serve-stale-data', 'yes');
    await raw.ask('REPLICAOF', '127.0.0.1', '1');
    const changes = puts([itemRow(1)]);
    await assert.rejects(home.write(changes, 1), /has become a replica/);
    await raw.ask('REPLICAOF', 'NO', 'ONE');
    await writeUntilDone(home, changes);
    assert.deepEqual(await rowsOf(home), [itemRow(1)]);
  });

  it('and ends all connections is connected with again', async (t) => {
    const proxy = await LossyProxy.start(t, redis().port);
    const { home, store } = await opened(t, `redis://127.0.0.1:${proxy.port}`, 'dropped');
    let failovers = 0;
    store.onFailover = () => {
      failovers += 1;
    };
    for (let seq = 1; seq <= 5; seq += 1) {
      const writing = writeUntilDone(home, puts([itemRow(seq)]));
      proxy.drop();
      await writing;
    }
    assert.deepEqual(
      await rowsOf(home),
      [1, 2, 3, 4, 5].map((seq) => itemRow(seq)),
    );
    assert.equal(failovers, 0, 'the same Redis is no failover');
  });
});

describe('a Redis that is killed', needs([REDIS]), () => {
  for (const fsync of ['always', 'everysec']) {
    it(`(appendfsync ${fsync}) has all that was written when it is started again, and that is noticed`, async (t) => {
      const redis = await TestRedis.start(t, ['--appendonly', 'yes', '--appendfsync', fsync]);
      const { home, store, claimed } = await opened(t, redis.url, 'killed');
      const noticed = deferred();
      store.onFailover = () => noticed.resolve();
      await home.write(puts([itemRow(1)]), 1);
      const large = puts([2, 3, 4].map((seq) => itemRow(seq, { content: contentOf('x'.repeat(700_000)) })));
      const writing = writeUntilDone(home, large);
      await redis.kill();
      await redis.start();
      await writing;
      await noticed.promise;
      await home.assert();
      await home.write(puts([itemRow(5)]), 5);
      const again = store.open(await claim(store, { expected: claimed.guard.owner, expectedSeq: home.guard.seq }));
      assert.equal(again.before.rows, 5);
      assert.deepEqual(
        (await rowsOf(again)).map((row) => ('seq' in row ? row.seq : row)),
        [1, 2, 3, 4, 5],
      );
    });
  }

  it('and keeps nothing on disk is empty then: refused loudly, nobody begins anew in silence', async (t) => {
    const redis = await TestRedis.start(t);
    const { home, store } = await opened(t, redis.url, 'empty');
    const noticed = deferred();
    store.onFailover = () => noticed.resolve();
    await home.write(puts([itemRow(1)]), 1);
    await redis.kill();
    await redis.start();
    await noticed.promise;
    await assert.rejects(home.assert(), isProblem('no_guard'));
    await assert.rejects(home.write(puts([itemRow(2)]), 2), isProblem('no_guard'));
  });
});

describe('a Redis with a replica', needs([REDIS]), () => {
  async function withReplica(t: TestContext) {
    const master = await TestRedis.start(t, ['--repl-diskless-sync', 'yes', '--repl-diskless-sync-delay', '0']);
    const between = await LossyProxy.start(t, master.port);
    const replica = await TestRedis.start(t, ['--replicaof', '127.0.0.1', String(between.port)]);
    const raw = await RawRedis.connect(t, replica.port);
    while (!/master_link_status:up/.test(String(await raw.ask('INFO', 'replication')))) {
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    return { master, between, replica, raw };
  }

  it('has what was answered; what the replica has not is not written, also when it is asked for over another connection', async (t) => {
    const { master, between } = await withReplica(t);
    const proxy = await LossyProxy.start(t, master.port);
    const { home } = await opened(t, `redis://127.0.0.1:${proxy.port}`, 'wait');
    await writeUntilDone(home, puts([itemRow(1)]));
    // The replica gets it, but nobody learns that it has.
    between.cut = 'requests';
    const changes = puts([itemRow(2)]);
    await assert.rejects(home.write(changes, 2), /0 of 1 replicas .* have the last batch/);
    proxy.drop();
    await assert.rejects(writeUntilDone(home, changes, /replicas/), /0 of 1 replicas .* have the last batch/);
    between.cut = undefined;
    await writeUntilDone(home, changes);
    assert.deepEqual(await rowsOf(home), [itemRow(1), itemRow(2)]);
  });

  it('S221: that does not say that it has them: no session and no record counts as written', async (t) => {
    const { master, between } = await withReplica(t);
    const { store } = await opened(t, master.url, 'counts');
    const registry = await openRedisRegistry(master.url, { cluster: 'counts', deadline: DEADLINE });
    t.after(() => registry.close());
    await untilDone(() => registry.join(MEMBER, 60_000));
    between.cut = 'requests';
    await assert.rejects(registry.renew(MEMBER, 60_000), /0 of 1 replicas .* know of the session/);
    await assert.rejects(
      store.changeRecord(1, { ...RECORD, version: 2 }),
      /0 of 1 replicas .* have the cluster's record/,
    );
    between.cut = undefined;
    assert.equal(await untilDone(() => registry.renew(MEMBER, 60_000)), true);
    assert.equal(await untilDone(() => store.changeRecord(1, { ...RECORD, version: 2 })), true);
  });

  it('that takes over without the last batches is noticed, and repaired by the home', async (t) => {
    const { master, between, replica, raw } = await withReplica(t);
    const proxy = await LossyProxy.start(t, master.port);
    const { home, store } = await opened(t, `redis://127.0.0.1:${proxy.port}`, 'failover', { replicas: 0 });
    const noticed = deferred();
    store.onFailover = () => noticed.resolve();
    await home.write(puts([itemRow(1)]), 1);
    while ((await raw.keys('failover')).length < 4) await new Promise((resolve) => setTimeout(resolve, 5));
    between.cut = 'both';
    for (let seq = 2; seq <= 20; seq += 1) await home.write(puts([itemRow(seq)]), seq);
    await raw.ask('REPLICAOF', 'NO', 'ONE');
    proxy.target = replica.port;
    proxy.drop();
    await noticed.promise;
    const told: number[] = [];
    home.onFellBack = (batches) => void told.push(batches);
    await home.assert();
    assert.deepEqual(told, [19]);
    assert.equal((await rowsOf(home)).length, 20);
  });
});
