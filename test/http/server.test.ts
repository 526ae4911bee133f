import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { describe, type TestContext, test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { type HttpOptions, type HttpServer, startHttpServer } from '../../src/http/server.js';
import { deferred } from '../support/deferred.js';
import { until } from '../support/until.js';

async function listening(t: TestContext, differs: Partial<HttpOptions> = {}): Promise<HttpServer> {
  const server = await startHttpServer({
    host: '127.0.0.1',
    port: 0,
    metrics: async () => ({
      contentType: 'text/plain; version=0.0.4',
      body: ['a 1\n', 'µ 2\n'].map((piece) => Buffer.from(piece)),
    }),
    notReady: () => undefined,
    log: { error: (_fields, message) => assert.fail(message) },
    ...differs,
  });
  t.after(() => server.forceStop());
  return server;
}

interface Case {
  readonly what: string;
  readonly path: string;
  readonly method?: string;
  readonly status: number;
  readonly body: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly notReady?: string;
  readonly remark?: string;
}

const NOT_FOUND = 'not found; there are /metrics, /healthz, /readyz\n';

const CASES: readonly Case[] = [
  {
    what: 'the metrics',
    path: '/metrics',
    status: 200,
    body: 'a 1\nµ 2\n',
    headers: { 'content-type': 'text/plain; version=0.0.4', 'content-length': '9' },
  },
  { what: 'the metrics, with a query', path: '/metrics?name[]=a', status: 200, body: 'a 1\nµ 2\n' },
  {
    what: 'the head of the metrics',
    path: '/metrics',
    method: 'HEAD',
    status: 200,
    body: '',
    headers: { 'content-length': '9' },
  },
  { what: 'alive', path: '/healthz', status: 200, body: 'ok\n', headers: { 'cache-control': 'no-store' } },
  { what: 'alive, though it drains', path: '/healthz', notReady: 'draining', status: 200, body: 'ok\n' },
  { what: 'ready', path: '/readyz', status: 200, body: 'ready\n' },
  {
    what: 'ready, and what is to be known besides',
    path: '/readyz',
    remark: 'no turns yet',
    status: 200,
    body: 'ready; no turns yet\n',
  },
  {
    what: 'not ready while it drains',
    path: '/readyz',
    notReady: 'draining',
    status: 503,
    body: 'not ready: draining\n',
  },
  { what: 'not ready, asked by HEAD', path: '/readyz', notReady: 'starting', method: 'HEAD', status: 503, body: '' },
  { what: 'nothing at the root', path: '/', status: 404, body: NOT_FOUND },
  { what: 'nothing below a path', path: '/metrics/', status: 404, body: NOT_FOUND },
  { what: 'no names of Object', path: '/constructor', status: 404, body: NOT_FOUND },
  {
    what: 'no POST',
    path: '/metrics',
    method: 'POST',
    status: 405,
    body: 'only GET and HEAD\n',
    headers: { allow: 'GET, HEAD' },
  },
  { what: 'no DELETE of what is not there', path: '/x', method: 'DELETE', status: 404, body: NOT_FOUND },
];

describe('answers', () => {
  for (const { what, path, method = 'GET', status, body, headers = {}, notReady, remark } of CASES) {
    test(what, async (t) => {
      const { port } = await listening(t, { notReady: () => notReady, remark: () => remark });
      const response = await fetch(`http://127.0.0.1:${port}${path}`, { method });
      assert.equal(response.status, status);
      assert.equal(await response.text(), body);
      for (const [name, value] of Object.entries(headers)) assert.equal(response.headers.get(name), value, name);
    });
  }

  test('a body that nobody wants is read and dropped', async (t) => {
    const { port } = await listening(t);
    const response = await fetch(`http://127.0.0.1:${port}/metrics`, { method: 'POST', body: 'x'.repeat(1_000_000) });
    assert.equal(response.status, 405);
  });

  test('a scrape that fails is 500, says nothing of the inside, and is logged', async (t) => {
    const logged: string[] = [];
    const metrics = () => Promise.reject(new Error('secret'));
    const { port } = await listening(t, { metrics, log: { error: (_fields, message) => logged.push(message) } });
    const response = await fetch(`http://127.0.0.1:${port}/metrics`);
    assert.equal(response.status, 500);
    assert.equal(await response.text(), 'internal error\n');
    assert.deepEqual(logged, ['HTTP request failed']);
  });
});

/** @param side `open`: the client may have more to say */
async function raw(port: number, text: string, side: 'closed' | 'open' = 'closed'): Promise<string> {
  const socket = connect(port, '127.0.0.1');
  if (side === 'open') socket.write(text);
  else socket.end(text);
  const chunks: Buffer[] = [];
  for await (const chunk of socket) chunks.push(Buffer.from(chunk));
  return Buffer.concat(chunks).toString();
}

describe('what is no request', () => {
  test('nonsense is 400', async (t) => {
    const { port } = await listening(t);
    assert.match(await raw(port, 'nonsense\r\n\r\n'), /^HTTP\/1\.1 400 /);
  });

  test('headers larger than 8 KiB are 431', async (t) => {
    const { port } = await listening(t);
    const request = `GET /healthz HTTP/1.1\r\nhost: x\r\nx: ${'y'.repeat(9_000)}\r\n\r\n`;
    assert.match(await raw(port, request), /^HTTP\/1\.1 431 /);
  });
});

describe('the life of the server', () => {
  test('a port in use is an error that names it', async (t) => {
    const { port } = await listening(t);
    await assert.rejects(listening(t, { port }), { code: 'EADDRINUSE', port });
  });

  test('an address that is not of this machine is an error', async (t) => {
    await assert.rejects(listening(t, { host: '192.0.2.1' }), { code: 'EADDRNOTAVAIL' });
  });

  test('after stop nobody gets in', async (t) => {
    const server = await listening(t);
    await fetch(`http://127.0.0.1:${server.port}/healthz`).then((response) => response.text());
    server.forceStop();
    await assert.rejects(fetch(`http://127.0.0.1:${server.port}/healthz`));
  });

  for (const [host, status] of [
    ['localhost', 200],
    ['127.0.0.1:1', 200],
    ['[::1]', 200],
    ['Metrics.Example:80', 200],
    ['evil.example', 421],
    ['127.0.0.1.evil.example', 421],
    ['', 421],
  ] as const)
    test(`S587: with names, asked for as ${JSON.stringify(host)}: ${status}`, async (t) => {
      const { port } = await listening(t, { names: new Set(['metrics.example']) });
      const answer = await raw(port, `GET /metrics HTTP/1.1\r\nhost: ${host}\r\nconnection: close\r\n\r\n`, 'open');
      assert.equal(answer.split(' ')[1], String(status));
      assert.equal(answer.includes('a 1'), status === 200);
      if (status !== 200) assert.match(answer, /name it in http_hosts/);
    });

  test('S587: two Host headers are refused', async (t) => {
    const { port } = await listening(t, { names: new Set() });
    const answer = await raw(
      port,
      'GET /metrics HTTP/1.1\r\nhost: localhost\r\nhost: evil.example\r\nconnection: close\r\n\r\n',
      'open',
    );
    assert.match(answer, /^HTTP\/1\.1 4\d\d /);
  });

  test('stopping twice is harmless', async (t) => {
    const server = await listening(t);
    server.forceStop();
    server.forceStop();
  });

  test('of 600 silent connections the oldest make room: whoever comes is answered', async (t) => {
    const { port } = await listening(t);
    const sockets: Socket[] = [];
    t.after(() => sockets.forEach((socket) => void socket.destroy()));
    for (let index = 0; index < 600; index += 1) {
      const socket = connect(port, '127.0.0.1');
      socket.on('error', () => {});
      sockets.push(socket.resume());
      await once(socket, 'connect');
      // Half of them begin a request and go no further.
      if (index % 2 === 0) socket.write('GET /healthz HTTP/1.1\r\nhost:');
      if (index % 100 === 99) assert.equal((await fetch(`http://127.0.0.1:${port}/healthz`)).status, 200);
    }
    await until(() => sockets.filter(({ closed }) => !closed).length <= 256);
    assert.ok(
      sockets.slice(0, 300).every(({ closed }) => closed),
      'the oldest are gone',
    );
  });

  test('a scrape that is being answered keeps its place', async (t) => {
    const gate = deferred();
    const metrics = () => gate.promise.then(() => ({ contentType: 'text/plain', body: [Buffer.from('late\n')] }));
    const { port } = await listening(t, { metrics });
    const scrape = raw(port, 'GET /metrics HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n', 'open');
    const sockets: Socket[] = [];
    t.after(() => sockets.forEach((socket) => void socket.destroy()));
    for (let index = 0; index < 300; index += 1) {
      const socket = connect(port, '127.0.0.1');
      sockets.push(socket.on('error', () => {}).resume());
      await once(socket, 'connect');
    }
    gate.resolve();
    assert.match(await scrape, /late/);
  });

  test('of 300 that ask and do not read, those that asked first make room: a probe is answered', async (t) => {
    // More than the kernel takes.
    const body = Array.from({ length: 128 }, () => Buffer.alloc(65_536, 'x'));
    const { port } = await listening(t, { metrics: async () => ({ contentType: 'text/plain', body }) });
    const sockets: Socket[] = [];
    t.after(() => sockets.forEach((socket) => void socket.destroy()));
    for (let index = 0; index < 300; index += 1) {
      const socket = connect(port, '127.0.0.1');
      sockets.push(socket.on('error', () => {}).pause());
      socket.write('GET /metrics HTTP/1.1\r\nhost: x\r\n\r\n');
      await once(socket, 'readable');
    }
    assert.equal((await fetch(`http://127.0.0.1:${port}/healthz`)).status, 200);
  });

  test('a few requests at once on one connection are answered in order, of thousands none costs anybody anything', async (t) => {
    let scrapes = 0;
    const metrics = async () => {
      scrapes += 1;
      return { contentType: 'text/plain', body: [Buffer.from('told\n')] };
    };
    const { port } = await listening(t, { metrics });
    const request = 'GET /metrics HTTP/1.1\r\nhost: x\r\n\r\n';
    const last = 'GET /healthz HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n';
    const answers = await raw(port, request.repeat(7) + last, 'open');
    assert.deepEqual(answers.match(/^HTTP\/1\.1 .*$|^(told|ok)$/gm), [
      ...Array.from({ length: 7 }, () => ['HTTP/1.1 200 OK', 'told']).flat(),
      ...['HTTP/1.1 200 OK', 'ok'],
    ]);
    scrapes = 0;
    await raw(port, request.repeat(1_000), 'open').catch(() => {});
    assert.ok(scrapes <= 8, `${scrapes} scrapes`);
  });

  test('an answer is begun when those before it on its connection are sent: who goes leaves none behind', async (t) => {
    const piece = Buffer.alloc(65_536, 'x');
    let asked = 0;
    let begun = 0;
    const metrics = async () => {
      asked += 1;
      // More than the kernel takes.
      const body = Array.from({ length: 128 }, () => piece);
      body[Symbol.iterator] = () => {
        begun += 1;
        return body.values();
      };
      return { contentType: 'text/plain', body };
    };
    const { port } = await listening(t, { metrics });
    const socket = connect(port, '127.0.0.1').pause();
    t.after(() => socket.destroy());
    const request = 'GET /metrics HTTP/1.1\r\nhost: x\r\n\r\n';
    socket.write(request.repeat(2));
    await once(socket, 'readable');
    await until(() => asked === 2);
    for (let turn = 0; turn < 10; turn += 1) await nextTurn();
    assert.equal(begun, 1);
    socket.resume();
    await until(() => begun === 2);
  });

  test('a long answer is sent piece by piece, others get their say in between', async (t) => {
    const body = Array.from({ length: 20 }, () => Buffer.alloc(1_000, 'x'));
    let turn = 0;
    const count = () => {
      turn += 1;
      next = setImmediate(count);
    };
    let next = setImmediate(count);
    t.after(() => clearImmediate(next));
    const taken: number[] = [];
    body[Symbol.iterator] = function* (): Generator<Buffer<ArrayBuffer>, undefined> {
      for (const [, piece] of body.entries()) {
        taken.push(turn);
        yield piece;
      }
      return undefined;
    };
    const { port } = await listening(t, { metrics: async () => ({ contentType: 'text/plain', body }) });
    const response = await fetch(`http://127.0.0.1:${port}/metrics`);
    assert.equal((await response.text()).length, 20_000);
    assert.equal(new Set(taken).size, 20, 'each in a turn of its own');
  });

  test('headers that do not come are waited for two seconds, not longer', async (t) => {
    const { port } = await listening(t);
    const since = performance.now();
    assert.match(await raw(port, 'GET /healthz HTTP/1.1\r\nhost: x\r\n', 'open'), /^HTTP\/1\.1 408 |^$/);
    const took = performance.now() - since;
    assert.ok(took > 1_500, `${took} ms`);
  });
});
