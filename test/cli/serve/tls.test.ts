/** TLS of `keyturn serve` and of the commands that reach it. */
import assert from 'node:assert/strict';
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { connect, type TlsOptions } from '@keyturn/client';
import { yamlFile } from '../../config/yaml-file.js';
import { writeCertificates } from '../../support/certificate-files.js';
import { command, serveHere } from '../in-process.js';
import { keyturn } from '../keyturn-process.js';
import { ServeProcess } from '../serve-process.js';

const folder = mkdtempSync(join(tmpdir(), 'keyturn-tls-'));
const file = (name: string) => join(folder, name);

before(() => writeCertificates(folder));
after(() => rmSync(folder, { recursive: true }));

const TLS = ['--tls-cert', file('server.pem'), '--tls-key', file('server.key')];
const MUTUAL = [...TLS, '--tls-client-ca', file('ca.pem')];

async function ask(address: string, tls: TlsOptions | undefined): Promise<string> {
  const client = connect(address, { transport: 'unary', tls });
  try {
    return (await client.enQueue({ queue: 'q', key: 'k', wait: 0 })).decision;
  } finally {
    await client.close();
  }
}

describe('serve', () => {
  test('with settings of the file: TLS on gRPC, none on HTTP, and no warning about gRPC beyond loopback', async (t) => {
    const tls = `tls: { cert: ${file('server.pem')}, key: ${file('server.key')} }`;
    const config = yamlFile(t, `${tls}\ninsecure: true`);
    const sidecar = await ServeProcess.start(t, ['--config', config, '--listen', '0.0.0.0:0']);
    const port = (await sidecar.address('grpc')).split(':')[1];
    assert.equal(await ask(`localhost:${port}`, { ca: file('ca.pem') }), 'accept');
    assert.equal((await sidecar.get('/readyz')).status, 200);
    assert.deepEqual(
      sidecar.lines.filter(({ level }) => level === 'warn'),
      [],
    );
  });

  test('HTTP beyond loopback is warned about with TLS too: it has none', async (t) => {
    const sidecar = await ServeProcess.start(t, [...TLS, '--http-listen', '0.0.0.0:0']);
    const warnings = sidecar.lines.filter(({ level }) => level === 'warn');
    assert.deepEqual(
      warnings.map(({ http_listen }) => http_listen),
      ['0.0.0.0:0'],
    );
  });

  test('a certificate that has ended: it starts, and warns', async (t) => {
    const { lines } = await serveHere(t, '', { tlsCert: file('expired.pem'), tlsKey: file('expired.key') });
    const warnings = lines.filter(
      ({ level, msg }) => level === 'warn' && /^the certificate has ended/.test(String(msg)),
    );
    assert.equal(warnings.length, 1);
  });

  for (const extra of [[], ['--check-config']]) {
    test(`wrong files end serve ${extra.join('')} with exit code 2`, async () => {
      const wrong = ['serve', '--tls-cert', file('server.pem'), '--tls-key', file('client.key'), ...extra];
      const { exitCode, stdout, stderr } = await command(wrong);
      assert.deepEqual([exitCode, stdout], [2, '']);
      assert.match(stderr, /^ {2}tls\.key \(--tls-key\): is ".*client\.key", must be .*; it is not the key of/m);
    });
  }

  test('files that change while a session holds a turn: the turn lives, a bad pair is kept out, a good one used', async (t) => {
    const own = mkdtempSync(join(tmpdir(), 'keyturn-tls-'));
    t.after(() => rmSync(own, { recursive: true }));
    const put = (name: string, as: string) => cpSync(file(name), join(own, as));
    put('server.pem', 'cert.pem');
    put('server.key', 'key.pem');
    const paths = ['--tls-cert', join(own, 'cert.pem'), '--tls-key', join(own, 'key.pem')];
    const sidecar = await ServeProcess.start(t, paths);
    const address = await sidecar.address('grpc');
    const client = connect(address, { tls: { ca: file('ca.pem') } });
    t.after(() => client.close());
    const outcome = await client.withTurn('q', 'held', async ({ signal }) => {
      put('other-server.pem', 'cert.pem');
      const refused = await sidecar.logged('the certificates have changed and cannot be used');
      assert.match(String(refused['reason']), /not the key of the certificate/);
      assert.equal(await ask(address, { ca: file('ca.pem') }), 'accept');
      put('other-server.key', 'key.pem');
      await sidecar.logged('new connections get the new certificate');
      assert.equal(await ask(address, { ca: file('other-ca.pem') }), 'block');
      await assert.rejects(ask(address, { ca: file('ca.pem') }), { code: 'UNAVAILABLE' });
      assert.equal(signal.aborted, false);
      return 'held all the while';
    });
    assert.deepEqual([outcome.status, outcome.status === 'done' && outcome.value], ['done', 'held all the while']);
    sidecar.signal('SIGTERM');
    assert.equal(await sidecar.exited, 0);
  });

  test('a handshake that is not finished does not keep it from ending', async (t) => {
    const sidecar = await ServeProcess.start(t, MUTUAL);
    const { connect: open } = await import('node:net');
    const [host, port] = (await sidecar.address('grpc')).split(':');
    const socket = open({ host, port: Number(port) });
    t.after(() => socket.destroy());
    await new Promise((resolve) => socket.once('connect', resolve));
    sidecar.signal('SIGTERM');
    assert.equal(await sidecar.exited, 0);
  });
});

