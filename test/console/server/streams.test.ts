/** S470, S472: a stream of events ends for good, is counted as over gRPC, and nobody who does not read is waited for. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, ServerResponse } from 'node:http';
import { describe, it } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { cutUnread } from '../../../src/console/unread.js';
import { until } from '../../cli/keyturn-process.js';
import { type Console, consoleOf, rawConnection, submit, watchBytes, watchesOf } from './console.js';

const LOOK_EVERY_MS = 15_000;
const WATCH_EVENTS = '/keyturn.v1.AdminService/WatchEvents';

/** Some MiB of events: more than the system takes for who does not read. */
async function flood(view: Console): Promise<void> {
  for (let n = 0; n < 20_000; n += 1) {
    submit(view, 'orders', `${'k'.repeat(900)}${n}`);
    if (n % 250 === 0) await nextTurn();
  }
}

describe('requests that are sent ahead', () => {
  it('begin one after the other, and none goes on when the connection ends', async (t) => {
    const view = await consoleOf(t);
    const watches = watchesOf(t, view);
    const { socket, read, text } = await rawConnection(t, view.port);
    read();
    for (let n = 0; n < 8; n += 1) socket.write(watchBytes());
    await until('the first is answered', async () => text().includes(' 200 OK'));
    // What is there to be answered has been by now.
    await view.ask('/session');
    assert.equal(watches(), 1);
    socket.destroy();
    await until('nobody watches', async () => watches() === 0);
  });

  it('are all answered, in their order', async (t) => {
    const view = await consoleOf(t);
    const { socket, read, text } = await rawConnection(t, view.port);
    read();
    const asked = ['/session', '/none', '/session'].map((path) => `GET ${path} HTTP/1.1\r\nhost: localhost\r\n\r\n`);
    socket.write(asked.join(''));
    const statuses = () => [...text().matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status);
    await until('all are answered', async () => statuses().length === 3);
    assert.deepEqual(statuses(), ['200', '404', '200']);
  });
});

describe('a stream of events', () => {
  interface Seen {
    readonly method: string;
    readonly code: string;
  }

  async function seen(t: Parameters<typeof consoleOf>[0], auth = false) {
    const calls: Seen[] = [];
    const logged: object[] = [];
    const log = { info() {}, warn() {}, error: (fields: object) => void logged.push(fields) };
    const observe = ({ method, code }: Seen) => void calls.push({ method, code });
    return { calls, logged, view: await consoleOf(t, { auth, observe, log, failed: () => void logged.push({}) }) };
  }

  it('is counted once, when it ends: by its reader, by us, or refused', async (t) => {
    const { calls, logged, view } = await seen(t, true);
    const watching = async (headers: Readonly<Record<string, string>>) => {
      const { socket, read, text } = await rawConnection(t, view.port);
      read();
      socket.write(watchBytes(headers));
      await until('it is answered', async () => text().includes(' 200 OK'));
      return socket;
    };
    const ops = { authorization: 'Bearer secret-ops' };
    (await watching(ops)).destroy();
    await until('it is counted', async () => calls.length === 1);
    await watching({ authorization: 'Bearer secret-ada' });
    await until('it is counted', async () => calls.length === 2);
    await watching(ops);
    view.coordinator.close();
    await until('it is counted', async () => calls.length === 3);
    assert.deepEqual(
      calls,
      ['CANCELLED', 'PERMISSION_DENIED', 'OK'].map((code) => ({ method: WATCH_EVENTS, code })),
    );
    assert.deepEqual(logged, []);
  });

  it('that fails says an id to its reader, and the rest to the log', async (t) => {
    const { calls, logged, view } = await seen(t);
    t.mock.method(view.coordinator.admin, 'watch', () => {
      throw new Error('something that is nobody else’s business');
    });
    const { socket, read, text } = await rawConnection(t, view.port);
    read();
    socket.write(watchBytes());
    await until('it is counted', async () => calls.length === 1);
    await until('it is told', async () => text().includes('"error"'));
    assert.doesNotMatch(text(), /business/);
    assert.match(text(), /"code":"internal"/);
    assert.deepEqual([calls[0]?.code, logged.length], ['INTERNAL', 2]);
  });

  it('that nobody reads ends, though it was to end otherwise', async (t) => {
    t.mock.timers.enable({ apis: ['setInterval'] });
    const { calls, view } = await seen(t, true);
    const watches = watchesOf(t, view);
    const { socket } = await rawConnection(t, view.port);
    socket.pause();
    socket.write(watchBytes({ authorization: 'Bearer secret-ops' }));
    await until('it has begun', async () => watches() === 1);
    await flood(view);
    view.keep('ada');
    view.endRevoked();
    await until('it watches no more', async () => watches() === 0);
    assert.deepEqual(calls, []);
    for (let looks = 0; looks < 3; looks += 1) t.mock.timers.tick(LOOK_EVERY_MS);
    await until('it is over', async () => calls.length === 1);
  });

  it('that was not read leaves its place when its reader goes', async (t) => {
    const { calls, view } = await seen(t);
    const watches = watchesOf(t, view);
    const { socket: slow } = await rawConnection(t, view.port);
    slow.pause();
    slow.write(watchBytes());
    await until('it has begun', async () => watches() === 1);
    await flood(view);
    slow.destroy();
    await until('it is over', async () => calls.length === 1);
    const others = await Promise.all(Array.from({ length: 16 }, () => rawConnection(t, view.port)));
    for (const { socket, read } of others) {
      read();
      socket.write(watchBytes());
    }
    await until('all others have a place', async () => watches() === 16);
  });
});

