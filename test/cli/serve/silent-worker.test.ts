/** S586: a worker that is silent though its connection stands is found, and its key goes on. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { connect } from '@keyturn/client';
import { yamlFile } from '../../config/yaml-file.js';
import { NodeProcess } from '../../support/node-process.js';
import { ServeProcess } from '../serve-process.js';

it('a worker that is stopped (SIGSTOP) loses its turn within every + timeout + ttl', async (t) => {
  const config = yamlFile(t, 'session_keepalive: { every: 1s, timeout: 1s }\n');
  const sidecar = await ServeProcess.start(t, ['--config', config]);
  const address = await sidecar.address('grpc');
  const worker = new NodeProcess(t, new URL('./holding-worker.js', import.meta.url), { args: [address] });
  const { token } = await worker.says((said) => 'token' in said);
  worker.kill('SIGSTOP');
  const client = connect(address);
  t.after(() => client.close());
  // With the built-in keepalive it would be 11 s.
  const next = await client.enQueue({ queue: 'orders', key: 'k', wait: 9_000 });
  assert.equal(next.decision, 'accept');
  assert.ok(next.turn.token > Number(token));
});
