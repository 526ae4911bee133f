/** Who is connected over TLS has one place, however many sockets it has inside. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { createServer, get } from 'node:https';
import { describe, it, type TestContext } from 'node:test';
import { connect, type TLSSocket } from 'node:tls';
import { Places } from '../../src/http/places.js';
import { until } from '../cli/keyturn-process.js';
import { Authority } from '../support/certificates.js';

const MOST = 3;

describe('places over TLS', () => {
  async function serverOf(t: TestContext) {
    const authority = await Authority.make('Keyturn test');
    const pair = await authority.issue({ name: 'server', use: 'server' });
    const waiting: ServerResponse[] = [];
    const server = createServer({ cert: pair.cert, key: pair.key }, ({ url }, response) => {
      if (url === '/wait') waiting.push(response);
      else response.end('here');
    });
    new Places(MOST).of(server);
    server.listen(0, '127.0.0.1');
    t.after(() => {
      server.close();
      server.closeAllConnections();
    });
    await once(server, 'listening');
    const address = server.address();
    assert.ok(address !== null && typeof address === 'object');
    const there = { host: '127.0.0.1', port: address.port, servername: 'localhost', ca: authority.cert };
    return { there, waiting };
  }

  async function waiter(t: TestContext, there: object): Promise<TLSSocket> {
    const socket = connect({ ...there });
    t.after(() => socket.destroy());
    socket.on('error', () => {});
    await once(socket, 'secureConnect');
    socket.resume();
    socket.write('GET /wait HTTP/1.1\r\nhost: localhost\r\n\r\n');
    return socket;
  }

  it('are free again when those who had them are gone', async (t) => {
    const { there, waiting } = await serverOf(t);
    const socket = await waiter(t, there);
    await until('it is asked', async () => waiting.length === 1);
    for (let n = 0; n < 4 * MOST; n += 1) {
      const [answer] = await once(get({ ...there, agent: false }), 'response');
      answer.resume();
      await once(answer, 'end');
    }
    assert.equal(socket.destroyed, false);
    waiting[0]?.end('at last');
    await once(socket, 'data');
  });

  it('are given up by who says nothing before who is being answered', async (t) => {
    const { there, waiting } = await serverOf(t);
    const asking = await waiter(t, there);
    await until('it is asked', async () => waiting.length === 1);
    const silent: TLSSocket[] = [];
    for (let n = 0; n < MOST; n += 1) {
      const one = connect({ ...there });
      t.after(() => one.destroy());
      one.on('error', () => {});
      one.resume();
      await once(one, 'secureConnect');
      silent.push(one);
    }
    await until('the first of them is gone', async () => silent[0]?.destroyed === true);
    assert.deepEqual([asking.destroyed, silent[1]?.destroyed], [false, false]);
  });
});
