/** A real Redis Cluster of three masters with a replica of each: masters are replaced, by hand and because they died or stood still. */
import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { SLOTS, slotOf } from '../../src/cluster/redis/places/slot.js';
import { openRedisRegistry } from '../../src/cluster/registry/redis/redis-registry.js';
import type { Member } from '../../src/cluster/registry/registry.js';
import type { ClusterStore, PartitionStore } from '../../src/cluster/store/cluster-store.js';
import { ownKey } from '../../src/cluster/store/redis/keys.js';
import { openRedisStore, type RedisStoreOptions } from '../../src/cluster/store/redis/redis-store.js';
import { itemRow, puts } from '../local/journal/rows.js';
import { needs } from '../support/needed-program.js';
import { REDIS } from '../support/redis.js';
import { type ClusterNode, eventually, type TestRedisCluster } from '../support/redis-cluster.js';
import { sharedRedisCluster } from './redis-cluster-scene.js';
import { claim, isProblem, RECORD, rowsOf } from './store-place.js';

const OPTIONS = { deadline: 1_000, startDeadline: 60_000 } as const;
const PARTITIONS = Array.from({ length: 8 }, (_, partition) => partition);
/** Rows of as many keys, of a slot that moves. */
const MOVED = 240;
/** Of slots: one of each master. */
const RANGES = 3;

async function opened(
  t: TestContext,
  { url }: TestRedisCluster,
  cluster: string,
  more: Partial<RedisStoreOptions> = {},
): Promise<ClusterStore> {
  const store = await openRedisStore(url, { ...OPTIONS, cluster, ...more });
  t.after(() => store.close());
  return store;
}

/** Tried until it is there, as a home does. */
async function written(write: () => Promise<void>): Promise<void> {
  await eventually('it is written', () =>
    write().then(
      () => true,
      (error: unknown) => !isProblem('io')(error),
    ),
  );
}

/** A home of a partition that writes rows one after another, and what it wrote. */
class Writer {
  seq = 0;

  constructor(
    readonly home: PartitionStore,
    readonly partition: number,
  ) {}

  static async of(store: ClusterStore, partition: number): Promise<Writer> {
    return new Writer(store.open(await claim(store, { partition })), partition);
  }

  async write(count: number): Promise<void> {
    for (const end = this.seq + count; this.seq < end; this.seq += 1)
      await written(() => this.home.write(puts([itemRow(this.seq)]), 1));
  }

  /** Once: it may not be written, or not known to be. Then {@link write} settles it. */
  async attempt(): Promise<void> {
    try {
      await this.home.write(puts([itemRow(this.seq)]), 1);
      this.seq += 1;
    } catch (error) {
      isProblem('io')(error);
    }
  }

  /** Another sidecar finds all of it, and this one is none any more. */
  async isAllIn(store: ClusterStore): Promise<void> {
    const { partition } = this;
    const expected = this.home.guard.owner;
    const taken = await claim(store, { member: 'b', partition, expected });
    assert.deepEqual(
      await rowsOf(store.open(taken)),
      Array.from({ length: this.seq }, (_, at) => itemRow(at)),
    );
    await assert.rejects(this.home.write(puts([itemRow(999_999)]), 1), isProblem('fenced'));
  }
}

/** A partition of the range of slots of a master as the cluster began: ranges stay together, whoever their master is. */
function partitionOf(cluster: string, range: number): number {
  const found = PARTITIONS.findIndex((partition) => rangeOf(ownKey(cluster, partition)) === range);
  assert.ok(found >= 0, `${cluster} has no partition in range ${range}`);
  return found;
}

function rangeOf(key: string): number {
  return Math.floor((slotOf(key) * RANGES) / SLOTS);
}

/** Two partitions of different ranges, the first not of that of the record. */
function apart(cluster: string): readonly [number, number] {
  const record = rangeOf(`{${cluster}.members}:record`);
  return [partitionOf(cluster, (record + 1) % RANGES), partitionOf(cluster, record)];
}

