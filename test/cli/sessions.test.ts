/** S443: keyturn sessions. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { connect } from '@keyturn/client';
import { command, serveHere } from './in-process.js';

it('keyturn sessions tells who is connected and what they hold', async (t) => {
  const { address } = await serveHere(t);
  const none = await command(['sessions', '--address', address]);
  assert.deepEqual([none.exitCode, none.stdout], [0, 'no sessions\n']);
  const worker = connect(address, { transport: 'session', consumerId: 'w' });
  t.after(() => worker.close({ timeout: 0 }));
  let release = () => {};
  const done = new Promise<void>((resolve) => {
    release = resolve;
  });
  const held = worker.withTurn('orders', 'a key', async () => {
    const { stdout } = await command(['sessions', '--address', address]);
    assert.match(stdout, /^SESSION +PRINCIPAL +STREAM +TURNS +HOLDS$/m);
    assert.match(stdout, /^\S+ +- +open +1 +orders\/"a key"$/m);
    const told: unknown = JSON.parse((await command(['sessions', '--address', address, '--json'])).stdout);
    assert.match(JSON.stringify(told), /"turns":1,"held":\[{"queue":"orders","key":"a key","token":\d+/);
    const others = await command(['sessions', '--address', address, '--contains', 'nobody']);
    assert.equal(others.stdout, 'no sessions\n');
    const wrong = await command(['sessions', '--address', address, '--page-token', 'ä']);
    assert.notEqual(wrong.exitCode, 0);
    assert.match(wrong.stderr, /page_token/);
    release();
  });
  await Promise.all([held, done]);
});
