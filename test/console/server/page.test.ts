/** S473: the files of the page, and what every answer says. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { answerOf, consoleOf } from './console.js';

const FILES = {
  'index.html': '<!doctype html><title>start</title>',
  'console.js': `export const text = ${JSON.stringify('x'.repeat(5_000))};`,
  'chart-ABCD1234.js': 'export {};',
  'secret.txt': 'no file of the page',
};
const HTML = { accept: 'text/html,*/*' };

describe('a file of the page', () => {
  it('comes compressed to whom can read that, and is asked for again by its tag', async (t) => {
    const { ask, open } = await consoleOf(t, { files: FILES });
    const plain = await ask('/console.js');
    assert.equal(plain.body, FILES['console.js']);
    assert.equal(plain.headers['content-type'], 'text/javascript; charset=utf-8');
    const packed = await open('/console.js', { headers: { 'accept-encoding': 'gzip' } });
    const chunks: Buffer[] = [];
    for await (const chunk of packed) chunks.push(Buffer.from(chunk));
    assert.equal(gunzipSync(Buffer.concat(chunks)).toString(), FILES['console.js']);
    const again = await ask('/console.js', { headers: { 'if-none-match': String(plain.headers.etag) } });
    assert.deepEqual([again.status, again.body], [304, '']);
    assert.equal((await answerOf(await open('/console.js', { method: 'HEAD' }))).body, '');
  });

  it('is kept for ever only when its name is that of its content', async (t) => {
    const { ask } = await consoleOf(t, { files: FILES });
    assert.match((await ask('/chart-ABCD1234.js')).headers['cache-control'] ?? '', /immutable/);
    assert.equal((await ask('/console.js')).headers['cache-control'], 'no-cache');
  });

  it('is the start for a place within the page', async (t) => {
    const { ask } = await consoleOf(t, { files: FILES });
    for (const path of ['/', '/queue/orders.eu', '/queue/a%2Fb/key/%00', '/events?queue=x'])
      assert.match((await ask(path, { headers: HTML })).body, /start/, path);
  });

  it('is no other file of this machine', async (t) => {
    const { ask } = await consoleOf(t, { files: FILES });
    const paths = [
      '/secret.txt',
      '/../console.js',
      '/..%2f..%2fetc%2fpasswd',
      '/%2e%2e/package.json',
      '/nothing.js',
      '//etc/passwd',
    ];
    for (const path of paths) assert.equal((await ask(path)).status, 404, path);
    assert.equal((await ask('/', { method: 'PUT' })).status, 405);
  });

  it('is missed with a word on how it is made', async (t) => {
    const { ask } = await consoleOf(t, { files: {} });
    const { status, body } = await ask('/', { headers: HTML });
    assert.equal(status, 503);
    assert.match(body, /npm run build/);
  });
});

it('every answer forbids scripts of others, frames and guesses', async (t) => {
  const { ask, call } = await consoleOf(t, { files: FILES });
  const answers = [
    await ask('/', { headers: HTML }),
    await ask('/console.js'),
    await ask('/nothing.js'),
    await ask('/session'),
    await ask('/', { headers: { host: 'evil.example' } }),
    await call('AdminService/ListQueues', {}),
    await call('AdminService/PauseQueue', { queue: 'q' }),
  ];
  for (const { headers, status } of answers) {
    const policy = String(headers['content-security-policy']);
    for (const part of [
      /default-src 'none'/,
      /script-src 'self'(;|$)/,
      /frame-ancestors 'none'/,
      /require-trusted-types-for 'script'/,
    ])
      assert.match(policy, part, String(status));
    assert.doesNotMatch(policy, /unsafe|\*/);
    assert.equal(headers['x-content-type-options'], 'nosniff');
    assert.equal(headers['referrer-policy'], 'no-referrer');
    assert.equal(headers['access-control-allow-origin'], undefined);
  }
});
