/** S465: where a real sidecar serves its console, with what, and that it holds nobody up. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { get } from 'node:https';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it, type TestContext } from 'node:test';
import { EXIT } from '../../../src/cli/exit-codes.js';
import { CommandFailure } from '../../../src/cli/failure.js';
import { ServeProcess } from '../../cli/serve-process.js';
import { yamlFile } from '../../config/yaml-file.js';
import { writeCertificates } from '../../support/certificate-files.js';
import { SidecarHere } from '../../support/sidecar-here.js';

const folder = mkdtempSync(join(tmpdir(), 'keyturn-console-'));
const file = (name: string) => join(folder, name);
const TLS = ['--tls-cert', file('server.pem'), '--tls-key', file('server.key')];

before(() => writeCertificates(folder));
after(() => rmSync(folder, { recursive: true }));

/** Unset: it has none. */
async function urlOf(sidecar: Pick<ServeProcess, 'logged'>): Promise<string | undefined> {
  const { console: url } = await sidecar.logged('listening');
  return typeof url === 'string' ? url : undefined;
}

/** Holds the port for the test, whoever has it. */
async function taken(t: TestContext, port: number): Promise<number> {
  const holder = createServer().listen(port, '127.0.0.1');
  t.after(() => holder.close());
  await Promise.race([once(holder, 'listening'), once(holder, 'error').catch(() => {})]).catch(() => {});
  const address = holder.address();
  return address === null || typeof address === 'string' ? port : address.port;
}

describe('the console of a sidecar', () => {
  it('is where it was asked for', async (t) => {
    const sidecar = await SidecarHere.start(t, ['--console-listen', '127.0.0.1:0']);
    const url = await urlOf(sidecar);
    assert.match(url ?? '', /^http:\/\/127\.0\.0\.1:\d+\/$/);
    const session: unknown = await (await fetch(`${url}session`)).json();
    assert.deepEqual(Object.entries(session ?? {}).slice(0, 2), [
      ['auth', false],
      ['principal', null],
    ]);
  });

  it('is elsewhere, with a warning, when its usual port is taken', async (t) => {
    await taken(t, 7422);
    const sidecar = await ServeProcess.start(t, [], { KEYTURN_CONSOLE_LISTEN: '' });
    const { console: url, usual, level } = await sidecar.logged('the console is elsewhere');
    assert.deepEqual([usual, level], ['127.0.0.1:7422', 'warn']);
    assert.equal(url, await urlOf(sidecar));
    assert.equal((await fetch(`${String(url)}session`)).status, 200);
  });

  it('is not elsewhere when somebody asked for a port that is taken: the start says so and ends', async (t) => {
    const address = `127.0.0.1:${await taken(t, 0)}`;
    await assert.rejects(SidecarHere.start(t, ['--console-listen', address]), (error) => {
      assert.ok(error instanceof CommandFailure);
      assert.equal(error.exitCode, EXIT.failure);
      assert.match(error.message, new RegExp(`console_listen: ${address} is in use by another process`));
      return true;
    });
  });

  it('is nowhere when it is off', async (t) => {
    const sidecar = await SidecarHere.start(t, ['--console-listen', 'off']);
    assert.equal(await urlOf(sidecar), undefined);
  });

  it('is refused beyond loopback where nobody is asked who they are', async (t) => {
    const refused = {
      name: 'ConfigError',
      message: /console_listen .* needs auth, or tls\.client_ca, or insecure: true/,
    };
    await assert.rejects(SidecarHere.start(t, ['--console-listen', '0.0.0.0:0']), refused);
  });

  it('speaks TLS beyond loopback', async (t) => {
    const config = yamlFile(t, 'insecure: true\nconsole_hosts: [localhost]\n');
    const sidecar = await SidecarHere.start(t, ['--config', config, ...TLS, '--console-listen', '0.0.0.0:0']);
    const { port, protocol } = new URL((await urlOf(sidecar)) ?? '');
    assert.equal(protocol, 'https:');
    const status = await new Promise((resolve, reject) => {
      get({ host: 'localhost', port, path: '/session', ca: readFileSync(file('ca.pem')) }, (answer) => {
        answer.resume();
        resolve(answer.statusCode);
      }).once('error', reject);
    });
    assert.equal(status, 200);
  });

  it('holds no stop up, though somebody looks on', async (t) => {
    const sidecar = await ServeProcess.start(t, ['--console-listen', '127.0.0.1:0']);
    const head = Buffer.from([0, 0, 0, 0, 2]);
    const watching = await fetch(`${await urlOf(sidecar)}keyturn.v1.AdminService/WatchEvents`, {
      method: 'POST',
      headers: { 'content-type': 'application/connect+json' },
      body: Buffer.concat([head, Buffer.from('{}')]),
    });
    assert.equal(watching.status, 200);
    sidecar.signal('SIGTERM');
    assert.equal(await sidecar.exited, 0);
    assert.match(await watching.text(), /\{\}/);
  });
});
