/** The certificates of the tests are what they say: else a test of TLS would prove nothing. */
import { deepStrictEqual, strictEqual } from 'node:assert';
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { CERTIFICATE_FILES, writeCertificates } from './certificate-files.js';

const folder = mkdtempSync(join(tmpdir(), 'keyturn-certificates-'));
const read = (file: string) => readFileSync(join(folder, file), 'utf8');
const certificate = (name: string) => new X509Certificate(read(`${name}.pem`));
const isOver = (name: string) => Date.parse(certificate(name).validTo) < Date.now();

before(() => writeCertificates(folder));
after(() => rmSync(folder, { recursive: true }));

test('every file that is listed is there, and each certificate but an authority has its key', () => {
  const keys = readdirSync(folder).filter((file) => file.endsWith('.key'));
  const certificates = readdirSync(folder).filter((file) => file.endsWith('.pem'));
  deepStrictEqual(certificates.sort(), Object.keys(CERTIFICATE_FILES).sort());
  for (const file of keys) {
    const key = createPrivateKey(read(file));
    strictEqual(certificate(file.replace('.key', '')).checkPrivateKey(key), true, file);
  }
  strictEqual(keys.length, certificates.length - 2);
});

test('each is issued by its authority, and by that alone', () => {
  const [ca, other] = [certificate('ca'), certificate('other-ca')];
  for (const name of ['server', 'renewed', 'client', 'expired', 'expired-client', 'elsewhere'])
    deepStrictEqual([certificate(name).verify(ca.publicKey), certificate(name).verify(other.publicKey)], [true, false]);
  for (const name of ['other-server', 'other-client'])
    deepStrictEqual([certificate(name).verify(ca.publicKey), certificate(name).verify(other.publicKey)], [false, true]);
});

test('only what is called expired is over, and only what is called elsewhere is for another host', () => {
  for (const name of ['ca', 'server', 'renewed', 'client', 'elsewhere', 'other-server', 'other-client'])
    strictEqual(isOver(name), false, name);
  deepStrictEqual([isOver('expired'), isOver('expired-client')], [true, true]);
  const hostOf = (name: string) => [certificate(name).checkHost('localhost'), certificate(name).checkIP('127.0.0.1')];
  for (const name of ['server', 'renewed', 'expired', 'other-server'])
    deepStrictEqual(hostOf(name), ['localhost', '127.0.0.1'], name);
  deepStrictEqual(hostOf('elsewhere'), [undefined, undefined]);
});