describe('a real Redis Cluster', needs([REDIS]), () => {
  const shared = sharedRedisCluster({ replicas: 1, behindProxies: true });

  // Each dead master is of another range of slots: masters vote for one of a line, then not for a while.

  it('S514: a replica that lags takes over: what it does not have is sent again, claims too', async (t) => {
    const servers = shared();
    const store = await opened(t, servers, 'lags', { replicas: 0 });
    await store.record(RECORD);
    const one = partitionOf('lags', 0);
    const first = await Writer.of(store, one);
    await first.write(10);
    const master = await servers.masterOf(ownKey('lags', one));
    await eventually('the replica has it', async () => (await master.ask('WAIT', '1', '100')) === 1);
    // Nothing reaches the replica any more, and nobody else notices.
    master.proxy.cut = 'both';
    const lagging = await isBehind(master);
    const second = await claim(store, { member: 'b', partition: one, expected: first.home.guard.owner });
    const writer = new Writer(store.open(second), one);
    writer.seq = first.seq;
    let fellBack = 0;
    writer.home.onFellBack = (batches) => {
      fellBack += batches;
    };
    await writer.write(15);
    assert.ok(await lagging(), 'the replica has nothing of it');
    await servers.kill(master);
    await writer.write(5);
    assert.ok(fellBack >= 15, `${fellBack} batches were sent again`);
    await writer.isAllIn(await opened(t, servers, 'lags'));
    await assert.rejects(first.home.write(puts([itemRow(999_999)]), 1), isProblem('fenced'));
    master.proxy.cut = undefined;
    await servers.restart();
    await hasReplica(servers, ownKey('lags', one));
  });

  it('S517: with replicas a batch waits for that of its master; auto is one less than the least of the masters has', async (t) => {
    const servers = shared();
    // A test before may have taken one away.
    for (const range of [0, 1, 2]) await hasReplica(servers, ownKey('waits', partitionOf('waits', range)));
    const [waits, auto] = [await opened(t, servers, 'waits', { replicas: 1 }), await opened(t, servers, 'waits')];
    const registry = await openRedisRegistry(servers.url, { ...OPTIONS, cluster: 'waits', replicas: 1 });
    t.after(() => registry.close());
    await waits.record(RECORD);
    const [one, other] = apart('waits');
    const [writer, beside] = [await Writer.of(waits, one), await Writer.of(waits, other)];
    await registry.join(MEMBER, 60_000);
    await Promise.all([writer.write(5), beside.write(5)]);
    const replica = await servers.replicaOf(await servers.masterOf(ownKey('waits', one)));
    await servers.kill(replica);
    await assert.rejects(writer.home.write(puts([itemRow(5)]), 1), /0 of 1 replicas .* have the last batch/);
    await beside.write(5);
    assert.equal(await registry.renew(MEMBER, 60_000), true);
    await writer.home.write(puts([itemRow(5)]), 1).catch(isProblem('io'));
    // As many as the least has, less one, which is none.
    await Writer.of(auto, one).catch(() => undefined);
    const taken = await claim(auto, { member: 'c', partition: one, expected: writer.home.guard.owner });
    await auto.open(taken).write(puts([itemRow(6)]), 2);
    await servers.restart();
    await hasReplica(servers, ownKey('waits', one));
  });

  it('S513: a master that stands still is replaced and left; what it says when it goes on again changes nothing', async (t) => {
    const servers = shared();
    const store = await opened(t, servers, 'stands');
    await store.record(RECORD);
    const one = partitionOf('stands', 1);
    const writer = await Writer.of(store, one);
    await writer.write(10);
    const master = await servers.masterOf(ownKey('stands', one));
    const pid = Number(/process_id:(\d+)/.exec(String(await master.ask('INFO', 'server')))?.[1]);
    process.kill(pid, 'SIGSTOP');
    try {
      // Some of it is sent to the one that stands still, which does it when it goes on.
      await writer.write(20);
    } finally {
      process.kill(pid, 'SIGCONT');
    }
    await writer.write(20);
    await hasReplica(servers, ownKey('stands', one));
    await writer.write(10);
    await writer.isAllIn(await opened(t, servers, 'stands'));
  });

  it('S511: a master is replaced by hand in three ways, then dies: homes follow, notice it for the partitions of its slots alone, and lose nothing', async (t) => {
    const servers = shared();
    const store = await opened(t, servers, 'hand');
    await store.record(RECORD);
    const partitions = [0, 1, 2].map((range) => partitionOf('hand', range));
    const told: (readonly number[])[] = [];
    store.onFailover = (touches) => void told.push(partitions.filter((one) => touches?.(one) === true));
    const writers = await Promise.all(partitions.map((partition) => Writer.of(store, partition)));
    const replaced = async (partition: number, how: Parameters<TestRedisCluster['failOver']>[1] | 'death') => {
      const key = ownKey('hand', partition);
      const seen = told.length;
      await Promise.all(writers.map((writer) => writer.write(20)));
      if (how === 'death') await servers.kill(await servers.masterOf(key));
      else await servers.failOver(key, how);
      await Promise.all(writers.map((writer) => writer.write(20)));
      await eventually(`it is noticed (${how})`, async () => told.slice(seen).flat().includes(partition));
    };
    // Of the first range, then of the second, a master was replaced already: votes for the next of its line are not waited for.
    const [first = 0, second = 0, third = 0] = partitions;
    await replaced(third, '');
    await replaced(first, 'FORCE');
    await replaced(third, 'TAKEOVER');
    await replaced(second, 'death');
    for (const touched of told) assert.equal(touched.length, 1, 'nobody is told of partitions at other masters');
    const next = await opened(t, servers, 'hand');
    for (const writer of writers) await writer.isAllIn(next);
  });
});

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