describe('an answer', () => {
  it('whose reader goes in the midst of it is a word to nobody: among the lines of the audit it would be none', async (t) => {
    const calls: string[] = [];
    const view = await consoleOf(t, { observe: ({ code }) => void calls.push(code) });
    await view.call('AdminService/ListQueues', {});
    const said = t.mock.method(console, 'error', () => {});
    const broken = Object.assign(new Error('write EPIPE'), { code: 'EPIPE' });
    function write(
      this: ServerResponse,
      _chunk: unknown,
      _encoding: unknown,
      written: (error: Error) => void,
    ): boolean {
      this.req.socket.destroy();
      process.nextTick(written, broken);
      return false;
    }
    const writing = t.mock.method(ServerResponse.prototype, 'write', write);
    await assert.rejects(view.call('AdminService/ListQueues', {}));
    writing.mock.restore();
    await view.call('AdminService/ListQueues', {});
    assert.deepEqual([calls, said.mock.callCount()], [['OK', 'OK', 'OK'], 0]);
  });

  const MUCH = Buffer.alloc(32 * 1_048_576);

  async function answering(t: Parameters<typeof consoleOf>[0], body: Buffer) {
    t.mock.timers.enable({ apis: ['setInterval'] });
    let response: ServerResponse | undefined;
    const server = createServer((_request, answer) => {
      response = answer;
      cutUnread(answer);
      if (body.length > 0) answer.end(body);
    }).listen(0, '127.0.0.1');
    t.after(() => {
      server.close();
      server.closeAllConnections();
    });
    await once(server, 'listening');
    const address = server.address();
    assert.ok(address !== null && typeof address === 'object');
    const { socket } = await rawConnection(t, address.port);
    socket.pause();
    socket.write('GET / HTTP/1.1\r\nhost: localhost\r\n\r\n');
    await until('it is asked', async () => response !== undefined);
    assert.ok(response !== undefined);
    return { socket, response };
  }

  it('that nobody reads is given up after 45 s at most', async (t) => {
    const { response } = await answering(t, MUCH);
    t.mock.timers.tick(2 * LOOK_EVERY_MS);
    assert.equal(response.destroyed, false);
    t.mock.timers.tick(LOOK_EVERY_MS);
    assert.equal(response.destroyed, true);
  });

  it('that is not there yet is waited for', async (t) => {
    const { response } = await answering(t, Buffer.alloc(0));
    t.mock.timers.tick(20 * LOOK_EVERY_MS);
    assert.equal(response.destroyed, false);
    response.end();
  });
});
