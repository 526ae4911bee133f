/** TLS of the client: its options, and what is said when client and sidecar do not agree. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect as connectSocket, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, type TestContext, test } from 'node:test';
import { createServer as createTlsServer } from 'node:tls';
import { connect, type Keyturn, KeyturnError, type KeyturnOptions, TlsError, type TlsOptions } from '@keyturn/client';
import { connectionFailure } from '#client/wire/connection-failure';
import { DEFAULT_LIMITS } from '../../../src/core/contract/limits.js';
import { type GrpcServer, startGrpcServer } from '../../../src/grpc/server/server.js';
import { writeCertificates } from '../../support/certificate-files.js';
import { localCoordinator } from '../../support/local-coordinator.js';
import { stage } from './stage.js';

const folder = mkdtempSync(join(tmpdir(), 'keyturn-tls-'));
const file = (name: string) => join(folder, name);

before(() => writeCertificates(folder));
after(() => rmSync(folder, { recursive: true }));

async function sidecar(t: TestContext, name: string | undefined, listen = '127.0.0.1:0'): Promise<GrpcServer> {
  const pem = (end: string) => readFileSync(file(`${name}.${end}`));
  const server = await startGrpcServer({
    listen,
    coordinator: localCoordinator(t),
    limits: DEFAULT_LIMITS,
    observe: () => {},
    log: { info: () => {}, warn: () => {}, error: () => {} },
    certificates: name === undefined ? undefined : { cert: pem('pem'), key: pem('key'), clientCa: undefined },
  });
  t.after(() => server.forceStop());
  return server;
}

function client(t: TestContext, address: string, options: KeyturnOptions): Keyturn {
  const made = connect(address, options);
  t.after(() => made.close());
  return made;
}

const ask = (keyturn: Keyturn, timeout = 20_000) =>
  keyturn.enQueue({ queue: 'q', key: 'k', wait: 0 }, { timeout }).then(({ decision }) => decision);

describe('options', () => {
  test('files and bytes, an address and a name, and no warning of Node', async (t) => {
    const warnings: Error[] = [];
    const listen = (warning: Error) => void warnings.push(warning);
    process.on('warning', listen);
    t.after(() => process.off('warning', listen));
    const { address } = await sidecar(t, 'server');
    const named = address.replace('127.0.0.1', 'localhost');
    const bytes = new Uint8Array(readFileSync(file('ca.pem')));
    for (const [at, ca] of [
      [address, file('ca.pem')],
      [named, bytes],
    ] as const)
      assert.match(await ask(client(t, at, { tls: { ca } })), /accept|block/);
    assert.deepEqual(warnings, []);
  });

  test('the name of the server may be another than that of the address', async (t) => {
    const { address } = await sidecar(t, 'elsewhere');
    const tls = { ca: file('ca.pem'), serverName: 'elsewhere.example' };
    assert.equal(await ask(client(t, address, { tls })), 'accept');
  });

  test('false is no TLS', async (t) => {
    const { address } = await sidecar(t, undefined);
    assert.equal(await ask(client(t, address, { tls: false })), 'accept');
  });

  // biome-ignore format: a table, a row a line
  const WRONG: readonly (readonly [what: string, tls: () => unknown, message: RegExp])[] = [
    ['a word', () => 'yes', /^tls is yes; allowed is true, false, or an object with ca, cert, key, serverName$/],
    ['an unknown name', () => ({ servername: 'x' }), /^tls\.servername is not an option; allowed is/],
    ['an empty name of the server', () => ({ serverName: '' }), /^tls\.serverName is ""; needed is a text/],
    ['a certificate alone', () => ({ cert: file('client.pem') }), /^tls\.cert is given without tls\.key$/],
    ['a key alone', () => ({ key: file('client.key') }), /^tls\.key is given without tls\.cert$/],
    ['a file that is missing', () => ({ ca: '/nonexistent.pem' }), /^tls\.ca is "\/nonexistent\.pem"; allowed is the path or the bytes of certificates of authorities in PEM: ENOENT/],
    ['a folder', () => ({ ca: folder }), /^tls\.ca is .*: it is not a file$/],
    ['a file without an end', () => ({ ca: '/dev/zero' }), /^tls\.ca is "\/dev\/zero"; .*: it is not a file$/],
    ['a key in the place of a certificate', () => ({ ca: file('client.key') }), /^tls\.ca is .*: it has none$/],
    ['a certificate in the place of a key', () => ({ cert: file('client.pem'), key: file('client.pem') }), /^tls\.key is .*; allowed is .* private key in PEM, without a passphrase: it has none$/],
    ['a key of another certificate', () => ({ cert: file('client.pem'), key: file('server.key') }), /^tls\.cert is .*, tls\.key is .*; allowed are files in PEM that fit each other: key values mismatch$/],
    ['a damaged certificate', () => ({ ca: damaged() }), /^tls\.ca is .*; allowed is .*: one in it is damaged$/],
    ['a number', () => ({ ca: 7 }), /^tls\.ca is 7; allowed is .*: it is neither$/],
    ['the text of a key', () => ({ cert: file('client.pem'), key: readFileSync(file('client.key'), 'utf8') }), /^tls\.key is PEM text; allowed is .*: a text is taken for a path; give its bytes$/],
  ];
  for (const [what, tls, message] of WRONG) {
    test(`${what} is refused before anything connects`, () => {
      assert.throws(
        () => connect('127.0.0.1:1', { tls: tls() as TlsOptions }),
        (error: unknown) => {
          assert.ok(error instanceof KeyturnError);
          assert.equal(error.code, 'INVALID_ARGUMENT');
          assert.match(error.message, message);
          return true;
        },
      );
    });
  }
});

function damaged(): string {
  writeFileSync(file('damaged'), readFileSync(file('ca.pem'), 'utf8').replace(/M[\s\S]{20}/, 'AAAA'));
  return file('damaged');
}

const DISAGREEMENTS: Readonly<
  Record<string, readonly [server: string | undefined, tls: () => KeyturnOptions['tls'], told: RegExp]>
> = {
  'the authority is another': [
    'server',
    () => ({ ca: file('other-ca.pem') }),
    /certificate of the sidecar is not accepted: unable to verify.*\(option tls\.ca: the authority it must be of\)/,
  ],
  'the authority is none that Node knows': ['server', () => true, /certificate of the sidecar is not accepted/],
  'the certificate has ended': ['expired', () => ({ ca: file('ca.pem') }), /not accepted: certificate has expired$/],
  'the certificate is for another host': ['elsewhere', () => ({ ca: file('ca.pem') }), /altnames.*tls\.serverName/],
  'the sidecar has no TLS': [undefined, () => ({ ca: file('ca.pem') }), /the sidecar does not speak TLS/],
};

for (const [what, [server, tls, told]] of Object.entries(DISAGREEMENTS)) {
  for (const transport of ['session', 'unary'] as const) {
    test(`${what}: the first call says so at once, ${transport}`, async (t) => {
      const { address } = await sidecar(t, server);
      const keyturn = client(t, address, { transport, tls: tls() });
      await assert.rejects(ask(keyturn), (error: unknown) => {
        assert.ok(error instanceof TlsError, String(error));
        assert.equal(error.code, 'UNAVAILABLE');
        assert.match(error.message, told);
        return true;
      });
    });
  }
}

/** The first byte of a connection over TLS. */
const TLS_HANDSHAKE = 0x16;

