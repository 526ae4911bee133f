/** The settings of TLS, and the files that they name: refused at the start, each with its name, its value and its place. */
import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { type Environment, type Flags, loadConfig } from '../../src/config/config.js';
import { writeCertificates } from '../support/certificate-files.js';
import { load, problemsOf, yamlFile } from './yaml-file.js';

const folder = mkdtempSync(join(tmpdir(), 'keyturn-tls-'));
const file = (name: string) => join(folder, name);
const CERT = file('server.pem');
const KEY = file('server.key');

before(() => writeCertificates(folder));
after(() => rmSync(folder, { recursive: true }));

const problems = (flags: Flags, env: Environment = {}) =>
  problemsOf(() => loadConfig(flags, env)).map((problem) => problem.replaceAll(`${folder}/`, ''));

test('without settings there is no TLS', () => {
  assert.deepEqual(loadConfig({}, {}).tls, { cert: undefined, key: undefined, clientCa: undefined });
});

test('the file says all of it', (t) => {
  const yaml = `tls: { cert: ${CERT}, key: ${KEY}, client_ca: ${file('ca.pem')} }`;
  assert.deepEqual(load(t, yaml).tls, { cert: CERT, key: KEY, clientCa: file('ca.pem') });
});

test('environment goes over the file, flags over the environment, and an empty variable is not set', (t) => {
  const yaml = `tls: { cert: ${file('expired.pem')}, key: ${file('expired.key')}, client_ca: ${file('other-ca.pem')} }`;
  const { tls } = load(
    t,
    yaml,
    { tlsCert: CERT },
    { KEYTURN_TLS_CERT: '/nonexistent', KEYTURN_TLS_KEY: KEY, KEYTURN_TLS_CLIENT_CA: '' },
  );
  assert.deepEqual(tls, { cert: CERT, key: KEY, clientCa: file('other-ca.pem') });
});

test('`none` takes away what the file says', (t) => {
  const yaml = `tls: { cert: ${CERT}, key: ${KEY} }`;
  const env = { KEYTURN_TLS_CERT: 'none', KEYTURN_TLS_KEY: 'none' };
  assert.equal(load(t, yaml, {}, env).tls.cert, undefined);
});

const NEITHER = 'must be a file with the private key of tls.cert in PEM, without a passphrase';

