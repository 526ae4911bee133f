/** The server over TLS: every call, both kinds of clients, who is turned away, and certificates that are replaced. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { connect as connectHttp2, constants } from 'node:http2';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, type TestContext, test } from 'node:test';
import { type ConnectionOptions, connect as connectTls, type TLSSocket } from 'node:tls';
import {
  connect,
  type Keyturn,
  type KeyturnError,
  type KeyturnOptions,
  TlsError,
  type TlsOptions,
} from '@keyturn/client';
import { RefusedHandshakes } from '../../../src/grpc/server/refused-handshakes.js';
import { type Certificates, TlsCredentials } from '../../../src/grpc/server/tls-credentials.js';
import { writeCertificates } from '../../support/certificate-files.js';
import { rsaPair } from '../../support/certificates.js';
import { deferred } from '../../support/deferred.js';
import { localCoordinator } from '../../support/local-coordinator.js';
import { beginSession, commands } from '../../support/session-client.js';
import { type Sidecar, startSidecar } from '../../support/sidecar.js';
import { FakeSession } from '../fake-coordinator.js';

const folder = mkdtempSync(join(tmpdir(), 'keyturn-tls-'));
const file = (name: string) => join(folder, name);
const bytes = (name: string) => readFileSync(file(name));

before(() => writeCertificates(folder));
after(() => rmSync(folder, { recursive: true }));

function certificates(name: string, clientCa?: string): Certificates {
  return { cert: bytes(`${name}.pem`), key: bytes(`${name}.key`), clientCa: clientCa ? bytes(clientCa) : undefined };
}

const TRUSTING = (): TlsOptions => ({ ca: file('ca.pem') });
const SHOWING = (name = 'client'): TlsOptions => ({
  ca: file('ca.pem'),
  cert: file(`${name}.pem`),
  key: file(`${name}.key`),
});

function sidecar(t: TestContext, server: Certificates, client = TRUSTING(), listen = '127.0.0.1:0'): Promise<Sidecar> {
  const coordinator = localCoordinator(t, { policy: { waitingPerKey: 'unlimited' } });
  return startSidecar(t, coordinator, { listen, tls: { server, client } });
}

function client(t: TestContext, address: string, options: KeyturnOptions): Keyturn {
  const made = connect(address, options);
  t.after(() => made.close());
  return made;
}

async function refusalOf(asked: Promise<unknown>): Promise<KeyturnError> {
  return asked.then(
    () => assert.fail('it was answered'),
    (error: KeyturnError) => error,
  );
}

/** Each call of a worker and each of people, once. */
async function everyCall(keyturn: Keyturn): Promise<void> {
  const first = await keyturn.enQueue({ queue: 'q', key: 'k' });
  assert.ok(first.decision === 'accept');
  const { token } = first.turn;
  assert.equal((await keyturn.renew({ turns: [{ queue: 'q', key: 'k', token }] })).results.length, 1);
  assert.equal((await keyturn.admin.explainKey('q', 'k')).state, 'PROCESS');
  await keyturn.deQueue({ queue: 'q', key: 'k', token });
  const items = ['a', 'b', 'c'].map((key) => ({ key, payload: Buffer.from(key), itemId: key }));
  assert.equal((await keyturn.submit({ queue: 'w', items })).results.length, 3);
  const {
    deliveries: [one, two],
  } = await keyturn.acquire({ queues: ['w'], maxTurns: 2 });
  assert.ok(one !== undefined && two !== undefined);
  const next = { queues: ['w'], maxTurns: 1 };
  const result = Buffer.from('done');
  const acked = await keyturn.ack({ queue: 'w', key: one.turn.key, token: one.turn.token, result, next });
  assert.equal(acked.next?.deliveries.length, 1);
  await keyturn.nack({ queue: 'w', key: two.turn.key, token: two.turn.token, kind: 'dead_letter', error: 'no' });
  assert.equal(Buffer.from((await keyturn.result('w', 'a')) ?? []).toString(), 'done');
  assert.equal((await keyturn.awaitItem({ queue: 'w', itemId: 'b' })).state, 'dead');
  assert.equal((await keyturn.admin.listDeadLetters({ queue: 'w' })).deadLetters.length, 1);
  assert.equal(await keyturn.admin.redrive({ queue: 'w' }), 1);
  await keyturn.admin.pauseQueue('w');
  await keyturn.admin.resumeQueue('w');
  assert.deepEqual((await keyturn.admin.listQueues()).queues.map(({ name }) => name).sort(), ['q', 'w']);
}

