/** A real PostgreSQL that dies, that is followed by a standby, and that somebody meddles with. */
import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import type { ClusterStore } from '../../src/cluster/store/cluster-store.js';
import { openPostgresStore, type PostgresStoreOptions } from '../../src/cluster/store/postgres/postgres-store.js';
import { until } from '../cli/keyturn-process.js';
import { itemRow, puts } from '../local/journal/rows.js';
import { LossyProxy } from '../support/cluster/lossy-proxy.js';
import { RawPostgres } from '../support/cluster/raw-postgres.js';
import { needs } from '../support/needed-program.js';
import { POSTGRES, TestPostgres } from '../support/postgres.js';
import { sharedPair, tried } from './postgres-scene.js';
import { claim, isProblem, rowsOf } from './store-place.js';

/** For those that wait for a server that is gone: whoever tries again tries until it is there, ms. */
const DEADLINE = 1_500;

/** Tests of one server have clusters of their own. */
const clusterOf = ({ name }: TestContext) => name.slice(0, 'S000'.length);

async function opened(t: TestContext, url: string, more: Partial<PostgresStoreOptions> = {}): Promise<ClusterStore> {
  const store = await openPostgresStore(url, {
    cluster: clusterOf(t),
    deadline: DEADLINE,
    startDeadline: 60_000,
    ...more,
  });
  t.after(() => store.close());
  return store;
}