describe('commands', () => {
  const SHOWN = ['--tls-ca', file('ca.pem'), '--tls-cert', file('client.pem'), '--tls-key', file('client.key')];
  const tasks: (() => Promise<void> | void)[] = [];
  const cleanup = { after: (task: () => Promise<void> | void) => void tasks.unshift(task) };
  let mutual = '';
  before(async () => {
    const tls = { tlsCert: file('server.pem'), tlsKey: file('server.key'), tlsClientCa: file('ca.pem') };
    mutual = (await serveHere(cleanup, '', tls)).address;
  });
  after(async () => {
    for (const task of tasks) await task();
  });

  test('each reaches a sidecar with TLS, by options or by variables', async (t) => {
    const at = ['--address', mutual];
    const lines = yamlFile(t, 'key\na\nb\n');
    const commands: readonly (readonly string[])[] = [
      ['submit', '--queue', 'q', '--key', 'k', '--payload', 'x', ...SHOWN, ...at],
      ['explain', ...SHOWN, ...at, 'q', 'k'],
      ['queues', ...SHOWN, ...at],
      ['dead-letters', 'list', '--queue', 'q', ...SHOWN, ...at],
      ['replay', lines, '--format', 'csv', '--key', 'key', '--queue', 'r', ...SHOWN, ...at],
    ];
    for (const words of commands) {
      const { exitCode, stderr } = await command(words);
      assert.equal(exitCode, 0, `${words[0]}: ${stderr}`);
    }
    const ran = await keyturn(['run', '--queue', 'ran', '--key', 'k', ...SHOWN, ...at, '--', 'true']);
    assert.deepEqual([ran.exitCode, ran.stderr], [0, '']);
    const { exitCode, stderr } = await keyturn(['queues'], {
      env: {
        KEYTURN_ADDRESS: mutual,
        KEYTURN_TLS_CA: file('ca.pem'),
        KEYTURN_TLS_CLIENT_CERT: file('client.pem'),
        KEYTURN_TLS_CLIENT_KEY: file('client.key'),
        KEYTURN_TLS_SERVER_NAME: 'localhost',
      },
    });
    assert.equal(exitCode, 0, stderr);
  });

  const REFUSED: Readonly<Record<string, readonly [options: readonly string[], code: number, told: RegExp]>> = {
    'without TLS': [[], 69, /the sidecar speaks TLS, and this client does not/],
    'without a certificate': [
      ['--tls-ca', file('ca.pem')],
      69,
      /wants a certificate of the client|may want a certificate of/,
    ],
    'with another authority': [['--tls-ca', file('other-ca.pem')], 69, /certificate of the sidecar is not accepted/],
    'with the authorities of Node': [['--tls-ca', 'system'], 69, /certificate of the sidecar is not accepted/],
    'with another name': [
      [...SHOWN, '--tls-server-name', 'elsewhere.example'],
      69,
      /does not match certificate's altnames/,
    ],
    'with a certificate alone': [['--tls-cert', file('client.pem')], 2, /--tls-cert is given without --tls-key/],
    'with a file that is missing': [['--tls-ca', '/nonexistent'], 2, /--tls-ca is "\/nonexistent"; allowed .* ENOENT/],
    'with an empty option': [['--tls-ca', ''], 2, /must not be empty/],
  };
  for (const [how, [options, code, told]] of Object.entries(REFUSED)) {
    test(`a command ${how} says what is wrong, exit code ${code}`, async () => {
      const { exitCode, stderr } = await command(['queues', '--address', mutual, ...options]);
      assert.equal(exitCode, code, stderr);
      assert.match(stderr, told);
      assert.doesNotMatch(stderr, /^\s+at /m);
      assert.doesNotMatch(stderr, /Warning/);
    });
  }

  test('a process that refuses the certificate of a sidecar gives the reason and no warning of Node', async () => {
    const { exitCode, stderr } = await keyturn(['queues', '--address', mutual, '--tls-ca', file('other-ca.pem')]);
    assert.equal(exitCode, 69);
    assert.match(stderr, /^keyturn: .*certificate of the sidecar is not accepted/);
    assert.doesNotMatch(stderr, /^\s+at |Warning/m);
  });

  test('a command with TLS for a sidecar without it says so', async (t) => {
    const { address } = await serveHere(t);
    const { exitCode, stderr } = await command(['queues', '--address', address, '--tls-ca', file('ca.pem')]);
    assert.equal(exitCode, 69);
    assert.match(stderr, /the sidecar does not speak TLS/);
  });
});