const CALLERS: Readonly<Record<string, { server(): Certificates; client(): TlsOptions }>> = {
  'a client without a certificate': { server: () => certificates('server'), client: TRUSTING },
  'a client with one (mutual TLS)': { server: () => certificates('server', 'ca.pem'), client: () => SHOWING() },
};

for (const [who, caller] of Object.entries(CALLERS)) {
  for (const transport of ['session', 'unary'] as const) {
    test(`every call of ${who}, ${transport}`, async (t) => {
      const { address } = await sidecar(t, caller.server(), caller.client());
      await everyCall(client(t, address, { transport, tls: caller.client() }));
    });
  }
}

test('all of 200 calls at once on one connection are answered', async (t) => {
  const { client: keyturn } = await sidecar(t, certificates('server'));
  const keys = Array.from({ length: 200 }, (_, at) => `k${at}`);
  const answers = await Promise.all(keys.map((key) => keyturn.enQueue({ queue: 'q', key, wait: 0 })));
  assert.ok(answers.every(({ decision }) => decision === 'accept'));
});

test('events are watched over TLS', async (t) => {
  const { client: keyturn } = await sidecar(t, certificates('server'));
  const watched = keyturn.admin.watchEvents('q');
  const first = watched.next();
  // Whether the watch has begun nobody tells: one of these is seen.
  let seen = false;
  void first.then(() => {
    seen = true;
  });
  while (!seen) await keyturn.enQueue({ queue: 'q', key: 'k', wait: 0 });
  assert.ok(!(await first).done);
  await watched.return(undefined);
});

test('a Unix socket has TLS too, for the name localhost', async (t) => {
  const { client: keyturn } = await sidecar(t, certificates('server'), TRUSTING(), `unix:${file('k.sock')}`);
  assert.deepEqual((await keyturn.admin.listQueues()).queues, []);
});

describe('who is turned away', () => {
  test('a client without a certificate, where one is demanded', async (t) => {
    const { client: keyturn, log } = await sidecar(t, certificates('server', 'ca.pem'), TRUSTING());
    const error = await refusalOf(keyturn.admin.listQueues());
    assert.equal(error.code, 'UNAVAILABLE');
    assert.match(error.message, /certificate of the client/);
    assert.deepEqual(
      log.map(({ level, fields, message }) => [level, fields['reason'], message]),
      [['warn', 'peer did not return a certificate', 'a connection was refused by TLS']],
    );
  });

  for (const name of ['other-client', 'expired-client', 'server']) {
    test(`a client that shows ${name}.pem`, async (t) => {
      const { client: keyturn, observed } = await sidecar(t, certificates('server', 'ca.pem'), SHOWING(name));
      const error = await refusalOf(keyturn.admin.listQueues());
      assert.ok(error instanceof TlsError, `${error.name}: ${error.message}`);
      assert.match(error.message, /certificate of the client/);
      assert.deepEqual(observed, [], 'no call came through');
    });
  }

  test('TLS 1.1, and a protocol that is not HTTP/2', async (t) => {
    const { address } = await sidecar(t, certificates('server'));
    const old = { minVersion: 'TLSv1.1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT:@SECLEVEL=0' } as const;
    await assert.rejects(handshake(t, address, old), /alert|version|unsupported/i);
    const { alpnProtocol, protocol } = await handshake(t, address, { maxVersion: 'TLSv1.2', ALPNProtocols: ['h2'] });
    assert.deepEqual([alpnProtocol, protocol], ['h2', 'TLSv1.2']);
    await assert.rejects(handshake(t, address, { ALPNProtocols: ['http/1.1'] }), /alert|protocol/i);
  });
});

test('TLS 1.2 without forward secrecy is refused, with it is not', async (t) => {
  const { cert, key } = await rsaPair();
  const pair = { cert: Buffer.from(cert), key: Buffer.from(key), clientCa: undefined };
  const { address } = await sidecar(t, pair);
  const old = { maxVersion: 'TLSv1.2', rejectUnauthorized: false, ALPNProtocols: ['h2'] } as const;
  for (const ciphers of ['AES128-GCM-SHA256', 'AES256-SHA', 'ECDHE-RSA-AES128-SHA']) {
    await assert.rejects(
      handshake(t, address, { ...old, ciphers: `${ciphers}:@SECLEVEL=0` }),
      /alert|cipher/i,
      ciphers,
    );
  }
  const { protocol } = await handshake(t, address, { ...old, ciphers: 'ECDHE-RSA-AES128-GCM-SHA256' });
  assert.equal(protocol, 'TLSv1.2');
});