const CALLS: Readonly<Record<string, (keyturn: Keyturn) => Promise<unknown>>> = {
  submit: (keyturn) => keyturn.submit('q', {}),
  enQueue: (keyturn) => keyturn.enQueue({ queue: 'q', key: 'k', wait: 300_000 }),
  withTurn: (keyturn) => keyturn.withTurn('q', 'k', { wait: 300_000 }, () => undefined),
  result: (keyturn) => keyturn.result('q', 'i'),
  explainKey: (keyturn) => keyturn.admin.explainKey('q', 'k'),
};

// Each of them would go on for its time-out: a patient test would see an error, too, and not this one.
for (const transport of ['session', 'unary'] as const) {
  test(`a client without TLS, a sidecar with it: every call says so long before its time-out, ${transport}`, async (t) => {
    const { address } = await sidecar(t, 'server');
    const message = `cannot reach ${address}: the sidecar speaks TLS, and this client does not (option tls)`;
    const refused = Object.entries(CALLS).map(async ([name, call]) => {
      // Not sure before the second probe: a call that is not tried again ends before.
      const isTriedOnce = name === 'explainKey' || (name === 'enQueue' && transport === 'unary');
      const error = { name: isTriedOnce ? 'KeyturnError' : 'TlsError', code: 'UNAVAILABLE', message };
      await assert.rejects(call(client(t, address, { transport })), error);
    });
    await Promise.all(refused);
  });

  test(`a port that also speaks TLS, and a sidecar behind it that comes later: calls come through, ${transport}`, async (t) => {
    const { address } = await sidecar(t, undefined);
    let hasAnswered = false;
    const port = createServer((socket) => {
      socket.on('error', () => {});
      socket.once('data', (first) => {
        if (!hasAnswered && first[0] !== TLS_HANDSHAKE) return void socket.destroy();
        const behind = hasAnswered
          ? connectSocket(portIn(address), '127.0.0.1')
          : connectSocket(portOf(tls), '127.0.0.1');
        hasAnswered = true;
        behind.on('error', () => socket.destroy()).write(first);
        socket
          .on('close', () => behind.destroy())
          .pipe(behind)
          .pipe(socket);
      });
    }).listen(0, '127.0.0.1');
    const pem = { cert: readFileSync(file('server.pem')), key: readFileSync(file('server.key')) };
    const tls = createTlsServer({ ...pem, ALPNProtocols: ['h2'] }, (socket) => socket.on('error', () => {}).resume());
    tls.listen(0, '127.0.0.1');
    t.after(() => [port, tls].map((server) => server.close()));
    await Promise.all([once(port, 'listening'), once(tls, 'listening')]);
    const keyturn = client(t, `127.0.0.1:${portOf(port)}`, { transport });
    assert.equal((await keyturn.submit('q', {})).decision, 'accept');
  });

  test(`a client with TLS, a sidecar without: every call says so at once, ${transport}`, async (t) => {
    const { address } = await sidecar(t, undefined);
    const message = new RegExp(`^cannot reach ${address}: .*the sidecar does not speak TLS`);
    for (const call of Object.values(CALLS)) {
      const keyturn = client(t, address, { transport, tls: { ca: file('ca.pem') } });
      await assert.rejects(call(keyturn), { name: 'TlsError', message });
    }
  });

  test(`a sidecar that is not there: the error names the address and the reason, ${transport}`, async (t) => {
    const keyturn = client(t, '127.0.0.1:1', { transport });
    await assert.rejects(ask(keyturn, 500), { message: /cannot reach 127\.0\.0\.1:1: connect ECONNREFUSED/ });
  });

  test(`a sidecar that closes the connection for another reason is not told to speak TLS, ${transport}`, async (t) => {
    const rude = createServer((socket) => socket.on('error', () => {}).destroy()).listen(0, '127.0.0.1');
    t.after(() => rude.close());
    await once(rude, 'listening');
    const keyturn = client(t, `127.0.0.1:${portOf(rude)}`, { transport });
    await assert.rejects(ask(keyturn, 1_000), { name: 'KeyturnError', message: /cannot reach .*it may want TLS/ });
  });
}