// biome-ignore format: a table, a row a line
const WRONG: readonly (readonly [what: string, flags: () => Flags, ...problems: readonly (string | RegExp)[]])[] = [
  ['a certificate without its key', () => ({ tlsCert: CERT }),
    'tls.key (--tls-cert): is missing (--tls-key, KEYTURN_TLS_KEY), must be given with tls.cert'],
  ['a key without its certificate', () => ({ tlsKey: KEY }),
    'tls.cert (--tls-key): is missing (--tls-cert, KEYTURN_TLS_CERT), must be given with tls.key'],
  ['authorities of clients without a certificate', () => ({ tlsClientCa: file('ca.pem') }),
    'tls.client_ca (--tls-client-ca): is "ca.pem", but without TLS no client shows a certificate; needs tls.cert (--tls-cert) and tls.key (--tls-key)'],
  ['files that are missing', () => ({ tlsCert: file('a'), tlsKey: file('b'), tlsClientCa: file('c') }),
    /^tls\.cert \(--tls-cert\): is "a", must be a file with the server's certificate in PEM; it cannot be read: ENOENT/,
    /^tls\.key \(--tls-key\): is "b", must be a file with the private key .*; it cannot be read: ENOENT/,
    /^tls\.client_ca \(--tls-client-ca\): is "c", must be a file with certificates of authorities in PEM; it cannot be read: ENOENT/],
  ['a key in the place of a certificate, and the other way round', () => ({ tlsCert: KEY, tlsKey: CERT, tlsClientCa: KEY }),
    'tls.cert (--tls-cert): is "server.key", must be a file with the server\'s certificate in PEM; there is no certificate in it',
    `tls.key (--tls-key): is "server.pem", ${NEITHER}; there is no private key in it`,
    'tls.client_ca (--tls-client-ca): is "server.key", must be a file with certificates of authorities in PEM; there is no certificate in it'],
  ['a key of another certificate', () => ({ tlsCert: CERT, tlsKey: file('client.key') }),
    `tls.key (--tls-key): is "client.key", ${NEITHER}; it is not the key of the certificate in "server.pem"`],
  ['a folder', () => ({ tlsCert: folder, tlsKey: KEY }),
    /^tls\.cert \(--tls-cert\): is ".*", must be a file with the server's certificate in PEM; it is not a file$/],
  ['a device without an end', () => ({ tlsCert: '/dev/zero', tlsKey: KEY }),
    'tls.cert (--tls-cert): is "/dev/zero", must be a file with the server\'s certificate in PEM; it is not a file'],
  ['a file that is too large', () => ({ tlsCert: large(), tlsKey: KEY }),
    'tls.cert (--tls-cert): is "large.pem", must be a file with the server\'s certificate in PEM; it is larger than 1048576 bytes'],
  ['a certificate that is damaged', () => ({ tlsCert: damaged(), tlsKey: KEY }),
    'tls.cert (--tls-cert): is "damaged.pem", must be a file with the server\'s certificate in PEM; certificate 2 in it is damaged'],
  ['authorities of which the second is cut off', () => ({ tlsCert: CERT, tlsKey: KEY, tlsClientCa: cutOff() }),
    'tls.client_ca (--tls-client-ca): is "cut-off.pem", must be a file with certificates of authorities in PEM; certificate 2 in it is cut off: it has a beginning and no end, or an end alone'],
  ['a key with a passphrase', () => ({ tlsCert: CERT, tlsKey: locked() }),
    `tls.key (--tls-key): is "locked.key", ${NEITHER}; the key in it has a passphrase`],
];

describe('refused', () => {
  for (const [what, flags, ...expected] of WRONG) {
    test(what, () => {
      const found = problems(flags());
      assert.equal(found.length, expected.length, found.join('\n'));
      for (const [index, one] of expected.entries())
        if (typeof one === 'string') assert.equal(found[index], one);
        else assert.match(found[index] ?? '', one);
    });
  }

  test('with the place in the file, or the variable, that said it', (t) => {
    const config = yamlFile(t, `tls:\n  cert: ${CERT}\n  key: /nonexistent.key\n`);
    assert.match(problems({ config })[0] ?? '', /^tls\.key \(keyturn\.yaml:3:8\): is "\/nonexistent\.key"/);
    const [found = ''] = problems({ tlsCert: CERT }, { KEYTURN_TLS_KEY: file('client.key') });
    assert.match(found, /^tls\.key \(KEYTURN_TLS_KEY\): is "client\.key"/);
  });

  test('together with everything else that is wrong', () => {
    assert.equal(problems({ listen: 'nowhere', tlsCert: CERT }).length, 2);
  });
});

function large(): string {
  return put('large.pem', Buffer.alloc(1_048_577, '\n'));
}

function cutOff(): string {
  const ca = readFileSync(file('ca.pem'), 'utf8');
  writeFileSync(file('cut-off.pem'), `${ca}${ca.slice(0, ca.length / 2)}`);
  return file('cut-off.pem');
}

function damaged(): string {
  const good = readFileSync(CERT, 'utf8');
  return put('damaged.pem', good + good.replace(/M[\s\S]{20}/, 'AAAA'));
}

function locked(): string {
  const encoding = { type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc', passphrase: 'secret' } as const;
  const { privateKey } = generateKeyPairSync('ec', {
    namedCurve: 'P-256',
    privateKeyEncoding: encoding,
    publicKeyEncoding: { type: 'spki', format: 'pem' },
  });
  return put('locked.key', privateKey);
}

function put(name: string, content: string | Uint8Array): string {
  mkdirSync(folder, { recursive: true });
  writeFileSync(file(name), content);
  return file(name);
}
