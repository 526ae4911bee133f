/** S466, S467: under which names the console may be asked, and from which pages. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { consoleOf, jsonOf } from './console.js';

describe('the name under which the console is asked', () => {
  const OURS = [
    'localhost',
    'localhost:1',
    'LOCALHOST.',
    '127.0.0.1',
    '[::1]:7422',
    'console.example',
    'CONSOLE.example:443',
  ];
  const FOREIGN = [
    'evil.example',
    'localhost.evil.example',
    '10.0.0.1',
    '127.0.0.2',
    '[::2]',
    'localhost@evil.example',
    'a b',
    'localhost:65536',
  ];

  it('is this machine, the address, or one that the settings name', async (t) => {
    const { ask } = await consoleOf(t, { names: ['Console.example'] });
    for (const host of OURS) assert.equal((await ask('/session', { headers: { host } })).status, 200, host);
  });

  it('is no other: a name that somebody points here reaches nothing (DNS rebinding)', async (t) => {
    const { ask, call } = await consoleOf(t, { names: ['console.example'] });
    for (const host of FOREIGN) {
      assert.equal((await ask('/', { headers: { host } })).status, 421, host);
      assert.equal((await call('AdminService/ListQueues', {}, { host })).status, 421, host);
    }
  });

  it('is told how to be added', async (t) => {
    const { ask } = await consoleOf(t);
    assert.match((await ask('/', { headers: { host: 'proxy.example' } })).body, /console_hosts/);
  });
});

describe('where a call comes from', () => {
  const LOOK = ['AdminService/ListQueues', {}] as const;
  const CHANGE = ['AdminService/PauseQueue', { queue: 'q' }] as const;
  const SAME = (port: number) => ({ origin: `http://127.0.0.1:${port}` });

  it('is the page itself', async (t) => {
    const { call, port } = await consoleOf(t);
    for (const [method, message] of [LOOK, CHANGE]) {
      const headers = { 'sec-fetch-site': 'same-origin', ...SAME(port) };
      assert.equal((await call(method, message, headers)).status, 200, method);
    }
  });

  it('is the page itself also where browsers say no more than its origin: over plain HTTP beyond loopback', async (t) => {
    const { call } = await consoleOf(t, { names: ['sidecar.example'] });
    const host = 'sidecar.example:7422';
    assert.equal((await call(...CHANGE, { host, origin: `http://${host}` })).status, 200);
    assert.equal((await call(...CHANGE, { host, origin: 'http://sidecar.example' })).status, 403);
    assert.equal((await call(...CHANGE, { host })).status, 403);
  });

  it('is a tool: it may look; to change something it says so, or shows a token', async (t) => {
    const { call } = await consoleOf(t);
    assert.equal((await call(...LOOK)).status, 200);
    const refused = await call(...CHANGE);
    assert.equal(refused.status, 403);
    assert.match(String(jsonOf(refused)['message']), /authorization: Bearer TOKEN.*Sec-Fetch-Site: same-origin/);
    const { call: asked } = await consoleOf(t, { auth: true });
    assert.equal((await asked(...CHANGE, { authorization: 'Bearer secret-ops' })).status, 200);
  });

  it('is shown by no password that a browser adds by itself', async (t) => {
    const { call } = await consoleOf(t);
    for (const authorization of ['Basic b3BzOng=', 'Bearer', 'Digest x'])
      assert.equal((await call(...CHANGE, { authorization })).status, 403, authorization);
  });

  it('is no other page: neither what looks nor what changes is taken from it, and no answer lets it read', async (t) => {
    const { call, ask, coordinator } = await consoleOf(t);
    for (const site of ['cross-site', 'same-site', 'none', 'nonsense'])
      for (const [method, message] of [LOOK, CHANGE])
        assert.equal((await call(method, message, { 'sec-fetch-site': site })).status, 403, `${site} ${method}`);
    for (const origin of ['https://evil.example', 'null', 'http://127.0.0.1:1', 'http://localhost'])
      for (const [method, message] of [LOOK, CHANGE]) {
        const { status, headers } = await call(method, message, { origin });
        assert.equal(status, 403, `${origin} ${method}`);
        assert.equal(headers['access-control-allow-origin'], undefined);
      }
    assert.equal((await ask('/session', { headers: { 'sec-fetch-site': 'cross-site' } })).status, 403);
    assert.equal((await ask('/keyturn.v1.AdminService/ListQueues', { method: 'OPTIONS' })).status, 405);
    assert.deepEqual(coordinator.stats().queues, []);
  });

  it('may be a link to the page: it opens, and shows nothing that needs a login', async (t) => {
    const { ask } = await consoleOf(t);
    const headers = { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate', accept: 'text/html' };
    assert.equal((await ask('/queue/orders', { headers })).status, 200);
  });
});