async function handshake(
  t: TestContext,
  address: string,
  options: ConnectionOptions,
): Promise<TLSSocket & { protocol: string | null }> {
  const [host = '', port] = address.split(':');
  const socket = connectTls({ host, port: Number(port), ca: bytes('ca.pem'), ...options });
  t.after(() => socket.destroy());
  await once(socket, 'secureConnect');
  return Object.assign(socket, { protocol: socket.getProtocol() });
}

describe('certificates that are replaced', () => {
  const shownBy = async (t: TestContext, address: string) =>
    (await handshake(t, address, { ALPNProtocols: ['h2'] })).getPeerCertificate().subject.CN;

  test('new connections get the new one, and a session lives on with its turn', async (t) => {
    const { address, server } = await sidecar(t, certificates('server'));
    const keyturn = client(t, address, { tls: TRUSTING() });
    const told = deferred();
    const outcome = keyturn.withTurn('q', 'k', async ({ signal }) => {
      assert.equal(await shownBy(t, address), 'server');
      server.useCertificates(certificates('renewed'));
      assert.equal(await shownBy(t, address), 'renewed');
      await keyturn.enQueue({ queue: 'q', key: 'other', wait: 0 });
      assert.equal(signal.aborted, false);
      told.resolve();
      return 'done';
    });
    await told.promise;
    assert.equal((await outcome).status, 'done');
    assert.deepEqual(
      await client(t, address, { tls: TRUSTING() })
        .admin.listQueues()
        .then(({ queues }) => queues.length),
      1,
    );
  });

  test('other authorities of clients: who was let in stays, who comes now is asked for the new ones', async (t) => {
    const { address, server } = await sidecar(t, certificates('server', 'ca.pem'), SHOWING());
    const old = client(t, address, { tls: SHOWING() });
    await old.enQueue({ queue: 'q', key: 'k', wait: 0 });
    server.useCertificates(certificates('server', 'other-ca.pem'));
    await old.enQueue({ queue: 'q', key: 'l', wait: 0 });
    const refused = client(t, address, { tls: SHOWING() });
    assert.ok((await refusalOf(refused.enQueue({ queue: 'q', key: 'm', wait: 0 }))) instanceof TlsError);
    const foreign = client(t, address, { tls: SHOWING('other-client') });
    assert.equal((await foreign.enQueue({ queue: 'q', key: 'n', wait: 0 })).decision, 'accept');
  });

  test('who resumes a session of TLS is asked again after a change', async (t) => {
    const { address, server } = await sidecar(t, certificates('server', 'ca.pem'), SHOWING());
    const shown = { cert: bytes('client.pem'), key: bytes('client.key'), maxVersion: 'TLSv1.2' } as const;
    const first = await handshake(t, address, { ...shown, ALPNProtocols: ['h2'] });
    const session = first.getSession();
    const resumed = await handshake(t, address, { ...shown, session, ALPNProtocols: ['h2'] });
    assert.equal(resumed.isSessionReused(), true);
    server.useCertificates(certificates('server', 'other-ca.pem'));
    await assert.rejects(
      handshake(t, address, { ...shown, session, ALPNProtocols: ['h2'] }),
      /disconnected|ECONNRESET/,
    );
    const other = { cert: bytes('other-client.pem'), key: bytes('other-client.key'), maxVersion: 'TLSv1.2' } as const;
    assert.equal((await handshake(t, address, { ...other, session, ALPNProtocols: ['h2'] })).isSessionReused(), false);
  });

  test('TLS 1.1 stays out', async (t) => {
    const { address, server } = await sidecar(t, certificates('server'));
    server.useCertificates(certificates('renewed'));
    const old = { minVersion: 'TLSv1.1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT:@SECLEVEL=0' } as const;
    await assert.rejects(handshake(t, address, old), /alert|version|unsupported/i);
  });

  test('the oldest version is said in every context, whatever OpenSSL would allow', () => {
    const credentials = new TlsCredentials(certificates('server'));
    assert.equal(credentials._getSecureContextOptions()?.minVersion, 'TLSv1.2');
    credentials.use(certificates('renewed'));
    assert.equal(credentials._getSecureContextOptions()?.minVersion, 'TLSv1.2');
  });

  test('a server that began without TLS has none to replace', async (t) => {
    const { server } = await startSidecar(t, localCoordinator(t));
    assert.throws(() => server.useCertificates(certificates('server')), /started without TLS/);
  });
});

