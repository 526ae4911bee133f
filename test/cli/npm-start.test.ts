/** `npm start`: npm passes signals on that the process has got already. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { connect } from '@keyturn/client';
import { read } from '../project/repository.js';
import { ServeProcess } from './serve-process.js';

test('one Ctrl-C that arrives twice drains, and does not end it now', async (t) => {
  const sidecar = await ServeProcess.start(t, [], { npm_lifecycle_event: 'start' });
  const client = connect(await sidecar.address('grpc'), { transport: 'unary' });
  t.after(() => client.close());
  const answer = await client.enQueue({ queue: 'orders', key: 'a', lease: 60_000 });
  assert.ok(answer.decision === 'accept');
  sidecar.signal('SIGINT');
  // Two signals that are pending together are one; so the second one is sent when the first one has been taken.
  await sidecar.logged('draining');
  sidecar.signal('SIGINT');
  await client.deQueue({ queue: 'orders', key: 'a', token: answer.turn.token });
  assert.equal(await sidecar.exited, 0);
  assert.deepEqual(
    sidecar.lines.map(({ msg }) => msg),
    ['listening', 'draining; a second signal ends it now', 'stopped'],
  );
});

test('npm passes signals on to the sidecar itself, not to a shell that would leave it behind', () => {
  assert.match(read('package.json').text, /"start": "exec node /);
});
