/** S334, S335: sidecars that are told to end let turns end that live elsewhere, as processes. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { connect, type Keyturn } from '@keyturn/client';
import { ServeProcess } from '../cli/serve-process.js';
import { needs } from '../support/needed-program.js';
import { REDIS, TestRedis } from '../support/redis.js';

/** So long that a turn which is waited for in vain fails the test. */
const TIMEOUT = '120s';

async function hold(client: Keyturn, key: string) {
  const answer = await client.enQueue({ queue: 'orders', key, lease: 60_000 });
  return answer.decision === 'accept' ? answer.turn : assert.fail(answer.decision);
}

test('a gateway and the only home that end at once answer the last calls of workers', needs([REDIS]), async (t) => {
  const redis = await TestRedis.start(t);
  const args = ['--store', redis.url, '--drain-timeout', TIMEOUT];
  const home = await ServeProcess.start(t, args);
  const gateway = await ServeProcess.start(t, [...args, '--cluster-weight', '0']);
  const address = await gateway.address('grpc');
  const clients = [connect(address, { transport: 'unary' }), connect(address)];
  t.after(() => Promise.all(clients.map((client) => client.close({ timeout: 0 }))));
  const turns = await Promise.all(clients.map((client, number) => hold(client, `key ${number}`)));
  for (const sidecar of [gateway, home]) sidecar.signal('SIGTERM');
  for (const sidecar of [gateway, home]) await sidecar.logged('draining');
  assert.deepEqual(await gateway.get('/readyz'), { status: 503, body: 'not ready: draining\n' });
  for (const [number, turn] of turns.entries()) await clients[number]?.deQueue(turn);
  for (const sidecar of [gateway, home]) {
    assert.equal(await sidecar.exited, 0);
    const { level, live_turns } = await sidecar.logged('stopped');
    assert.deepEqual({ level, live_turns }, { level: 'info', live_turns: 0 });
  }
});
