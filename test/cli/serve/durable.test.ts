/** `keyturn serve` with a data directory: processes that are killed, and sidecars that find what was kept. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { connect, type Keyturn } from '@keyturn/client';
import { yamlFile } from '../../config/yaml-file.js';
import { parseExposition, sampleValue } from '../../observability/exposition.js';
import { healthOf } from '../health.js';
import { command, type ServedHere, serveHere } from '../in-process.js';
import { type Cleanup, keyturn } from '../keyturn-process.js';
import { ServeProcess } from '../serve-process.js';

const DURABLE = 'queues: { orders: { durable: true, waiting_per_key: unlimited, lease: 60s } }';
const FREE_PORTS = ['--listen', '127.0.0.1:0', '--http-listen', '127.0.0.1:0'];

function dataDirectory(t: TestContext): string {
  const directory = mkdtempSync(join(tmpdir(), 'keyturn-'));
  t.after(() => rmSync(directory, { recursive: true, maxRetries: 5 }));
  return join(directory, 'data');
}

/** A sidecar that the test can stop before its end. */
async function startHere(t: TestContext, dataDir: string): Promise<ServedHere & { stop(): Promise<void> }> {
  const tasks: Parameters<Cleanup['after']>[0][] = [];
  const stop = async () => {
    for (const task of tasks.splice(0).reverse()) await task();
  };
  const sidecar = await serveHere({ after: (task) => void tasks.push(task) }, DURABLE, { dataDir });
  t.after(stop);
  return { ...sidecar, stop };
}

async function client(t: TestContext, sidecar: ServeProcess): Promise<Keyturn> {
  const made = connect(await sidecar.address('grpc'), { transport: 'unary' });
  t.after(() => made.close());
  return made;
}

function take(keyturnClient: Keyturn) {
  return keyturnClient.acquire({ queues: ['orders'], maxTurns: 10 });
}

test('what was answered outlives SIGKILL: items, and the turn of a worker that goes on as if nothing had happened', async (t) => {
  const args = ['--config', yamlFile(t, DURABLE), '--data-dir', dataDirectory(t)];
  const first = await ServeProcess.start(t, args);
  const before = await client(t, first);
  const items = [1, 2, 3].map((n) => ({ key: `k${n}`, itemId: `i${n}`, payload: Buffer.from(`p${n}`) }));
  await before.submit({ queue: 'orders', items });
  const { deliveries } = await before.acquire({ queues: ['orders'] });
  const turn = deliveries[0]?.turn ?? assert.fail('no turn');
  first.signal('SIGKILL');
  await first.exited;

  const second = await ServeProcess.start(t, args);
  await second.logged('recovered');
  assert.deepEqual(await second.get('/readyz'), { status: 200, body: 'ready\n' });
  assert.equal(await healthOf(await second.address('grpc')), 'SERVING');
  const after = await client(t, second);
  const rest = await take(after);
  assert.deepEqual(
    rest.deliveries.map(({ turn: { key }, items: [item] }) => [key, Buffer.from(item?.payload ?? []).toString()]),
    [
      ['k2', 'p2'],
      ['k3', 'p3'],
    ],
  );
  assert.ok(
    rest.deliveries.every(({ turn: { token } }) => token > turn.token),
    'I5',
  );
  await after.ack({ queue: 'orders', key: turn.key, token: turn.token });
  assert.equal((await after.awaitItem({ queue: 'orders', itemId: 'i1' })).state, 'done');
  const metrics = parseExposition((await second.get('/metrics')).body);
  assert.ok((sampleValue(metrics, 'keyturn_journal_commit_seconds_count', {}) ?? 0) > 0);
  assert.ok((sampleValue(metrics, 'keyturn_journal_batch_rows_sum', {}) ?? 0) > 0);
});

test('SIGTERM loses nothing that is durable, and says so', async (t) => {
  const directory = dataDirectory(t);
  const first = await ServeProcess.start(t, ['--config', yamlFile(t, DURABLE), '--data-dir', directory]);
  const before = await client(t, first);
  await before.submit({ queue: 'orders', items: [{ key: 'a' }] });
  await before.submit({ queue: 'orders', items: [{ key: 'b' }], durability: 'interval' });
  await before.submit({ queue: 'orders', items: [{ key: 'c' }], durability: 'memory' });
  await before.submit({ queue: 'other', items: [{ key: 'd' }] });
  first.signal('SIGTERM');
  assert.equal(await first.exited, 0);
  assert.equal((await first.logged('stopped'))['lost_items'], 2);
  const second = await startHere(t, directory);
  const { deliveries } = await take(second.client);
  assert.deepEqual(
    deliveries.map(({ turn }) => turn.key),
    ['a', 'b'],
  );
});

test('a directory that another sidecar has: a clear error, exit code 1, and the other one goes on', async (t) => {
  const directory = dataDirectory(t);
  const sidecar = await startHere(t, directory);
  const args = ['--config', yamlFile(t, DURABLE), '--data-dir', directory];
  const { exitCode, stderr } = await keyturn(['serve', ...args, ...FREE_PORTS]);
  assert.equal(exitCode, 1);
  assert.match(stderr, /^keyturn: data_dir: .*in use by process \d+/m);
  assert.doesNotMatch(stderr, /^\s+at |listening/m);
  assert.equal((await sidecar.get('/readyz')).status, 200);
});

test('data of a queue that is not durable any more: a clear error, exit code 2, and the data stays', async (t) => {
  const directory = dataDirectory(t);
  const first = await startHere(t, directory);
  await first.client.submit({ queue: 'orders', items: [{ key: 'a' }] });
  await first.stop();
  const { exitCode, stderr } = await keyturn(['serve', '--data-dir', directory, ...FREE_PORTS]);
  assert.equal(exitCode, 2);
  assert.match(stderr, /^keyturn: data_dir: .*orders \(1 items, 0 dead letters, 0 live turns\)/m);
  const again = await startHere(t, directory);
  assert.equal((await take(again.client)).deliveries.length, 1);
});

for (const [what, path] of [
  ['below a file', (file: string) => join(file, 'data')],
  ['where a file stands', (file: string) => file],
  // Node's own recursive mkdir never returns there.
  ['where none can be made', () => '/proc/keyturn/data'],
] as const) {
  test(`a directory ${what}: a clear error that names it and the setting, exit code 2`, async (t) => {
    const directory = path(yamlFile(t, ''));
    const { exitCode, stderr } = await command(['serve', '--data-dir', directory]);
    assert.equal(exitCode, 2);
    assert.ok(stderr.startsWith('keyturn: data_dir: ') && stderr.includes(directory), stderr);
    assert.match(stderr, /name a directory: --data-dir, KEYTURN_DATA_DIR or data_dir/);
  });
}
