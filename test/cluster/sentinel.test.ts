/** A real Redis with replicas behind sentinels: the master is replaced, by hand and because it died. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { describe, it, type TestContext } from 'node:test';
import { openRedisRegistry } from '../../src/cluster/registry/redis/redis-registry.js';
import type { ClusterStore } from '../../src/cluster/store/cluster-store.js';
import { openRedisStore, type RedisStoreOptions } from '../../src/cluster/store/redis/redis-store.js';
import { JournalError, type JournalProblem } from '../../src/local/journal/journal.js';
import { until } from '../cli/keyturn-process.js';
import { itemRow, puts } from '../local/journal/rows.js';
import { needs } from '../support/needed-program.js';
import { REDIS, TestRedis } from '../support/redis.js';
import { MASTER, TestSentinels } from '../support/sentinel.js';
import { claim, isProblem, RECORD, rowsOf } from './store-place.js';

const OPTIONS = { cluster: 'c', deadline: 1_000, startDeadline: 60_000 } as const;

async function opened(t: TestContext, url: string, more: Partial<RedisStoreOptions> = {}): Promise<ClusterStore> {
  const store = await openRedisStore(url, { ...OPTIONS, ...more });
  t.after(() => store.close());
  return store;
}

/** Tried until it is there, as a home does. */
async function written(write: () => Promise<void>): Promise<void> {
  await until('it is written', () =>
    write().then(
      () => true,
      (error: unknown) => !isProblem('io')(error),
    ),
  );
}

/** Says of any master what it is told to say. @returns its port */
async function fakeSentinel(
  t: TestContext,
  says: () => { readonly port: number; readonly epoch: number } | undefined,
): Promise<number> {
  const bulk = (text: string) => `$${text.length}\r\n${text}\r\n`;
  const server = createServer((socket) => {
    t.after(() => socket.destroy());
    socket.on('error', () => undefined);
    socket.on('data', (bytes) => {
      for (const [, words = ''] of bytes.toString('latin1').matchAll(/\*\d+\r\n((?:\$\d+\r\n[^\r]*\r\n)+)/g)) {
        const { port, epoch } = says() ?? { port: 0, epoch: 0 };
        const fields = ['ip', '127.0.0.1', 'port', String(port), 'config-epoch', String(epoch)];
        socket.write(/SENTINEL/i.test(words) ? `*${fields.length}\r\n${fields.map(bulk).join('')}` : '+PONG\r\n');
      }
    });
  });
  server.listen(0, '127.0.0.1');
  t.after(() => server.close());
  await once(server, 'listening');
  const address = server.address();
  assert.ok(typeof address === 'object' && address !== null);
  return address.port;
}

describe('a real Redis behind sentinels', needs([REDIS]), () => {
  it('S460: the master is replaced by hand, then dies: homes follow, notice both, and lose nothing that was answered', async (t) => {
    const redis = await TestSentinels.start(t, 2);
    const store = await opened(t, redis.url);
    let failovers = 0;
    store.onFailover = () => (failovers += 1);
    const claimed = await claim(store);
    const home = store.open(claimed);
    let seq = 0;
    const write = async (count: number) => {
      for (const end = seq + count; seq < end; seq += 1) await written(() => home.write(puts([itemRow(seq)]), 1));
    };
    await write(20);
    const first = await redis.master();
    await redis.failOver();
    await until('another one is the master', async () => (await redis.master()) !== first);
    await write(20);
    await until('the home has noticed', async () => failovers === 1);
    const second = await redis.master();
    await redis.kill();
    await until('another one is the master', async () => (await redis.master()) !== second);
    await write(20);
    assert.equal(failovers, 2);
    // Another sidecar, as the first is dead.
    const next = await opened(t, redis.url);
    const taken = await claim(next, { member: 'b', expected: claimed.guard.owner });
    assert.deepEqual(
      await rowsOf(next.open(taken)),
      Array.from({ length: 60 }, (_, at) => itemRow(at)),
    );
    await assert.rejects(home.write(puts([itemRow(99)]), 1), isProblem('fenced'));
  });

  it('S461: a master that was replaced is left, though it answers; the sentinel that knows of the later failover is believed', async (t) => {
    const [old, next] = [await TestRedis.start(t), await TestRedis.start(t)];
    const told = [
      { port: old.port, epoch: 5 },
      { port: old.port, epoch: 5 },
    ];
    const ports = await Promise.all(told.map((_, at) => fakeSentinel(t, () => told[at])));
    const store = await opened(t, `redis+sentinel://${ports.map((port) => `127.0.0.1:${port}`).join(',')}/${MASTER}`);
    let failovers = 0;
    store.onFailover = () => (failovers += 1);
    await store.record(RECORD);
    // The other one has not heard of it, or is cut off with the old master.
    told[1] = { port: next.port, epoch: 6 };
    await until('the old one is left', async () => failovers === 1);
    assert.equal(await store.hasRecord(), false);
  });

  it('S462: what is wrong is told: nobody there, no such master, a wrong password', async (t) => {
    const redis = await TestSentinels.start(t, 0);
    const refused: readonly (readonly [url: string, problem: JournalProblem, says: RegExp])[] = [
      [
        `redis+sentinel://127.0.0.1:1,127.0.0.1:2/${MASTER}`,
        'io',
        /no sentinel of .* answers: .*nothing listens there/,
      ],
      [redis.url.replace(MASTER, 'other'), 'unfit', /no sentinel of .* knows a master called "other"/],
      [
        redis.url.replace('://', '://u:geheim@'),
        'unfit',
        /the master of .* (has no password, and one is given|refuses user or password)/,
      ],
    ];
    for (const [url, problem, says] of refused)
      for (const open of [openRedisStore, openRedisRegistry])
        await assert.rejects(open(url, { ...OPTIONS, startDeadline: 5_000 }), (error: unknown) => {
          assert.ok(error instanceof JournalError, String(error));
          assert.match(error.message, says);
          assert.equal(error.problem, problem);
          assert.doesNotMatch(error.message, /geheim/);
          return true;
        });
    const store = await opened(t, redis.url);
    assert.equal(store.name, redis.url);
  });
});
