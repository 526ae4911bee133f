/** What a sidecar of a cluster says on bad days, as a process on a real Redis. */
import { match, strictEqual } from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { keyturn, ServeProcess } from '../cli/serve-process.js';
import { backwards } from '../support/backwards.js';
import { RawRedis } from '../support/cluster/raw-redis.js';
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
