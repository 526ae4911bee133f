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
import { RawRedis } from '../support/cluster/raw-redis.js';
import { FakeClock } from '../support/fake-clock.js';
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
        const said = says();
        if (said === undefined && /SENTINEL/i.test(words)) {
          socket.write('-ERR No such master with that name\r\n');
          continue;
        }
        const { port, epoch } = said ?? { port: 0, epoch: 0 };
        const place = ['ip', '127.0.0.1', 'port', String(port)];
        const fields = /GET-MASTER/i.test(words)
          ? ['127.0.0.1', String(port)]
          : [...place, 'config-epoch', String(epoch)];
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

  it('S552: the next master is used as soon as it is one, though another replica does not follow it yet', async (t) => {
    const redis = await TestSentinels.start(t, 2);
    await redis.set('failover-timeout', '120000');
    const store = await opened(t, redis.url);
    let failovers = 0;
    store.onFailover = () => (failovers += 1);
    const first = await redis.master();
    // The replica that does not become the master cannot follow the one that does: sentinels wait for it.
    for (const { port } of redis.servers)
      if (port !== first.port) await (await RawRedis.connect(t, port)).ask('CONFIG', 'SET', 'masterauth', 'none');
    await redis.failOver();
    await until('the next one is noticed', async () => failovers === 1);
    assert.match(JSON.stringify(await redis.standing()), /failover_in_progress/);
  });

  it('S553: a master that was replaced is left, though the next one could not be reached at first', async (t) => {
    const [old, next] = [await TestRedis.start(t), await TestRedis.start(t)];
    await next.kill();
    let told = { port: old.port, epoch: 5 };
    let asked = 0;
    const port = await fakeSentinel(t, () => {
      asked += 1;
      return told;
    });
    const clock = new FakeClock();
    const store = await opened(t, `redis+sentinel://127.0.0.1:${port}/${MASTER}`, { clock });
    let failovers = 0;
    store.onFailover = () => (failovers += 1);
    const before = asked;
    told = { port: next.port, epoch: 6 };
    // So many at once that another connection is wanted: it would be one with the next master.
    const looks = Promise.allSettled(Array.from({ length: 50 }, () => store.look(4)));
    await until('it is asked where the master is', async () => asked > before);
    await next.start();
    await until('the next one is used', async () => {
      clock.advance(100);
      return failovers === 1;
    });
    await looks;
  });

  it('S554: sentinels that know less than was told already are not believed, unless most of them say so', async (t) => {
    const [old, next] = [await TestRedis.start(t), await TestRedis.start(t)];
    const told: ({ port: number; epoch: number } | undefined)[] = [
      { port: old.port, epoch: 5 },
      { port: next.port, epoch: 6 },
      { port: next.port, epoch: 6 },
    ];
    const asked = [0, 0, 0];
    const ports = await Promise.all(
      told.map((_, at) =>
        fakeSentinel(t, () => {
          asked[at] = (asked[at] ?? 0) + 1;
          return told[at];
        }),
      ),
    );
    const clock = new FakeClock();
    const url = `redis+sentinel://${ports.map((port) => `127.0.0.1:${port}`).join(',')}/${MASTER}`;
    const store = await opened(t, url, { clock });
    await store.record(RECORD);
    let failovers = 0;
    store.onFailover = () => (failovers += 1);
    const askedAgain = async () => {
      const [before = 0] = asked;
      await until('they are asked again, and have answered', async () => {
        clock.advance(100);
        // Twice: the first answer has been taken then.
        return (asked[0] ?? 0) >= before + 4;
      });
    };
    // Those that know of the failover know nothing any more: the third one is alone.
    told[1] = undefined;
    told[2] = undefined;
    await askedAgain();
    assert.equal(await store.hasRecord(), true);
    assert.equal(failovers, 0);
    // Set up anew: all of them say it.
    told[1] = { port: old.port, epoch: 1 };
    told[2] = { port: old.port, epoch: 1 };
    await until('the other one is used', async () => {
      clock.advance(100);
      return failovers === 1;
    });
  });

  it('S564: a sentinel whose machine is gone holds nobody up, if most of them answer', async (t) => {
    const redis = await TestRedis.start(t);
    const gone = createServer((socket) => void t.after(() => socket.destroy()));
    gone.listen(0, '127.0.0.1');
    t.after(() => gone.close());
    await once(gone, 'listening');
    const address = gone.address();
    assert.ok(typeof address === 'object' && address !== null);
    const says = () => ({ port: redis.port, epoch: 1 });
    const ports = [address.port, await fakeSentinel(t, says), await fakeSentinel(t, says)];
    const clock = new FakeClock();
    const url = `redis+sentinel://${ports.map((port) => `127.0.0.1:${port}`).join(',')}/${MASTER}`;
    const begun = clock.now();
    let isOpen = false;
    const opening = opened(t, url, { clock }).then(() => (isOpen = true));
    await until('it is open', async () => {
      clock.advance(10);
      return isOpen;
    });
    await opening;
    assert.ok(clock.now() - begun < OPTIONS.startDeadline, `${clock.now() - begun} ms`);
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
