/** S465, S469: the console over TLS. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it, type TestContext } from 'node:test';
import { connect, type TLSSocket } from 'node:tls';
import { until } from '../../cli/keyturn-process.js';
import { writeCertificates } from '../../support/certificate-files.js';
import { answerOf, consoleOf, FROM_PAGE, rawConnection, submit, watchBytes } from './console.js';

const folder = mkdtempSync(join(tmpdir(), 'keyturn-console-tls-'));
const read = (name: string) => readFileSync(join(folder, name));
const pair = (name: string) => ({ cert: read(`${name}.pem`), key: read(`${name}.key`) });

before(() => writeCertificates(folder));
after(() => rmSync(folder, { recursive: true }));

async function tlsTo(t: TestContext, port: number, more: object = {}): Promise<TLSSocket> {
  const socket = connect({ host: '127.0.0.1', port, servername: 'localhost', ca: read('ca.pem'), ...more });
  t.after(() => socket.destroy());
  await once(socket, 'secureConnect');
  socket.on('error', () => {});
  return socket;
}

describe('the console over TLS', () => {
  it('gives a cookie that goes over TLS to this host alone', async (t) => {
    const { port } = await consoleOf(t, { auth: true, certificates: { ...pair('server'), clientCa: undefined } });
    const sent = request({
      ...{ host: '127.0.0.1', port, path: '/login', method: 'POST', agent: false },
      ...{ servername: 'localhost', ca: read('ca.pem'), headers: FROM_PAGE },
    });
    sent.end('{"token":"secret-ada"}');
    const [message] = await once(sent, 'response');
    const { status, headers } = await answerOf(message);
    assert.equal(status, 200);
    const [cookie = ''] = headers['set-cookie'] ?? [];
    const plain = await new Promise((resolve) => {
      const origin = `http://localhost:${port}`;
      const asked = request({
        ...{ host: '127.0.0.1', port, path: '/logout', method: 'POST', agent: false },
        ...{ servername: 'localhost', ca: read('ca.pem'), headers: { host: `localhost:${port}`, origin } },
      });
      asked.once('response', (answer) => {
        answer.resume();
        resolve(answer.statusCode);
      });
      asked.end();
    });
    assert.equal(plain, 403, 'a page that came over plain HTTP is not ours');
    assert.match(
      cookie,
      new RegExp(`^__Host-keyturn_console_${port}=[\\w-]{43}; Path=/; HttpOnly; SameSite=Strict; Secure$`),
    );
  });

  it('shows a renewed certificate to who comes, and goes on with who is there', async (t) => {
    const view = await consoleOf(t, { certificates: { ...pair('server'), clientCa: undefined } });
    const name = (socket: TLSSocket) => socket.getPeerCertificate().subject.CN;
    const old = await tlsTo(t, view.port);
    const texts: string[] = [];
    old.on('data', (chunk: Buffer) => void texts.push(chunk.toString('latin1')));
    old.write(watchBytes());
    await until('it is answered', async () => texts.join('').includes(' 200 OK'));
    view.useCertificates({ ...pair('renewed'), clientCa: undefined });
    assert.deepEqual([name(old), name(await tlsTo(t, view.port))], ['server', 'renewed']);
    submit(view, 'orders', 'k');
    await until('it is told', async () => texts.join('').includes('orders'));
  });

  it('is for those with a certificate where gRPC is, also for who comes back with a session of TLS', async (t) => {
    const view = await consoleOf(t, { certificates: { ...pair('server'), clientCa: read('ca.pem') } });
    const ask = async (more: object) => {
      const socket = connect({
        host: '127.0.0.1',
        port: view.port,
        servername: 'localhost',
        ca: read('ca.pem'),
        ...more,
      });
      t.after(() => socket.destroy());
      const texts: string[] = [];
      let session: Buffer | undefined;
      socket.on('session', (one: Buffer) => {
        session = one;
      });
      socket.on('data', (chunk: Buffer) => void texts.push(chunk.toString('latin1')));
      socket.on('error', () => {});
      socket.write('GET /session HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n');
      await new Promise((resolve) => void socket.once('close', resolve));
      return { text: texts.join(''), session };
    };
    assert.equal((await ask({})).text, '');
    assert.equal((await ask(pair('other-client'))).text, '');
    const { text, session } = await ask(pair('client'));
    assert.match(text, / 200 OK/);
    assert.ok(session !== undefined);
    assert.match((await ask({ ...pair('client'), session })).text, / 200 OK/);
    view.useCertificates({ ...pair('server'), clientCa: read('other-ca.pem') });
    assert.equal((await ask({ ...pair('client'), session })).text, '');
  });

  it('waits for nobody who connects and says nothing', async (t) => {
    const { port } = await consoleOf(t, { certificates: { ...pair('server'), clientCa: undefined } });
    const started = performance.now();
    const { socket, read: go } = await rawConnection(t, port);
    go();
    await once(socket, 'close');
    assert.ok(performance.now() - started < 60_000);
  });
});
