/** What a sidecar of a cluster says on bad days, as a process on a real Redis. */
import { match, rejects, strictEqual } from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { connect } from '@keyturn/client';
import { keyturn, ServeProcess } from '../cli/serve-process.js';
import { backwards } from '../support/backwards.js';
import { LossyProxy } from '../support/cluster/lossy-proxy.js';
import { RawRedis } from '../support/cluster/raw-redis.js';
import { freePort } from '../support/free-port.js';
import { needs } from '../support/needed-program.js';
import { REDIS, TestRedis } from '../support/redis.js';
import { SidecarHere } from '../support/sidecar-here.js';

/** Resolves when it is: it says that it joined before its partitions are open. */
async function isReady(sidecar: SidecarHere): Promise<void> {
  while ((await sidecar.get('/readyz')).status !== 200) await once(AbortSignal.timeout(50), 'abort');
}

test(
  'S311: who tells others an address at which nobody answers does not start, and says which setting',
  needs([REDIS]),
  async (t) => {
    const redis = await TestRedis.start(t);
    const nowhere = ['--cluster-advertise', '127.0.0.1:1'];
    const { code, stderr } = await keyturn([
      'serve',
      '--store',
      redis.url,
      '--listen',
      '127.0.0.1:0',
      '--http-listen',
      '127.0.0.1:0',
      ...nowhere,
    ]);
    strictEqual(code, 1);
    match(stderr, /cluster\.advertise: other sidecars would look for this one at 127\.0\.0\.1:1, where nobody answers/);
  },
);

test('S611: who advertises the address of another sidecar does not start', needs([REDIS]), async (t) => {
  const cleanup = backwards(t);
  const redis = await TestRedis.start(cleanup);
  const args = ['--store', redis.url, '--cluster-partitions', '4'];
  const taken = `127.0.0.1:${await freePort()}`;
  const first = await SidecarHere.start(cleanup, [...args, '--cluster-peer-listen', taken]);
  await rejects(SidecarHere.start(cleanup, [...args, '--cluster-advertise', taken]), {
    name: 'CommandFailure',
    exitCode: 1,
    message: /^cluster\.advertise: .* at 127\.0\.0\.1:\d+, where another sidecar answers/,
  });
  await isReady(first);
});

test(
  'S611: a sidecar whose address leads to another one when it is ready ends; one whose address leads nowhere goes on',
  needs([REDIS]),
  async (t) => {
    const cleanup = backwards(t);
    const redis = await TestRedis.start(cleanup);
    const args = ['--store', redis.url, '--cluster-partitions', '4'];
    const [port, taken] = [await freePort(), await freePort()];
    await SidecarHere.start(cleanup, [...args, '--cluster-peer-listen', `127.0.0.1:${taken}`]);
    // As a load balancer that leads nowhere: it takes connections and ends them.
    const balancer = await LossyProxy.start(cleanup, await freePort());
    const own = ['--cluster-peer-listen', `127.0.0.1:${port}`, '--cluster-advertise', `127.0.0.1:${balancer.port}`];
    const second = await SidecarHere.start(cleanup, [...args, ...own]);
    await isReady(second);
    balancer.target = taken;
    await rejects(second.ready(), { name: 'CommandFailure', exitCode: 1, message: /where another sidecar answers/ });
    await second.stop();
    balancer.target = port;
    const third = await SidecarHere.start(cleanup, [...args, ...own]);
    await third.ready();
  },
);

