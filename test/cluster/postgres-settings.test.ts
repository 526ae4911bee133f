/** A PostgreSQL whose roles have settings of their own: a session says for itself what it needs. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { describe, it, type TestContext } from 'node:test';
import { openPostgresStore } from '../../src/cluster/store/postgres/postgres-store.js';
import { until } from '../cli/keyturn-process.js';
import { itemRow, puts } from '../local/journal/rows.js';
import { RawPostgres } from '../support/cluster/raw-postgres.js';
import { needs } from '../support/needed-program.js';
import { POSTGRES, TestPostgres } from '../support/postgres.js';
import { postgresPair, tried } from './postgres-scene.js';
import { claim, isProblem, rowsOf } from './store-place.js';

/** What somebody may have said of a role, for reasons of their own. */
const SAID = [
  `client_min_messages = 'error'`,
  `idle_session_timeout = '200ms'`,
  `statement_timeout = '1ms'`,
  `lock_timeout = '1ms'`,
  `default_transaction_isolation = 'serializable'`,
  'default_transaction_read_only = on',
  `bytea_output = 'escape'`,
  'standard_conforming_strings = off',
  `search_path = ''`,
  'extra_float_digits = -15',
  'array_nulls = off',
  `synchronous_commit = 'off'`,
];

describe('a role with settings of its own', needs([POSTGRES]), () => {
  it('S614: a write that waits for longer than the transaction_timeout of the role is written', async (t) => {
    const postgres = await TestPostgres.start(t);
    const raw = await RawPostgres.connect(t, postgres.url);
    await raw.ask('CREATE ROLE keyturn LOGIN');
    await raw.ask('GRANT CREATE ON DATABASE postgres TO keyturn');
    // Since PostgreSQL 17.
    const [known] = await raw.ask(`SELECT 1 FROM pg_settings WHERE name = 'transaction_timeout'`);
    if (known !== undefined) await raw.ask(`ALTER ROLE keyturn SET transaction_timeout = '200ms'`);
    const url = `postgres://keyturn@127.0.0.1:${postgres.port}/postgres`;
    const store = await openPostgresStore(url, { cluster: 'c', deadline: 60_000, startDeadline: 60_000 });
    t.after(() => store.close());
    const home = store.open(await claim(store));
    const person = await RawPostgres.connect(t, postgres.url);
    await person.ask('BEGIN');
    await person.ask('LOCK TABLE keyturn.guards');
    const writing = home.write(puts([itemRow(1)]), 1);
    const waits = `SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND xact_start < now() - interval '600 ms'`;
    await Promise.race([writing, until('it waits for the lock', async () => (await raw.ask(waits)).length > 0)]);
    await person.ask('COMMIT');
    await writing;
    assert.deepEqual(await rowsOf(home), [itemRow(1)]);
  });

  it('S615: a session whose settings a pooler drops is refused at the start', async (t) => {
    const postgres = await TestPostgres.start(t);
    const port = await withoutOptions(t, postgres.port);
    await assert.rejects(openPostgresStore(`postgres://owner@127.0.0.1:${port}/postgres`, { cluster: 'c' }), {
      problem: 'unfit',
      message: /does not give a session the settings that it asks for, which a pooler does \(PgBouncer/,
    });
  });

  it('S550: a wait for the standby that somebody cancels is no answer, whatever the role has been set', async (t) => {
    const { primary, link } = await postgresPair(t);
    const raw = await RawPostgres.connect(t, primary.url);
    await raw.ask('CREATE ROLE keyturn LOGIN');
    await raw.ask('GRANT CREATE ON DATABASE postgres TO keyturn');
    for (const setting of SAID) await raw.ask(`ALTER ROLE keyturn SET ${setting}`);
    const url = `postgres://keyturn@127.0.0.1:${primary.port}/postgres`;
    const store = await openPostgresStore(url, { cluster: 'c', startDeadline: 60_000 });
    t.after(() => store.close());
    const home = store.open(await claim(store));
    await home.write(puts([itemRow(1)]), 1.5);
    const idle = `SELECT 1 FROM pg_stat_activity WHERE usename = 'keyturn' AND state = 'idle' AND state_change < now() - interval '400 ms'`;
    await until('a session is idle for longer than the role may', async () => (await raw.ask(idle)).length > 0);
    link.cut = 'both';
    const writing = assert.rejects(home.write(puts([itemRow(2)]), 2), isProblem('io'));
    const waiting = async () => raw.ask(`SELECT pid FROM pg_stat_activity WHERE wait_event = 'SyncRep'`);
    await until('it waits for the standby', async () => (await waiting()).length > 0);
    await raw.ask(`SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'`);
    await writing;
    link.cut = undefined;
    link.drop();
    await tried(() => home.write(puts([itemRow(2)]), 2));
    assert.deepEqual(await tried(() => rowsOf(home)), [itemRow(1), itemRow(2)]);
  });
});

/** As PgBouncer with `ignore_startup_parameters = options`. */
async function withoutOptions(t: TestContext, target: number): Promise<number> {
  const server = createServer((near) => {
    const far = connect(target, '127.0.0.1');
    t.after(() => near.destroy());
    for (const socket of [near, far]) socket.on('error', () => undefined);
    far.pipe(near);
    near.once('data', (first) => {
      const [, ...words] = first.subarray(7).toString('latin1').split('\0');
      const at = words.indexOf('options');
      const kept = Buffer.from([...words.slice(0, at), ...words.slice(at + 2)].join('\0'), 'latin1');
      const head = Buffer.from(first.subarray(0, 8));
      head.writeUInt32BE(head.length + kept.length);
      far.write(Buffer.concat([head, kept]));
      near.pipe(far);
    });
  });
  t.after(() => server.close());
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  return typeof address === 'object' && address !== null ? address.port : assert.fail('no port');
}
