/** What the audit tells of a call, and what it leaves out. */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { connect, type Keyturn } from '@keyturn/client';
import { DEFAULT_LIMITS } from '../../../src/core/contract/limits.js';
import type { Audited } from '../../../src/grpc/call/audit.js';
import { fieldsOf } from '../../../src/grpc/call/audit.js';
import { startGrpcServer } from '../../../src/grpc/server/server.js';
import { localCoordinator } from '../../support/local-coordinator.js';

type Entry = Parameters<Audited>[0];

async function audited(t: TestContext): Promise<{ readonly client: Keyturn; readonly told: Entry[] }> {
  const told: Entry[] = [];
  const server = await startGrpcServer({
    listen: '127.0.0.1:0',
    coordinator: localCoordinator(t),
    limits: DEFAULT_LIMITS,
    observe: () => {},
    log: { info() {}, warn() {}, error: (fields) => assert.fail(JSON.stringify(fields)) },
    audited: (entry) => told.push(entry),
  });
  t.after(() => server.forceStop());
  const client = connect(server.address, { transport: 'unary' });
  t.after(() => client.close({ timeout: 0 }));
  return { client, told };
}

test('a change is told once, with what was asked and what came of it', async (t) => {
  const { client, told } = await audited(t);
  await client.submit('orders', { key: 'k', payload: Buffer.from('secret') });
  await client.admin.pauseQueue('orders');
  await client.admin.discard({ queue: 'orders' }, true);
  assert.deepEqual(
    told.map(({ call, asked, outcome }) => [call, asked['queue'], outcome]),
    [
      ['AdminService/PauseQueue', 'orders', 'OK'],
      ['AdminService/Discard', 'orders', 'OK'],
    ],
  );
  const { discarded, chosen } = fieldsOf(told[1]?.told);
  assert.deepEqual([discarded, chosen], [1, 1]);
  assert.equal(told[0]?.who, undefined);
  assert.match(told[0]?.from ?? '', /^127\.0\.0\.1:\d+$/);
});

test('why somebody changes something is told; of who says nothing nothing is', async (t) => {
  const { client, told } = await audited(t);
  const reason = 'ticket 4711: the receiver is down';
  await client.admin.pauseQueue('orders', { reason });
  await client.admin.resumeQueue('orders');
  assert.deepEqual(
    told.map(({ asked }) => asked['reason']),
    [reason, undefined],
  );
  const long = client.admin.pauseQueue('orders', { reason: 'r'.repeat(257) });
  await assert.rejects(long, /reason.*256 bytes/);
});

test('what only looks is not told, and what was refused is told with its reason', async (t) => {
  const { client, told } = await audited(t);
  await client.admin.listQueues();
  await client.admin.setLimits('orders', { rate: undefined, maxInFlight: undefined });
  assert.equal(told.length, 0);
  await assert.rejects(client.admin.pauseQueue(''));
  assert.deepEqual(
    told.map(({ call, outcome }) => [call, outcome]),
    [['AdminService/PauseQueue', 'INVALID_ARGUMENT']],
  );
  assert.match(String(told[0]?.told), /queue/);
});

test('a list of dead letters is told when it shows what they carry, without that', async (t) => {
  const { client, told } = await audited(t);
  await client.admin.listDeadLetters({ queue: 'orders' });
  assert.equal(told.length, 0);
  await client.submit('orders', { key: 'k', payload: Buffer.from('secret'), headers: { h: 'hidden' } });
  const { deliveries } = await client.acquire({ queues: ['orders'] });
  const token = deliveries[0]?.turn.token ?? assert.fail('no turn');
  await client.nack({ queue: 'orders', key: 'k', token, kind: 'dead_letter' });
  await client.admin.listDeadLetters({ queue: 'orders' });
  assert.deepEqual(
    told.map(({ call }) => call),
    ['AdminService/ListDeadLetters'],
  );
  assert.deepEqual(told[0]?.told, { deadLetters: { count: 1 }, nextPageToken: '', unavailable: [] });
  assert.doesNotMatch(JSON.stringify(told), /secret|hidden/);
});

test('long texts and lists are cut', async (t) => {
  const { client, told } = await audited(t);
  await client.submit('orders', { key: 'k', payload: Buffer.alloc(0) });
  const itemIds = Array.from({ length: 100 }, (_, at) => `item-${at}`);
  await client.admin.discard({ queue: 'orders', itemIds }, false);
  assert.deepEqual(told[0]?.asked['itemIds'], { count: 100 });
  await client.admin.pauseQueue('q'.repeat(5_000)).catch(() => undefined);
  assert.ok(String(told[1]?.asked['queue']).length < 300);
});