for (const transport of ['session', 'unary'] as const)
  test(`a server that says nothing: the error of a call names the address, ${transport}`, async (t) => {
    const silent = createServer().listen(0, '127.0.0.1');
    t.after(() => silent.close());
    await once(silent, 'listening');
    const keyturn = client(t, `127.0.0.1:${portOf(silent)}`, { transport, tls: { ca: file('ca.pem') } });
    const message = /cannot reach 127\.0\.0\.1:\d+: no answer yet/;
    await assert.rejects(ask(keyturn, 200), { code: 'DEADLINE_EXCEEDED', message });
  });

test('a server of something else behind TLS is told from a sidecar', async (t) => {
  const pem = { cert: readFileSync(file('server.pem')), key: readFileSync(file('server.key')) };
  const other = createTlsServer(pem, (socket) => socket.on('error', () => {}).resume()).listen(0, '127.0.0.1');
  t.after(() => other.close());
  await once(other, 'listening');
  const keyturn = client(t, `127.0.0.1:${portOf(other)}`, { tls: { ca: file('ca.pem') } });
  await assert.rejects(ask(keyturn), { name: 'TlsError', message: /does not speak HTTP\/2 over TLS/ });
});

test('a server that never answers the handshake: the call ends in time, and close leaves no connection', async (t) => {
  const silent = createServer().listen(0, '127.0.0.1');
  t.after(() => silent.close());
  await once(silent, 'listening');
  const came = once(silent, 'connection');
  const keyturn = client(t, `127.0.0.1:${portOf(silent)}`, { transport: 'unary', tls: { ca: file('ca.pem') } });
  const refused = assert.rejects(ask(keyturn, 200), { code: 'DEADLINE_EXCEEDED' });
  const [socket] = await came;
  const closed = once(socket.on('error', () => {}).resume(), 'close');
  await refused;
  await keyturn.close();
  await closed;
});