test('S612: who does not reach a home says so in /readyz and GetCluster', needs([REDIS]), async (t) => {
  const cleanup = backwards(t);
  const redis = await TestRedis.start(cleanup);
  const args = ['--store', redis.url, '--cluster-partitions', '4'];
  const [port, other] = [await freePort(), await freePort()];
  const asked = await SidecarHere.start(cleanup, [...args, '--cluster-peer-listen', `127.0.0.1:${other}`]);
  const way = await LossyProxy.start(cleanup, port);
  const advertise = ['--cluster-advertise', `127.0.0.1:${way.port}`];
  await SidecarHere.start(cleanup, [...args, '--cluster-peer-listen', `127.0.0.1:${port}`, ...advertise]);
  const client = connect(asked.address('grpc'), { transport: 'unary' });
  cleanup.after(() => client.close({ timeout: 0 }));
  const unreached = async () => (await client.admin.getCluster()).homes.filter(({ state }) => state !== 'open');
  const members = async () => new Set((await client.admin.getCluster()).homes.map(({ member }) => member));
  while ((await members()).size < 2 || (await unreached()).length > 0) await once(AbortSignal.timeout(50), 'abort');
  way.target = other;
  way.drop();
  const wrong = /there is no link to its home at 127\.0\.0\.1:\d+: the sidecar at this address is the incarnation/;
  let body = '';
  while (!wrong.test(body)) body = (await asked.get('/readyz')).body;
  match(body, /^ready; 2 of 4 partitions have no home that takes calls: /);
  const { homes, unavailable } = await client.admin.getCluster();
  strictEqual(homes.filter(({ state }) => state === 'unreachable').length, 2);
  match(unavailable[0]?.why ?? '', wrong);
});

test('S610: a sidecar with another registry does not start beside the others', needs([REDIS]), async (t) => {
  const cleanup = backwards(t);
  const redis = await TestRedis.start(cleanup);
  const args = ['--store', redis.url, '--cluster-partitions', '4'];
  const first = await SidecarHere.start(cleanup, [...args, '--registry', `${redis.url}/1`]);
  await isReady(first);
  for (const other of [[], ['--registry', `${redis.url}/2`], ['--registry', `${redis.url}/2`, '--cluster-weight', '0']])
    await rejects(SidecarHere.start(cleanup, [...args, ...other]), {
      name: 'CommandFailure',
      exitCode: 1,
      message: /^registry: this sidecar uses .*, but the cluster keyturn in .* uses redis:\/\/127\.0\.0\.1:\d+\/1:/,
    });
  await isReady(
    await SidecarHere.start(cleanup, [...args, '--registry', `${redis.url.replace('127.0.0.1', 'localhost')}/1`]),
  );
});

test('S312: after the store was emptied no sidecar is ready, and each says why', needs([REDIS]), async (t) => {
  const cleanup = backwards(t);
  const redis = await TestRedis.start(cleanup);
  const sidecar = await SidecarHere.start(cleanup, ['--store', redis.url, '--cluster-session', '1s']);
  await sidecar.logged('joined the cluster');
  await isReady(sidecar);
  const person = await RawRedis.connect({ after: (task) => t.after(task) }, redis.port);
  const before = sidecar.lines.length;
  await person.ask('FLUSHALL');
  const { reason } = await sidecar.logged('not ready', before);
  match(String(reason), /no partition has a home|not a member/);
  const { status, body } = await sidecar.get('/readyz');
  strictEqual(status, 503);
  match(body, /no partition has a home that takes calls: .*\(.*\)|not a member/);
});

test(
  'S336: a gateway whose only home has died is not ready, and says which one it does not reach',
  needs([REDIS]),
  async (t) => {
    const cleanup = backwards(t);
    const redis = await TestRedis.start(cleanup);
    const args = ['--store', redis.url, '--cluster-session', '1s', '--cluster-partitions', '4'];
    // A process of its own: it dies.
    const home = await ServeProcess.start(cleanup, args);
    const gateway = await SidecarHere.start(cleanup, [...args, '--cluster-weight', '0']);
    await gateway.logged('joined the cluster');
    await isReady(gateway);
    const before = gateway.lines.length;
    home.signal('SIGKILL');
    const { reason } = await gateway.logged('not ready', before);
    match(
      String(reason),
      /^no partition has a home that takes calls: 0-3 \(there is no link to its home at 127\.0\.0\.1:/,
    );
    strictEqual((await gateway.get('/readyz')).status, 503);
    const next = await SidecarHere.start(cleanup, args);
    await next.logged('joined the cluster');
    await isReady(gateway);
  },
);
