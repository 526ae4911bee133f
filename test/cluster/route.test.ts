/** `keyturn cluster route` and queues that are new to a cluster, over a real Redis: by way of any sidecar, while workers wait. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { connect, KeyturnError } from '@keyturn/client';
import { command } from '../cli/in-process.js';
import { keyturn } from '../cli/serve-process.js';
import { backwards } from '../support/backwards.js';
import { needs } from '../support/needed-program.js';
import { REDIS, TestRedis } from '../support/redis.js';
import { SidecarHere } from '../support/sidecar-here.js';

const cluster = (...args: readonly string[]) => command(['cluster', ...args]);

async function until<T>(ask: () => Promise<T>, isSo: (answer: T) => boolean): Promise<T> {
  for (;;) {
    const answer = await ask();
    if (isSo(answer)) return answer;
    await once(AbortSignal.timeout(50), 'abort');
  }
}

test(
  'S378, S380: a queue is routed anew by way of a gateway, and who waits for it waits on',
  needs([REDIS]),
  async (t) => {
    const cleanup = backwards(t);
    const redis = await TestRedis.start(cleanup);
    const options = ['--store', redis.url, '--cluster-session', '4s', '--cluster-partitions', '8'];
    const first = await SidecarHere.start(cleanup, options);
    await SidecarHere.start(cleanup, options);
    const gateway = await SidecarHere.start(cleanup, [...options, '--cluster-weight', '0']);
    const at = ['--address', gateway.address('grpc')];
    const client = connect(gateway.address('grpc'));
    cleanup.after(() => client.close({ timeout: 0 }));
    const here = connect(first.address('grpc'), { transport: 'unary' });
    cleanup.after(() => here.close());
    await until(
      () => client.admin.getCluster(),
      ({ homes, members }) => members.length === 2 && homes.every(({ state }) => state === 'open'),
    );
    const shown = await cluster('route', 'orders', ...at);
    assert.match(shown.stdout, /^orders: on its own, partition [0-7]\n$/);

    // It has an item: it stays, and the answer says so.
    await client.submit('orders', { key: 'k', itemId: 'one' });
    const inUse = await cluster('route', 'orders', '--group', 'shop', ...at);
    assert.equal(inUse.exitCode, 1);
    assert.match(inUse.stderr, /queue "orders" cannot be routed anew: it has 1 item; stop what submits to it/);
    const { deliveries } = await client.acquire({ queues: ['orders'], wait: 5_000 });
    const [delivery] = deliveries;
    assert.ok(delivery !== undefined);
    await client.ack(delivery.turn);
    await assert.rejects(here.admin.routeQueue({ queue: 'orders', spread: 4 }), (error) => {
      assert.ok(error instanceof KeyturnError);
      assert.deepEqual([error.code, error.reason], ['FAILED_PRECONDITION', 'NOT_ROUTABLE']);
      assert.match(error.message, /1 result or idempotency key that is remembered/);
      return true;
    });

    // A worker waits for the next item meanwhile, by way of the gateway, and another one at a member.
    const waiting = [
      client.acquire({ queues: ['orders'], wait: 60_000 }),
      here.acquire({ queues: ['orders'], wait: 60_000 }),
    ];
    const routed = await keyturn(['cluster', 'route', 'orders', '--spread', '4', '--accept-loss', '--json', ...at]);
    assert.equal(routed.code, 0, routed.stderr);
    const told: { readonly [field: string]: unknown; readonly partitions: readonly number[] } = JSON.parse(
      routed.stdout,
    );
    assert.deepEqual([told['queue'], told['group'], told['spread'], told['changed']], ['orders', 'orders', 4, true]);
    assert.ok(told.partitions.length > 1);
    for (const [key, itemId] of [
      ['a', 'two'],
      ['b', 'three'],
    ] as const)
      await here.submit('orders', { key, itemId });
    const turns = (await Promise.all(waiting)).flatMap(({ deliveries: some }) => some);
    const tokens = turns.map(({ turn }) => turn.token);
    assert.equal(tokens.length, 2);
    assert.ok(tokens.every((token) => token > delivery.turn.token));

    const listed = await cluster(...at);
    assert.match(listed.stdout, /\nQUEUE +ROUTE +PARTITIONS\norders +spread 4 +[0-7]/);
    const { routes, routesVersion } = await here.admin.getCluster();
    assert.deepEqual([routes.map(({ queue, spread }) => [queue, spread]), routesVersion], [[['orders', 4]], 2]);
    await assert.rejects(here.admin.routeQueue({ queue: 'orders', group: 'a', spread: 2 }), /one of the two/);
  },
);

test(
  'S382: a queue that is new to a cluster is taken in when a sidecar starts; one that says otherwise does not',
  needs([REDIS]),
  async (t) => {
    const folder = await mkdtemp(join(tmpdir(), 'keyturn-route-'));
    t.after(() => rm(folder, { recursive: true }));
    const cleanup = backwards(t);
    const redis = await TestRedis.start(cleanup);
    const options = ['--store', redis.url, '--cluster-session', '2s', '--cluster-partitions', '4'];
    const withConfig = async (name: string, yaml: string) => {
      const file = join(folder, name);
      await writeFile(file, yaml);
      return [...options, '--config', file];
    };
    await SidecarHere.start(cleanup, options);
    const second = await SidecarHere.start(
      cleanup,
      await withConfig('a.yaml', 'queues: { orders: { group: shop } }\n'),
    );
    const at = ['--address', second.address('grpc')];
    await until(
      () => cluster('route', 'orders', ...at),
      ({ stdout }) => stdout.startsWith('orders: group shop'),
    );
    const other = await keyturn([
      'serve',
      ...(await withConfig('b.yaml', 'queues: { orders: { spread: 2 } }\n')),
      '--listen',
      '127.0.0.1:0',
      '--http-listen',
      '127.0.0.1:0',
    ]);
    assert.equal(other.code, 1);
    assert.match(other.stderr, /queues\.orders: has spread 2, but in the cluster it has group shop/);
  },
);

test('says what it needs', async () => {
  const both = await cluster('route', 'q', '--group', 'a', '--spread', '2');
  assert.deepEqual([both.exitCode, /either --group or --spread/.test(both.stderr)], [2, true]);
  const loss = await cluster('route', 'q', '--accept-loss');
  assert.deepEqual([loss.exitCode, /--accept-loss changes nothing alone/.test(loss.stderr)], [2, true]);
});
