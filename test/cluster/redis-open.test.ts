/** What keeps a Redis from being the store of a cluster is told when it is opened: what is wrong, and what to do. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { openRedisRegistry } from '../../src/cluster/registry/redis/redis-registry.js';
import { openRedisStore } from '../../src/cluster/store/redis/redis-store.js';
import { JournalError, type JournalProblem } from '../../src/local/journal/journal.js';
import { writeCertificates } from '../support/certificate-files.js';
import { RawRedis } from '../support/cluster/raw-redis.js';
import { needs } from '../support/needed-program.js';
import { NodeProcess } from '../support/node-process.js';
import { REDIS, TestRedis } from '../support/redis.js';
import { sharedRedis } from './redis-scene.js';

const OPTIONS = { cluster: 'keyturn', startDeadline: 1_000 } as const;

describe('opening a store in Redis', needs([REDIS]), () => {
  const redis = sharedRedis(['--requirepass', 'geheim']);
  const at = (rest: string) => `redis://${rest.replace('HERE', `127.0.0.1:${redis().port}`)}`;

  const refused: readonly {
    readonly what: string;
    readonly url: () => string;
    readonly problem: JournalProblem;
    readonly says: RegExp;
  }[] = [
    { what: 'another scheme', url: () => 'http://localhost', problem: 'unfit', says: /has the form redis:\/\/\[USER/ },
    { what: 'no host', url: () => 'redis://', problem: 'unfit', says: /has the form redis:\/\/|names no host/ },
    { what: 'no address', url: () => 'localhost', problem: 'unfit', says: /has the form redis:\/\// },
    { what: 'a database that is no number', url: () => at(':geheim@HERE/x'), problem: 'unfit', says: /database "x"/ },
    {
      what: 'something behind it',
      url: () => at(':geheim@HERE/0?a=geheim'),
      problem: 'unfit',
      says: /is followed by \?/,
    },
    { what: 'a broken escape', url: () => at('u:%zz@HERE'), problem: 'unfit', says: /write %25/ },
    { what: 'no password', url: () => at('HERE'), problem: 'unfit', says: /wants a password, and none is given/ },
    { what: 'a wrong password', url: () => at(':secret@HERE'), problem: 'unfit', says: /refuses user or password/ },
    { what: 'a wrong user', url: () => at('eve:geheim@HERE'), problem: 'unfit', says: /refuses user or password/ },
    {
      what: 'a database that is not there',
      url: () => at(':geheim@HERE/99'),
      problem: 'unfit',
      says: /no database 99/,
    },
    {
      what: 'a machine that is not there',
      url: () => 'redis://no.such.host.invalid',
      problem: 'io',
      says: /no machine is known as/,
    },
    {
      what: 'a port where nobody listens',
      url: () => 'redis://127.0.0.1:1',
      problem: 'io',
      says: /nothing listens there/,
    },
    {
      what: 'TLS where there is none',
      url: () => at(':geheim@HERE').replace('redis:', 'rediss:'),
      problem: 'io',
      says: /TLS/,
    },
  ];
  for (const { what, url, problem, says } of refused) {
    it(`is refused for ${what}, without a password in the text`, async () => {
      for (const open of [openRedisStore, openRedisRegistry]) {
        await assert.rejects(open(url(), OPTIONS), (error: unknown) => {
          assert.ok(error instanceof JournalError, String(error));
          assert.match(error.message, says);
          assert.equal(error.problem, problem, error.message);
          assert.doesNotMatch(error.message, /geheim|secret|zz/);
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
    const opening = openRedisStore(`redis://127.0.0.1:${address.port}`, {
      ...OPTIONS,
      deadline: 50,
      startDeadline: 50,
    });
    await assert.rejects(opening, /no answer within 50 ms .*a port with TLS wants rediss:/);
  });

  it('shows no user and no password in its name', async (t) => {
    const store = await openRedisStore(at('default:geheim@HERE/3'), OPTIONS);
    t.after(() => store.close());
    assert.equal(store.name, `redis://127.0.0.1:${redis().port}/3`);
  });

  it('is refused for a name of the cluster that would not stand in keys', async () => {
    await assert.rejects(openRedisStore(at(':geheim@HERE'), { cluster: 'a b}' }), /cannot be called "a b}"/);
  });

  it('is refused for a user without a right, which is named', async (t) => {
    const raw = await RawRedis.connect(t, redis().port, 'geheim');
    const rights = '+@all ~{keyturn.* ~keyturn:*';
    for (const command of ['evalsha', 'hset', 'wait', 'smembers', 'info', 'get', 'expire']) {
      await raw.ask('ACL', 'SETUSER', 'worker', 'reset', 'on', '>pass', ...rights.split(' '), `-${command}`);
      await assert.rejects(openRedisStore(at('worker:pass@HERE'), OPTIONS), (error: unknown) => {
        assert.ok(error instanceof JournalError, String(error));
        assert.equal(error.problem, 'unfit');
        assert.match(error.message, new RegExp(`worker of .* may not run ${command.toUpperCase()} .*\\+${command}`));
        return true;
      });
    }
    await raw.ask('ACL', 'SETUSER', 'worker', 'reset', 'on', '>pass', '+@all', '~other:*');
    await assert.rejects(openRedisStore(at('worker:pass@HERE'), OPTIONS), /may not use the keys .*~\{keyturn\.\*/);
    await raw.ask('ACL', 'SETUSER', 'worker', 'reset', 'on', '>pass', ...rights.split(' '));
    const store = await openRedisStore(at('worker:pass@HERE'), OPTIONS);
    t.after(() => store.close());
    assert.equal((await store.claim({ partition: 0, expected: '', member: 'a', floor: 1, format: 1 })).claimed, true);
  });

  it('is refused for a policy that drops rows', async (t) => {
    const other = await TestRedis.start(t, ['--maxmemory-policy', 'allkeys-lru']);
    await assert.rejects(openRedisStore(other.url, OPTIONS), /maxmemory-policy allkeys-lru.*has to be noeviction/);
  });

  it('is refused for a replica, and its master is named', async (t) => {
    const replica = await TestRedis.start(t, ['--replicaof', '127.0.0.1', '1']);
    await assert.rejects(openRedisStore(replica.url, OPTIONS), /is a replica, which takes no writes: .*127\.0\.0\.1:1/);
  });

  it('works over TLS, with a certificate that is trusted, for its name', async (t) => {
    const folder = await mkdtemp(join(tmpdir(), 'keyturn-redis-tls-'));
    t.after(() => rm(folder, { recursive: true, force: true }));
    await writeCertificates(folder);
    const at = (file: string) => join(folder, file);
    const settings = [
      '--tls-cert-file',
      at('server.pem'),
      '--tls-key-file',
      at('server.key'),
      '--tls-ca-cert-file',
      at('ca.pem'),
    ];
    const secured = await TestRedis.start(t, (port) => [
      '--port',
      '0',
      '--tls-port',
      String(port),
      '--tls-auth-clients',
      'no',
      ...settings,
    ]);
    const opened = async (url: string, ca: string) => {
      const script = new URL('../support/cluster/open-store.js', import.meta.url);
      const process = new NodeProcess(t, script, { args: [url], env: { NODE_EXTRA_CA_CERTS: at(ca) } });
      return process.says(() => true);
    };
    const url = `rediss://127.0.0.1:${secured.port}`;
    const [trusted, unknown, plain] = await Promise.all([
      opened(url, 'ca.pem'),
      opened(url, 'other-ca.pem'),
      opened(secured.url, 'ca.pem'),
    ]);
    assert.deepEqual(trusted, { name: url, epoch: 0 });
    assert.match(String(unknown['error']), /TLS failed with .*NODE_EXTRA_CA_CERTS/);
    assert.match(String(plain['error']), /a port with TLS wants rediss:/);
  });
});
