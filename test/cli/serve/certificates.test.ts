/** Certificates of a running sidecar: replaced when their files change, in whatever way, and only by good ones. */
import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { cpSync, mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, type TestContext, test } from 'node:test';
import { Certificates } from '../../../src/cli/serve/certificates.js';
import type { WatchTimes } from '../../../src/cli/serve/watched-files.js';
import type { TlsMaterial } from '../../../src/config/tls-files.js';
import type { TlsSettings } from '../../../src/config/tls-settings.js';
import type { Log } from '../../../src/grpc/call/handler.js';
import { writeCertificates } from '../../support/certificate-files.js';
import { Happenings } from '../../support/happenings.js';

const store = mkdtempSync(join(tmpdir(), 'keyturn-tls-'));
before(() => writeCertificates(store));
after(() => rmSync(store, { recursive: true }));

/** Only by its watching: within a test nobody looks unasked. */
const WATCHING: WatchTimes = { quiet: 20, poll: 3_600_000 };
/** Only by looking. */
const POLLING: WatchTimes = { quiet: 3_600_000, poll: 20 };

interface Stage {
  readonly folder: string;
  /** Common names of the certificates that were put to use, in order. */
  readonly used: string[];
  readonly lines: LogLine[];
  until(what: string, isSo: () => boolean): Promise<void>;
}

/** A folder in which `cert.pem`, `key.pem` and `clients.pem` are watched. `arrange` puts them there. */
async function stage(t: TestContext, times: WatchTimes, arrange = copies('server')): Promise<Stage> {
  const folder = mkdtempSync(join(tmpdir(), 'keyturn-tls-'));
  t.after(() => rmSync(folder, { recursive: true }));
  arrange(folder);
  const used: string[] = [];
  const lines: LogLine[] = [];
  const happenings = new Happenings(() => [JSON.stringify({ used, lines })]);
  const log = logTo((line) => {
    lines.push(line);
    happenings.happened();
  });
  const certificates = await Certificates.open(settingsIn(folder), log, times);
  assert.ok(certificates !== undefined);
  t.after(() => certificates.close());
  used.push(nameOf(certificates.first));
  await certificates.watch((material) => {
    used.push(nameOf(material));
    happenings.happened();
  });
  return {
    folder,
    used,
    lines,
    until: (what, isSo) => happenings.until(what, () => (isSo() ? true : undefined)).then(() => {}),
  };
}

type LogLine = Readonly<Record<string, unknown>>;

function logTo(take: (line: LogLine) => void): Log {
  const write = (level: string) => (fields: object, msg: string) => take({ level, ...fields, msg });
  return { info: write('info'), warn: write('warn'), error: write('error') };
}

function settingsIn(folder: string): TlsSettings {
  return { cert: join(folder, 'cert.pem'), key: join(folder, 'key.pem'), clientCa: join(folder, 'clients.pem') };
}

function nameOf({ cert }: Pick<TlsMaterial, 'cert'>): string {
  return new X509Certificate(cert).subject.replace('CN=', '');
}

function copies(name: string): (folder: string) => void {
  return (folder) => {
    cpSync(join(store, `${name}.pem`), join(folder, 'cert.pem'));
    cpSync(join(store, `${name}.key`), join(folder, 'key.pem'));
    cpSync(join(store, 'ca.pem'), join(folder, 'clients.pem'));
  };
}

/** As Kubernetes lays out a volume: the files are links into `..data`, which is a link to a folder. */
function volume(name: string): (folder: string) => void {
  return (folder) => {
    version(folder, name);
    symlinkSync(`..${name}`, join(folder, '..data'));
    for (const file of ['cert.pem', 'key.pem', 'clients.pem']) symlinkSync(join('..data', file), join(folder, file));
  };
}

function version(folder: string, name: string): void {
  mkdirSync(join(folder, `..${name}`));
  copies(name)(join(folder, `..${name}`));
}

