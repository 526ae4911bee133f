/** A PostgreSQL whose roles have settings of their own: a session says for itself what it needs. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { openPostgresStore } from '../../src/cluster/store/postgres/postgres-store.js';
import { until } from '../cli/keyturn-process.js';
import { itemRow, puts } from '../local/journal/rows.js';
import { RawPostgres } from '../support/cluster/raw-postgres.js';
import { needs } from '../support/needed-program.js';
import { POSTGRES } from '../support/postgres.js';
import { postgresPair, written } from './postgres-scene.js';
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
    await written(() => home.write(puts([itemRow(2)]), 2));
    assert.deepEqual(await rowsOf(home), [itemRow(1), itemRow(2)]);
  });
});
