/** What keeps a PostgreSQL from being the store of a cluster is told when it is opened: what is wrong, and what to do. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { describe, it, type TestContext } from 'node:test';
import { TLSSocket } from 'node:tls';
import { postgresAddress } from '../../src/cluster/postgres/address.js';
import { PostgresConnection } from '../../src/cluster/postgres/connection.js';
import { standbysIn } from '../../src/cluster/postgres/standbys.js';
import { openPostgresRegistry } from '../../src/cluster/registry/postgres/postgres-registry.js';
import { openPostgresStore } from '../../src/cluster/store/postgres/postgres-store.js';
import { systemClock } from '../../src/local/clock.js';
import { JournalError, type JournalProblem } from '../../src/local/journal/journal.js';
import { command } from '../cli/in-process.js';
import { until } from '../cli/keyturn-process.js';
import { itemRow, puts } from '../local/journal/rows.js';
import { Authority } from '../support/certificates.js';
import { LossyProxy } from '../support/cluster/lossy-proxy.js';
import { RawPostgres } from '../support/cluster/raw-postgres.js';
import { needs } from '../support/needed-program.js';
import { POSTGRES } from '../support/postgres.js';
import { sharedPostgres } from './postgres-scene.js';
import { claim, rowsOf } from './store-place.js';

const OPTIONS = { cluster: 'keyturn', startDeadline: 5_000 } as const;

describe('opening a store in PostgreSQL', needs([POSTGRES]), () => {
  const postgres = sharedPostgres(['password_encryption=scram-sha-256']);
  let databases = 0;
  /** A database of the test's own, without tables. */
  const fresh = async (t: TestContext) => {
    databases += 1;
    const name = `fresh_${databases}`;
    await (await RawPostgres.connect(t, postgres().url)).ask(`CREATE DATABASE ${name}`);
    return { name, url: at(`owner@HERE/${name}`) };
  };
  const at = (rest: string) => `postgres://${rest.replace('HERE', `127.0.0.1:${postgres().port}`)}`;

  const refused: readonly {
    readonly what: string;
    readonly url: () => string;
    readonly problem: JournalProblem;
    readonly says: RegExp;
    readonly replicas?: number;
  }[] = [
    { what: 'no database', url: () => at('HERE'), problem: 'unfit', says: /a database is named behind the hosts/ },
    {
      what: 'a database that is not there',
      url: () => at('owner@HERE/nothing'),
      problem: 'unfit',
      says: /has no database "nothing"/,
    },
    {
      what: 'a user that is not there',
      url: () => at('eve:geheim@HERE/postgres'),
      problem: 'unfit',
      says: /lets the user eve not in: role "eve" does not exist \(createuser makes one/,
    },
    {
      what: 'a machine that is not there',
      url: () => 'postgres://no.such.host.invalid/db',
      problem: 'io',
      says: /no machine is known as/,
    },
    {
      what: 'a port where nobody listens',
      url: () => 'postgres://127.0.0.1:1/db',
      problem: 'io',
      says: /nothing listens there/,
    },
    {
      what: 'several of which none is there',
      url: () => 'postgres://u:geheim@127.0.0.1:1,127.0.0.1:2/db',
      problem: 'io',
      says: /none of postgres:\/\/127\.0\.0\.1:1,127\.0\.0\.1:2\/db takes writes: .*127\.0\.0\.1:1 .*127\.0\.0\.1:2 .*nothing listens/,
    },
    {
      what: 'TLS where there is none',
      url: () => `${at('owner@HERE/postgres')}?sslmode=require`,
      problem: 'unfit',
      says: /does not speak TLS, and sslmode is require/,
    },
    {
      what: 'more standbys than it waits for',
      url: () => at('owner@HERE/postgres'),
      replicas: 1,
      problem: 'unfit',
      says: /cluster\.replicas is 1, but synchronous_standby_names of .* waits for 0/,
    },
  ];
  for (const { what, url, problem, says, replicas = 'auto' } of refused) {
    it(`is refused for ${what}, without a password in the text`, async () => {
      for (const open of [openPostgresStore, openPostgresRegistry]) {
        await assert.rejects(open(url(), { ...OPTIONS, replicas }), (error: unknown) => {
          assert.ok(error instanceof JournalError, String(error));
          assert.match(error.message, says);
          assert.equal(error.problem, problem, error.message);
          assert.doesNotMatch(error.message, /geheim/);
          return true;
        });
      }
    });
  }

  it('is refused for a server that answers nothing', async (t) => {
    const server = createServer((socket) => void t.after(() => socket.destroy()));
    server.listen(0, '127.0.0.1');
    t.after(() => server.close());
    await once(server, 'listening');
    const address = server.address();
    assert.ok(typeof address === 'object' && address !== null);
    const opening = openPostgresStore(`postgres://127.0.0.1:${address.port}/db`, {
      ...OPTIONS,
      deadline: 50,
      startDeadline: 50,
    });
    await assert.rejects(opening, /no answer within 50 ms/);
  });

  for (const [what, answer, says] of [
    [
      'that wants a Kerberos ticket',
      [0x52, 0, 0, 0, 8, 0, 0, 0, 7],
      /wants a way to log in that this version does not know/,
    ],
    ['that sends what is none of its messages', [0x54, 0, 0, 0, 6, 0, 9], /cannot be reached: .*out of range/],
  ] as const)
    for (const tls of [false, true])
      it(`S561: is refused for a server ${what}${tls ? ', over TLS' : ''}, and the process lives`, async (t) => {
        const port = await stranger(t, Buffer.from(answer), tls);
        const url = `postgres://u:geheim@127.0.0.1:${port}/db?sslmode=${tls ? 'require' : 'disable'}`;
        await assert.rejects(openPostgresStore(url, OPTIONS), says);
      });

  it('is refused for a PostgreSQL that loses what it has written when its machine fails', async (t) => {
    const raw = await RawPostgres.connect(t, postgres().url);
    const isSet = async (value: string) => {
      await raw.ask(`ALTER SYSTEM SET fsync = '${value}'`);
      await raw.ask('SELECT pg_reload_conf()');
      const found = () => raw.ask(`SELECT 1 FROM pg_settings WHERE name = 'fsync' AND setting = '${value}'`);
      await until('the server has read it', async () => (await found()).length > 0);
    };
    await isSet('off');
    await assert.rejects(openPostgresStore(postgres().url, OPTIONS), /has fsync = off, .*it has to be on/);
    await isSet('on');
  });

  it('S500: a wrong password is told, a right one is used, and neither is shown', async (t) => {
    const raw = await RawPostgres.connect(t, postgres().url);
    await raw.ask(`CREATE ROLE someone LOGIN PASSWORD 'ge:h@eim'`);
    await postgres().allow('host all someone 127.0.0.1/32 scram-sha-256');
    await raw.ask('GRANT CREATE ON DATABASE postgres TO someone');
    for (const wrong of ['someone:wrong', 'someone'])
      await assert.rejects(
        openPostgresStore(at(`${wrong}@HERE/postgres`), OPTIONS),
        /refuses the user someone or the password/,
      );
    const store = await openPostgresStore(at('someone:ge%3Ah%40eim@HERE/postgres'), OPTIONS);
    t.after(() => store.close());
    assert.equal(store.name, at('HERE/postgres'));
  });

  it('S563: who may have no more connections is told by whose limit', async (t) => {
    const raw = await RawPostgres.connect(t, postgres().url);
    await raw.ask('CREATE ROLE few LOGIN CONNECTION LIMIT 0');
    await assert.rejects(
      openPostgresStore(at('few@HERE/postgres'), OPTIONS),
      /lets nobody more in: too many connections for role "few"/,
    );
  });

  it('S501, S558: a user without rights is told what to run; with what that grants it is a sidecar, and no more', async (t) => {
    const { url: owned, name } = await fresh(t);
    const raw = await RawPostgres.connect(t, owned);
    await raw.ask('CREATE ROLE keyturn LOGIN');
    const url = at(`keyturn@HERE/${name}`);
    await assert.rejects(
      openPostgresStore(url, OPTIONS),
      /has no tables of Keyturn yet, .*keyturn store migrate --store ADDRESS --grant USER/,
    );
    const migrate = (...more: string[]) => command(['store', 'migrate', '--store', owned, ...more]);
    assert.match(
      (await migrate('--grant', 'nobody')).stderr,
      /does not know a name: role "nobody" does not exist \(createuser/,
    );
    assert.match(
      (await migrate('--grant', 'keyturn')).stdout,
      /are as they should be\nkeyturn has the rights of a sidecar/,
    );
    assert.match(
      (await command(['store', 'migrate', '--store', 'redis://127.0.0.1'])).stderr,
      /only that of PostgreSQL/,
    );
    assert.match((await command(['store', 'migrate'])).stderr, /store is missing/);
    await raw.ask('CREATE ROLE other LOGIN');
    const given = await command(['store', 'migrate', '--store', url, '--grant', 'other']);
    assert.match(
      given.stderr,
      /the user keyturn of postgres:.* may not give other the rights of a sidecar: no privileges were granted/,
    );
    assert.equal(given.stdout, '');
    const store = await openPostgresStore(url, OPTIONS);
    t.after(() => store.close());
    const home = store.open(await claim(store));
    await home.write(puts([itemRow(1)]), 1);
    await home.rewrite([[itemRow(2)]], 2);
    assert.deepEqual(await rowsOf(home), [itemRow(2)]);
    const registry = await openPostgresRegistry(url, OPTIONS);
    t.after(() => registry.close());
    assert.deepEqual(await registry.members(), []);
    const least = await RawPostgres.connect(t, url);
    await assert.rejects(least.ask('CREATE TABLE keyturn.mine (a int)'), /permission denied/);
    await assert.rejects(least.ask('DROP TABLE keyturn.guards'), /must be owner/);
  });

  it('S559: a schema that a person made for the user is enough', async (t) => {
    const { url, name } = await fresh(t);
    const raw = await RawPostgres.connect(t, url);
    await raw.ask('CREATE ROLE schemed LOGIN');
    await raw.ask('CREATE SCHEMA keyturn AUTHORIZATION schemed');
    const store = await openPostgresStore(at(`schemed@HERE/${name}`), OPTIONS);
    t.after(() => store.close());
    await claim(store);
  });

  it('S560: several statements at once have a deadline as one has', async (t) => {
    const proxy = await LossyProxy.start(t, postgres().port);
    const address = postgresAddress(`postgres://owner@127.0.0.1:${proxy.port}/postgres`);
    const [host] = address.hosts;
    assert.ok(host);
    const patience = { deadline: 200, clock: systemClock };
    const connection = await PostgresConnection.open(address, host, patience, 60_000);
    t.after(() => connection.destroy());
    proxy.cut = 'both';
    await assert.rejects(connection.script('SELECT 1; SELECT 2'), /did not answer within 200 ms/);
    assert.equal(connection.isOpen, false);
  });

  it('S502: of many sidecars that begin at once one makes the tables, and says so', async (t) => {
    // Which of them looks before, behind and beside the lock is up to chance.
    for (let round = 0; round < 8; round += 1) {
      const { url } = await fresh(t);
      let made = 0;
      const opened = await Promise.allSettled(
        Array.from({ length: 6 }, () =>
          openPostgresStore(url, { ...OPTIONS, startDeadline: 60_000, deadline: 60_000, made: () => (made += 1) }),
        ),
      );
      for (const one of opened) if (one.status === 'fulfilled') await one.value.close();
      const failed = opened.flatMap((one) => (one.status === 'rejected' ? [String(one.reason)] : []));
      assert.deepEqual([failed, made], [[], 1]);
    }
  });

  it('S503: tables of a later version are left alone', async (t) => {
    const { url } = await fresh(t);
    await (await openPostgresStore(url, OPTIONS)).close();
    const raw = await RawPostgres.connect(t, url);
    await raw.ask('UPDATE keyturn.schema_version SET version = 99');
    await assert.rejects(openPostgresStore(url, OPTIONS), /are of version 99, and this sidecar knows 1/);
  });
});

