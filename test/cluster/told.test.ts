/** What sidecars of a cluster tell of it: GetCluster, `keyturn cluster`, metrics and the log, over a real Redis. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { connect, KeyturnError } from '@keyturn/client';
import { command } from '../cli/in-process.js';
import { ServeProcess } from '../cli/serve-process.js';
import { parseExposition } from '../observability/exposition.js';
import { total } from '../operating/recounted-metrics.js';
import { backwards } from '../support/backwards.js';
import { needs } from '../support/needed-program.js';
import { REDIS, TestRedis } from '../support/redis.js';
import { SidecarHere } from '../support/sidecar-here.js';

const cluster = (...args: readonly string[]) => command(['cluster', ...args]);

interface Told {
  readonly name: string;
  readonly partitions: number;
  readonly store: string;
  readonly registry: string;
  readonly members: readonly { readonly id: string; readonly address: string; readonly partitions: number }[];
  readonly homes: readonly { readonly partition: number; readonly member: string; readonly state: string }[];
}

/** Asks again until it is so: what others know arrives within a second. */
async function until<T>(ask: () => Promise<T>, isSo: (answer: T) => boolean): Promise<T> {
  for (;;) {
    const answer = await ask();
    if (isSo(answer)) return answer;
    await once(AbortSignal.timeout(50), 'abort');
  }
}

test('S302: every sidecar tells who is in the cluster and who decides about what', needs([REDIS]), async (t) => {
  const cleanup = backwards(t);
  const redis = await TestRedis.start(cleanup);
  const options = ['--store', redis.url, '--cluster-session', '2s', '--cluster-partitions', '4'];
  // A process of its own: it dies at the end.
  const first = await ServeProcess.start(cleanup, options);
  const address = await first.address('grpc');
  const client = connect(address, { transport: 'unary' });
  cleanup.after(() => client.close({ timeout: 0 }));
  const open = await until(
    () => client.admin.getCluster(),
    ({ homes }) => homes.every(({ state }) => state === 'open'),
  );
  assert.deepEqual(open.unavailable, []);
  assert.match(JSON.stringify((await first.logged('partitions: '))['claimed']), /^\[[0-3](,[0-3])*\]$/);
  for (const queue of ['a', 'b', 'c']) await client.submit(queue, { key: 'k' });

  const gateway = await SidecarHere.start(cleanup, [...options, '--cluster-weight', '0']);
  const at = ['--address', gateway.address('grpc')];
  const shown = await cluster('--json', ...at);
  assert.equal(shown.exitCode, 0, shown.stderr);
  const told: Told = JSON.parse(shown.stdout);
  assert.deepEqual(Object.keys(told), ['name', 'partitions', 'store', 'registry', 'members', 'homes', 'routes']);
  const [member] = told.members;
  assert.deepEqual(
    [told.name, told.partitions, told.store, told.registry, told.members.length],
    ['keyturn', 4, open.store, open.registry, 1],
  );
  assert.deepEqual([member?.address, member?.partitions], [address, 4]);
  const keys = ['id', 'name', 'peer', 'address', 'version', 'weight', 'state', 'partitions'];
  assert.deepEqual(Object.keys(member ?? {}), keys);
  const { homes } = await client.admin.getCluster();
  assert.deepEqual(told.homes, homes);
  assert.equal(
    homes.reduce((sum, { queues }) => sum + queues, 0),
    3,
  );
  const text = await cluster(...at);
  assert.match(
    text.stdout,
    /^cluster keyturn: 4 partitions in .*, rows in format 2\n\nMEMBER .*\n.* live +4 +3\n\nHOME .*\n.* open +4 +0-3\n$/,
  );
  const finalized = await cluster('finalize', ...at);
  assert.equal(finalized.stdout, 'nothing to finalize: rows are in format 2, the newest that this version knows\n');

  const scrape = async (sidecar: ServeProcess | SidecarHere) => parseExposition((await sidecar.get('/metrics')).body);
  const ofHome = await scrape(first);
  assert.equal(total(ofHome, 'keyturn_cluster_partitions', { state: 'open' }), 4);
  assert.equal(total(ofHome, 'keyturn_cluster_claims_total', { how: 'free' }), 4);
  assert.equal(total(ofHome, 'keyturn_cluster_members'), 1);
  assert.ok(total(ofHome, 'keyturn_store_write_seconds_count') > 0);
  const through = connect(gateway.address('grpc'), { transport: 'unary' });
  cleanup.after(() => through.close({ timeout: 0 }));
  await through.submit('a', { key: 'k' });
  const ofGateway = await scrape(gateway);
  assert.equal(total(ofGateway, 'keyturn_cluster_partitions', { state: 'elsewhere' }), 4);
  assert.equal(total(ofGateway, 'keyturn_cluster_forwarded_calls_total'), 1);

  first.signal('SIGKILL');
  await first.exited;
  const gone = await until(
    () => through.admin.getCluster(),
    ({ members }) => members.length === 0,
  );
  assert.ok(gone.homes.every(({ state, member: home }) => state === 'none' && home === ''));
  assert.deepEqual(new Set(gone.unavailable.map(({ partition }) => partition)), new Set([0, 1, 2, 3]));
});

test('S302: a sidecar that stands alone says that it does', async (t) => {
  const sidecar = await SidecarHere.start(t);
  const client = connect(sidecar.address('grpc'), { transport: 'unary' });
  t.after(() => client.close());
  await assert.rejects(client.admin.getCluster(), (error) => {
    assert.ok(error instanceof KeyturnError);
    assert.deepEqual([error.code, error.reason], ['FAILED_PRECONDITION', 'NO_CLUSTER']);
    return true;
  });
  const { exitCode, stderr } = await cluster('--address', sidecar.address('grpc'));
  assert.equal(exitCode, 1);
  assert.match(stderr, /this sidecar stands alone/);
});