describe('the bounds of the transport hold over TLS', () => {
  test('headers beyond 16 KiB end their own call only', async (t) => {
    const { address } = await sidecar(t, certificates('server'));
    const session = connectHttp2(`https://${address}`, { ca: bytes('ca.pem') });
    t.after(() => session.destroy());
    await once(session, 'remoteSettings');
    await new Promise((resolve) => session.ping(resolve));
    const stream = session.request({ ':method': 'POST', ':path': '/x', 'x-large': 'v'.repeat(40_000) });
    stream.end();
    stream.once('response', () => stream.destroy(new Error('they were accepted')));
    const [error] = await once(stream, 'error');
    assert.match(error.message, /NGHTTP2_ENHANCE_YOUR_CALM/);
    assert.equal(session.destroyed, false);
  });

  test('a message over 4 MiB is refused, and the connection lives', async (t) => {
    const { client: keyturn } = await sidecar(t, certificates('server'));
    const payload = Buffer.alloc(1_048_576);
    const items = Array.from({ length: 4 }, (_, index) => ({ key: `${index}`, payload }));
    assert.equal((await refusalOf(keyturn.submit({ queue: 'q', items }))).code, 'RESOURCE_EXHAUSTED');
    assert.deepEqual((await keyturn.admin.listQueues()).queues, []);
  });

  test('a client that never reads its answers is cut off', async (t) => {
    const session = new FakeSession();
    const answer = { state: 'done', result: Buffer.alloc(100_000), error: undefined, attempt: 1 } as const;
    session.awaitItem = (_, reply) => void reply.answer(answer) as undefined;
    const limits = { unsentBytes: 1_000_000, unreadFor: 200 };
    const tls = { server: certificates('server'), client: TRUSTING() };
    const { address } = await startSidecar(t, session.coordinator(), { limits, tls });
    const connection = connectHttp2(`https://${address}`, { ca: bytes('ca.pem') });
    t.after(() => connection.destroy());
    const deaf = beginSession(connection, ...Array.from({ length: 500 }, () => commands.awaitItem('now')));
    await new Promise((resolve) => deaf.once('close', resolve));
    assert.equal(deaf.rstCode, constants.NGHTTP2_ENHANCE_YOUR_CALM);
    assert.equal(session.closed, 1);
  });

  test('900 calls that are cancelled do not end those beside them', async (t) => {
    const { client: keyturn } = await sidecar(t, certificates('server'));
    await keyturn.enQueue({ queue: 'q', key: 'k', lease: 600_000 });
    const innocent = new AbortController();
    const waits = [innocent, ...Array.from({ length: 900 }, () => new AbortController())];
    const asked = waits.map(({ signal }) =>
      keyturn.enQueue({ queue: 'q', key: 'k', wait: 60_000 }, { signal }).catch(({ code }: KeyturnError) => code),
    );
    const waiting = async () => (await keyturn.admin.explainKey('q', 'k')).waitingCallers;
    while ((await waiting()) < 901);
    for (const wait of waits) if (wait !== innocent) wait.abort();
    while ((await waiting()) > 1);
    innocent.abort();
    assert.deepEqual(new Set(await Promise.all(asked)), new Set(['CANCELLED']));
  });

  test('a stop ends streams and connections', async (t) => {
    const { address, server } = await sidecar(t, certificates('server'));
    const keyturn = client(t, address, { tls: TRUSTING() });
    await keyturn.enQueue({ queue: 'q', key: 'k', wait: 0 });
    await server.stop(5_000);
    await assert.rejects(handshake(t, address, {}), /ECONNREFUSED/);
  });

  test('forceStop ends what says nothing', async (t) => {
    const { address, server } = await sidecar(t, certificates('server'));
    const socket = await handshake(t, address, { ALPNProtocols: ['h2'] });
    const closed = once(socket.on('error', () => {}).resume(), 'close');
    server.forceStop();
    await closed;
  });
});

test('a refused handshake is told, more within a second are counted', () => {
  const lines: unknown[] = [];
  const warn = (fields: object, message: string) => void lines.push([fields, message]);
  let now = 0;
  const refused = new RefusedHandshakes({ info: warn, warn, error: warn }, () => now);
  refused.report(new Error('00AB:error:0A:SSL routines:ssl3:no shared cipher:file.c:1:\n'), '10.0.0.1');
  for (now = 1; now < 1_000; now += 1) refused.report(new Error('socket hang up'), '10.0.0.2');
  refused.report(new Error('socket hang up'), '10.0.0.3');
  assert.deepEqual(lines, [
    [{ peer: '10.0.0.1', reason: 'no shared cipher' }, 'a connection was refused by TLS'],
    [{ peer: '10.0.0.3', reason: 'socket hang up', untold: 999 }, 'a connection was refused by TLS'],
  ]);
});