/** Says this to whatever it is told first. @returns its port */
async function stranger(t: TestContext, answer: Buffer, tls: boolean): Promise<number> {
  const { cert, key } = await (await Authority.make('an authority')).issue({ name: 'stranger', use: 'server' });
  const server = createServer((socket) => {
    t.after(() => socket.destroy());
    socket.once('data', () => {
      if (!tls) return socket.write(answer);
      socket.write('S');
      const secure = new TLSSocket(socket, { isServer: true, cert, key });
      secure.on('error', () => undefined);
      return secure.once('data', () => secure.write(answer));
    });
    socket.on('error', () => undefined);
  });
  server.listen(0, '127.0.0.1');
  t.after(() => server.close());
  await once(server, 'listening');
  const address = server.address();
  assert.ok(typeof address === 'object' && address !== null);
  return address.port;
}

describe('synchronous_standby_names', () => {
  for (const [setting, count] of [
    ['', 0],
    ['  ', 0],
    ['s1', 1],
    ['s1, s2', 1],
    ['*', 1],
    ['FIRST 2 (s1, s2, s3)', 2],
    ['ANY 1 (s1, s2)', 1],
    ['any 3 (*)', 3],
    ['2 (s1, s2)', 2],
  ] as const)
    it(`${JSON.stringify(setting)} waits for ${count}`, () => assert.equal(standbysIn(setting), count));
});