/** As its master sees it: a replica knows that it follows up to a second sooner. */
async function hasReplica(servers: TestRedisCluster, key: string): Promise<void> {
  const master = await servers.masterOf(key);
  // Without a write before it WAIT counts a replica that takes nothing yet.
  await master.ask('SET', `${key}:written`, '', 'EX', '60');
  await eventually('the replica has it', async () => (await master.ask('WAIT', '1', '100')) === 1);
}

/** @returns whether its replica has acknowledged nothing since */
async function isBehind(master: ClusterNode): Promise<() => Promise<boolean>> {
  const acknowledged = async () => {
    const info = String(await master.ask('INFO', 'replication'));
    const [, own] = /master_repl_offset:(\d+)/.exec(info) ?? [];
    const [, replica] = /slave0:.*offset=(\d+)/.exec(info) ?? [];
    return { own: Number(own), replica: Number(replica ?? 0) };
  };
  const before = await acknowledged();
  return async () => {
    const now = await acknowledged();
    return now.own > before.own && now.replica <= before.own;
  };
}

describe('a real Redis Cluster without replicas', needs([REDIS]), () => {
  const shared = sharedRedisCluster({ settings: ['--appendonly', 'yes', '--appendfsync', 'always'] });

  it('S512: slots move to another master, key by key, while homes write and read: nothing is lost, and nothing is half done', async (t) => {
    const servers = shared();
    const store = await opened(t, servers, 'moves');
    await store.record(RECORD);
    const [one] = apart('moves');
    const key = ownKey('moves', one);
    const slot = slotOf(key);
    const writer = await Writer.of(store, one);
    // Rows of several chunks, so that there are keys on both sides.
    await writer.home.write(puts(Array.from({ length: MOVED }, (_, at) => itemRow(100_000 + at * 1_024))), 1);
    const from = await servers.masterOf(key);
    for (const [round, to] of [servers.masters.find((node) => node !== from), from].entries()) {
      const at = await servers.masterOf(key);
      assert.ok(to !== undefined && to !== at);
      await servers.beginMove(slot, at, to);
      let isMoved = false;
      // A slot that moves takes no batch until it is there: that takes as long as what this test does meanwhile.
      const load = async () => {
        while (!isMoved) {
          await writer.attempt();
          await store.look(PARTITIONS.length);
        }
      };
      const loading = load();
      // At each of them a part of the keys: the guard is read wherever it is, and no batch is begun.
      await servers.moveKeys(slot, at, to, MOVED / 3);
      const { guards, unseen } = await store.look(PARTITIONS.length);
      assert.equal(guards[one]?.owner, writer.home.guard.owner, `round ${round}`);
      assert.equal(unseen?.size, 0);
      await assert.rejects(
        store.claim({ partition: one, expected: writer.home.guard.owner, member: 'x', floor: 1, format: 1 }),
        /slot \d+ of .* is being moved to another node, and takes no writes until it is there/,
      );
      while ((await servers.moveKeys(slot, at, to, 100)) > 0);
      await servers.endMove(slot, at, to);
      await eventually('the new master takes writes', async () => {
        const before = writer.seq;
        return new Promise<boolean>((resolve) => setTimeout(() => resolve(writer.seq > before), 20));
      });
      isMoved = true;
      await loading;
      await writer.write(1);
    }
    const next = await opened(t, servers, 'moves');
    const taken = await claim(next, { member: 'b', partition: one, expected: writer.home.guard.owner });
    assert.equal(taken.rows, MOVED + writer.seq);
    const rows = await rowsOf(next.open(taken));
    assert.equal(rows.length, MOVED + writer.seq);
    assert.deepEqual(
      rows.slice(0, writer.seq),
      Array.from({ length: writer.seq }, (_, at) => itemRow(at)),
    );
  });

  it('S512: a slot of which only its guard is left behind, or went ahead, takes no part of a batch', async (t) => {
    const servers = shared();
    const store = await opened(t, servers, 'parts', { deadline: 200 });
    await store.record(RECORD);
    const [one] = apart('parts');
    const key = ownKey('parts', one);
    const slot = slotOf(key);
    const home = store.open(await claim(store, { partition: one }));
    await home.write(puts([itemRow(1)]), 1);
    const from = await servers.masterOf(key);
    const to = servers.masters.find((node) => node !== from);
    assert.ok(to !== undefined);
    await servers.beginMove(slot, from, to);
    const [chunk] = (await from.raw.keys('parts')).filter(
      (name) => name.includes(`{parts.${one}}`) && name.endsWith('items:0'),
    );
    assert.ok(chunk !== undefined);
    const batch = [{ delete: { table: 'items', seq: 1 } } as const, ...puts([itemRow(2), itemRow(5_000)])];
    // The guard is here and the rows are there, then the other way round, then all is there but the slot.
    for (const moved of [chunk, key, undefined]) {
      if (moved === undefined) while ((await servers.moveKeys(slot, from, to, 100)) > 0);
      else await from.ask('MIGRATE', '127.0.0.1', String(to.port), moved, '0', '5000');
      await assert.rejects(home.write(batch, 2), /is being moved to another node/);
    }
    assert.deepEqual(await from.raw.keys(`{parts.${one}}`), [], 'nothing was made where it had gone from');
    await servers.endMove(slot, from, to);
    await written(() => home.write(batch, 2));
    assert.deepEqual(await rowsOf(home), [itemRow(2), itemRow(5_000)]);
  });

  it('S515: a master that is gone stops its own partitions alone; the others are looked at, claimed and written', async (t) => {
    const servers = shared();
    const store = await opened(t, servers, 'gone');
    await store.record(RECORD);
    const [one, other] = apart('gone');
    const [writer, beside] = [await Writer.of(store, one), await Writer.of(store, other)];
    await Promise.all([writer.write(5), beside.write(5)]);
    const before = await store.look(PARTITIONS.length);
    assert.equal(before.unseen?.size, 0);
    const gone = await servers.masterOf(ownKey('gone', one));
    await servers.kill(gone);
    await beside.write(5);
    const during = await store.look(PARTITIONS.length);
    assert.deepEqual(
      [...(during.unseen ?? [])].sort((a, b) => a - b),
      PARTITIONS.filter((partition) => rangeOf(ownKey('gone', partition)) === rangeOf(ownKey('gone', one))),
    );
    assert.deepEqual(during.guards[one], before.guards[one], 'as it was seen last');
    assert.ok((during.guards[other]?.seq ?? 0) > (before.guards[other]?.seq ?? 0));
    assert.deepEqual(during.record, RECORD);
    await assert.rejects(store.guards(PARTITIONS.length), isProblem('io'));
    await servers.restart();
    await writer.write(5);
    assert.equal((await store.look(PARTITIONS.length)).unseen?.size, 0);
    const next = await opened(t, servers, 'gone');
    await writer.isAllIn(next);
    await beside.isAllIn(next);
  });
});