describe('bad days of a real PostgreSQL', needs([POSTGRES]), () => {
  const pair = sharedPair();

  it('S504: killed and started again it has what was answered; that is no failover', async (t) => {
    const postgres = await TestPostgres.start(t);
    const store = await opened(t, postgres.url);
    let failovers = 0;
    store.onFailover = () => (failovers += 1);
    const home = store.open(await claim(store));
    await home.write(puts([itemRow(1)]), 1);
    await postgres.kill();
    await assert.rejects(home.write(puts([itemRow(2)]), 2), isProblem('io'));
    await postgres.start();
    await tried(() => home.write(puts([itemRow(2)]), 2));
    assert.deepEqual(await tried(() => rowsOf(home)), [itemRow(1), itemRow(2)]);
    assert.equal(failovers, 0);
  });

  it('S506: a wait for the standby that somebody cancels is no answer: the batch is sent again', async (t) => {
    const { primary, link } = pair();
    const store = await opened(t, primary.url);
    const home = store.open(await claim(store));
    await home.write(puts([itemRow(1)]), 1);
    const raw = await RawPostgres.connect(t, primary.url);
    const waiting = async () => raw.ask(`SELECT pid FROM pg_stat_activity WHERE wait_event = 'SyncRep'`);
    for (const [seq, end] of [
      [2, 'pg_cancel_backend'],
      [3, 'pg_terminate_backend'],
    ] as const) {
      link.cut = 'both';
      const writing = assert.rejects(home.write(puts([itemRow(seq)]), seq), isProblem('io'));
      await until('it waits for the standby', async () => (await waiting()).length > 0);
      await raw.ask(`SELECT ${end}(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'`);
      await writing;
      // It is there, but only here: who sends it again waits for the standby as the first did.
      const again = tried(() => home.write(puts([itemRow(seq)]), seq));
      await until('it waits again', async () => (await waiting()).length > 0);
      link.cut = undefined;
      link.drop();
      await again;
    }
    assert.deepEqual(await tried(() => rowsOf(home)), [itemRow(1), itemRow(2), itemRow(3)]);
  });

  it('S507: replicas 0 waits for no standby', async (t) => {
    const { primary, link, follows } = pair();
    link.cut = 'both';
    const store = await opened(t, primary.url, { replicas: 0 });
    const home = store.open(await claim(store));
    await home.write(puts([itemRow(1)]), 1);
    assert.deepEqual(await rowsOf(home), [itemRow(1)]);
    // As the others need it.
    link.cut = undefined;
    link.drop();
    await follows();
  });

  it('S508: of several servers the one that takes writes is found, wherever it stands', async (t) => {
    const { primary, standby } = pair();
    const both = (...ports: readonly number[]) =>
      `postgres://owner@${ports.map((port) => `127.0.0.1:${port}`).join(',')}/postgres`;
    const store = await opened(t, both(standby.port, primary.port), { deadline: 10_000 });
    await claim(store);
    await assert.rejects(
      openPostgresStore(both(standby.port), { cluster: 'c' }),
      /is a standby, which takes no writes/,
    );
  });

  it('S556: a primary that comes back as one after its standby has taken over is not used', async (t) => {
    const primary = await TestPostgres.start(t);
    const standby = await primary.standby(t, 's1');
    const url = `postgres://owner@127.0.0.1:${primary.port},127.0.0.1:${standby.port}/postgres`;
    const store = await opened(t, url);
    let failovers = 0;
    store.onFailover = () => (failovers += 1);
    const claimed = await claim(store);
    const home = store.open(claimed);
    await home.write(puts([itemRow(1)]), 1);
    await followed(t, primary);
    await primary.kill();
    await standby.promote();
    await tried(() => home.write(puts([itemRow(2)]), 2));
    await primary.start();
    const raw = await RawPostgres.connect(t, standby.url);
    await raw.ask(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'keyturn'`);
    await tried(() => home.write(puts([itemRow(3)]), 3));
    assert.equal(failovers, 1);
    // One that begins, and has seen neither.
    const next = await opened(t, url);
    const taken = await claim(next, { member: 'b', expected: claimed.guard.owner });
    assert.deepEqual(await rowsOf(next.open(taken)), [itemRow(1), itemRow(2), itemRow(3)]);
    // The new one is gone, too: nothing is written into the past.
    await standby.kill();
    await until('it is told why', async () => {
      const told = await next.look(4).then(
        () => 'read',
        ({ message }: Error) => message,
      );
      assert.notEqual(told, 'read');
      return /another server has taken over from it: stop it, or let it follow that one/.test(told);
    });
  });

  it('S557: of connections that a server leaves behind silent one is waited for, not one after the other', async (t) => {
    const postgres = await TestPostgres.start(t);
    const proxy = await LossyProxy.start(t, postgres.port);
    const store = await opened(t, `postgres://owner@127.0.0.1:${proxy.port},127.0.0.1:${postgres.port}/postgres`);
    const raw = await RawPostgres.connect(t, postgres.url);
    const sessions = `SELECT 1 FROM pg_stat_activity WHERE application_name = 'keyturn'`;
    await until('there are many connections', async () => {
      await Promise.all(Array.from({ length: 100 }, () => store.look(4)));
      return (await raw.ask(sessions)).length >= 6;
    });
    proxy.cut = 'both';
    let failed = 0;
    await until('it is asked by another way', () =>
      store.look(4).then(
        () => true,
        () => {
          failed += 1;
          return false;
        },
      ),
    );
    assert.ok(failed <= 2, `${failed} looks were not answered`);
  });

  // The last one: it kills the primary of the pair that others use.
  it('S505: a batch waits for the standby; when home and primary die together nothing that was answered is lost', async (t) => {
    const { primary, standby, url } = pair();
    await (await openPostgresStore(url, { cluster: clusterOf(t), replicas: 1 })).close();
    const store = await opened(t, url);
    let failovers = 0;
    store.onFailover = () => (failovers += 1);
    const claimed = await claim(store);
    const home = store.open(claimed);
    const rows = Array.from({ length: 50 }, (_, at) => itemRow(at));
    for (const row of rows) await home.write(puts([row]), 1);
    await primary.kill();
    await standby.promote();
    // Another sidecar, as the first is dead.
    const next = await opened(t, url);
    const taken = await claim(next, { member: 'b', expected: claimed.guard.owner });
    assert.deepEqual(await rowsOf(next.open(taken)), rows);
    assert.ok(taken.guard.epoch > claimed.guard.epoch);
    // The first was not dead: it is told that there is another home, and that the server is another one.
    await until('the old home is told', async () => {
      const outcome = await home.write(puts([itemRow(99)]), 9).then(
        () => 'written',
        (error: Error) => error.message,
      );
      assert.notEqual(outcome, 'written');
      return /another home/.test(outcome);
    });
    assert.equal(failovers, 1);
  });
});

/** The standby has what the primary has. */
async function followed(t: TestContext, primary: TestPostgres): Promise<void> {
  const raw = await RawPostgres.connect(t, primary.url);
  await until('the standby has all', async () => {
    const found = await raw.ask('SELECT 1 FROM pg_stat_replication WHERE replay_lsn = pg_current_wal_lsn()');
    return found.length > 0;
  });
}