const CHANGES: Readonly<Record<string, { arrange(folder: string): void; change(folder: string): void }>> = {
  'written over': { arrange: copies('server'), change: copies('renewed') },
  'renamed into place': {
    arrange: copies('server'),
    change(folder) {
      const beside = mkdtempSync(join(folder, 'new-'));
      copies('renewed')(beside);
      for (const file of ['cert.pem', 'key.pem', 'clients.pem']) renameSync(join(beside, file), join(folder, file));
    },
  },
  'behind a link that is set to another folder': {
    arrange: volume('server'),
    change(folder) {
      version(folder, 'renewed');
      symlinkSync('..renewed', join(folder, '..data-new'));
      renameSync(join(folder, '..data-new'), join(folder, '..data'));
    },
  },
};

for (const [what, { arrange, change }] of Object.entries(CHANGES)) {
  for (const [how, times] of [
    ['by watching', WATCHING],
    ['by looking', POLLING],
  ] as const) {
    test(`files that are ${what} are found ${how}`, async (t) => {
      const { folder, used, until } = await stage(t, times, arrange);
      change(folder);
      await until('the new certificate is used', () => used.at(-1) === 'renewed');
      assert.equal(used[0], 'server');
    });
  }
}

test('other authorities of clients are put to use too', async (t) => {
  const { folder, used, until } = await stage(t, WATCHING);
  cpSync(join(store, 'other-ca.pem'), join(folder, 'clients.pem'));
  await until('they are used', () => used.length === 2);
  assert.deepEqual(used, ['server', 'server']);
});

describe('what cannot be used is told once, and changes nothing', () => {
  const BAD: Readonly<Record<string, { spoil(folder: string): void; reason: RegExp }>> = {
    'a certificate without the key that fits': {
      spoil: (folder) => cpSync(join(store, 'renewed.pem'), join(folder, 'cert.pem')),
      reason: /^tls\.key: .*it is not the key of the certificate in/,
    },
    'half a certificate': {
      spoil: (folder) => writeFileSync(join(folder, 'cert.pem'), '-----BEGIN CERTIFICATE-----\nMIIB'),
      reason: /^tls\.cert: .*there is no certificate in it/,
    },
    'a file that is gone': {
      spoil: (folder) => rmSync(join(folder, 'key.pem')),
      reason: /^tls\.key: .*it cannot be read: ENOENT/,
    },
    'authorities that are none': {
      spoil: (folder) => writeFileSync(join(folder, 'clients.pem'), ''),
      reason: /^tls\.client_ca: .*there is no certificate in it/,
    },
  };

  for (const [what, { spoil, reason }] of Object.entries(BAD)) {
    test(what, async (t) => {
      // By looking: it looks again and again while the files stay as they are.
      const { folder, used, lines, until } = await stage(t, POLLING);
      spoil(folder);
      await until('it is told', () => lines.some(({ level }) => level === 'error'));
      assert.deepEqual(used, ['server']);
      copies('renewed')(folder);
      await until('the good ones are used', () => used.at(-1) === 'renewed');
      const errors = lines.filter(({ level, reason: told }) => level === 'error' && reason.test(String(told)));
      assert.equal(errors.length, 1, JSON.stringify(lines));
      assert.match(String(errors[0]?.['msg']), /cannot be used; the last good ones are kept/);
    });
  }
});

test('a certificate that has ended is used, with a warning', async (t) => {
  const { folder, used, lines, until } = await stage(t, WATCHING);
  copies('expired')(folder);
  await until('it is used', () => used.at(-1) === 'expired');
  await until('it is told', () => lines.some(({ msg }) => /has ended/.test(String(msg))));
});

test('a folder that cannot be watched is told, and looked at', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'keyturn-tls-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  copies('server')(folder);
  const told: LogLine[] = [];
  const log = logTo((line) => void told.push(line));
  const certificates = await Certificates.open(settingsIn(folder), log, POLLING);
  t.after(() => certificates?.close());
  rmSync(folder, { recursive: true });
  await certificates?.watch(() => assert.fail('there is nothing new'));
  assert.match(String(told[0]?.['msg']), /found only by looking/);
});

test('without settings there is nothing to watch', async () => {
  const log = logTo(() => assert.fail('there is nothing to tell'));
  assert.equal(await Certificates.open({ cert: undefined, key: undefined, clientCa: undefined }, log), undefined);
});