function portIn(address: string): number {
  return Number(address.slice(address.lastIndexOf(':') + 1));
}

function portOf(server: { address(): unknown }): number {
  const address = server.address();
  return typeof address === 'object' && address !== null && 'port' in address ? Number(address.port) : assert.fail();
}

describe('files that are replaced', () => {
  test('count from the next connection on, and until they are good the last good ones do', async (t) => {
    const ca = file('trusted.pem');
    const replace = (name: string) => writeFileSync(ca, readFileSync(file(name)));
    replace('ca.pem');
    const first = await sidecar(t, 'server');
    const keyturn = client(t, first.address, { tls: { ca } });
    assert.match(await ask(keyturn), /accept|block/);
    writeFileSync(ca, 'half written');
    first.forceStop();
    const second = await sidecar(t, 'renewed', first.address);
    assert.match(await ask(keyturn), /accept|block/);
    replace('other-ca.pem');
    second.forceStop();
    await sidecar(t, 'other-server', first.address);
    assert.match(await ask(keyturn), /accept|block/);
  });

  test('bytes stay what they are', async (t) => {
    const ca = new Uint8Array(readFileSync(file('ca.pem')));
    const first = await sidecar(t, 'server');
    const keyturn = client(t, first.address, { tls: { ca } });
    assert.match(await ask(keyturn), /accept|block/);
    first.forceStop();
    await sidecar(t, 'renewed', first.address);
    assert.match(await ask(keyturn), /accept|block/);
  });
});

describe('a session', () => {
  const WRONG = new TlsError('no connection over TLS: the certificate of the sidecar is not accepted: it has ended');

  test('that never stood refuses what is open at once, and tries again for what comes later', async (t) => {
    const { client: transport, network, turn } = stage(t);
    const asked = transport.awaitItem({ queue: 'q', itemId: 'i' });
    await turn();
    network.stream.cut(WRONG);
    await assert.rejects(asked, WRONG);
    const later = transport.awaitItem({ queue: 'q', itemId: 'i' });
    later.catch(() => {});
    await turn();
    assert.equal(network.streams.length, 2);
  });

  test('that stood before waits: certificates may be about to be replaced', async (t) => {
    const { client: transport, network, begin, turn, advance } = stage(t);
    const first = await begin();
    const asked = transport.awaitItem({ queue: 'q', itemId: 'i' }, { timeout: 5_000 });
    const outcome = asked.catch((error: unknown) => error);
    await turn();
    first.cut(WRONG);
    await advance(1_000);
    network.stream.cut(WRONG);
    await advance(6_000);
    const error = await outcome;
    assert.ok(error instanceof KeyturnError && error.code === 'DEADLINE_EXCEEDED');
    assert.match(error.message, /no answer before the call's time-out: no connection over TLS: the certificate/);
  });
});

test('what is not about TLS keeps the words of the transport', () => {
  const told = 'No connection established. Last error: Error: connect ECONNREFUSED 127.0.0.1:1. Resolution note: ';
  for (const security of ['plain', 'tls', 'mutual_tls'] as const) {
    const other = { message: 'connect ECONNREFUSED 127.0.0.1:1', kind: 'other' };
    assert.deepEqual(connectionFailure(told, security), other);
    assert.equal(connectionFailure('Deadline exceeded', security), undefined);
  }
});
