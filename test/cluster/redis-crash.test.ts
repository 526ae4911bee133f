/** A home that dies between any two requests leaves a batch whole or not at all, and Redis as empty as the partition is. */
import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { RedisConnection } from '../../src/cluster/redis/connection.js';
import { openRedisStore } from '../../src/cluster/store/redis/redis-store.js';
import { SWEEP } from '../../src/cluster/store/redis/scripts.js';
import { JournalError } from '../../src/local/journal/journal.js';
import { contentOf, itemRow, puts } from '../local/journal/rows.js';
import { RawRedis } from '../support/cluster/raw-redis.js';
import { needs } from '../support/needed-program.js';
import { REDIS } from '../support/redis.js';
import { sharedRedis } from './redis-scene.js';
import { claim, isProblem, RECORD, rowsOf } from './store-place.js';

const DEADLINE = 30_000;
/** Of the script that switches the guard: what EVALSHA is told before, with two keys, and its own. */
const SWITCH_ARGUMENTS = 5 + 11;
/** Of three pieces. */
const LARGE = [
  { delete: { table: 'items', seq: 1 } } as const,
  ...puts([2, 3, 4].map((seq) => itemRow(seq, { content: contentOf(`${seq}`.repeat(700_000)) }))),
];

/** From the n-th request of a script on, each is sent, and its connection ends before the answer. */
function dieAt(t: TestContext, n: number): { readonly asked: () => number; revive(): void } {
  let asked = 0;
  const { ask } = RedisConnection.prototype;
  const mocked = t.mock.method(
    RedisConnection.prototype,
    'ask',
    function (this: RedisConnection, ...args: Parameters<typeof ask>) {
      const answer = ask.apply(this, args);
      if (args[0][0] !== 'EVALSHA') return answer;
      asked += 1;
      // Sent in a later turn of the loop: one that is destroyed in this one sends nothing.
      if (asked >= n) setImmediate(() => setImmediate(() => this.destroy()));
      return answer;
    },
  );
  return { asked: () => asked, revive: () => mocked.mock.restore() };
}

describe('a large batch in a real Redis', needs([REDIS]), () => {
  const redis = sharedRedis();

  for (const who of ['another home', 'the same home']) {
    it(`is there whole or not at all, wherever its home dies; ${who} goes on`, async (t) => {
      let [whole, nothing] = [0, 0];
      for (let n = 1; n <= 8; n += 1) {
        const cluster = `${who.replace(/ /g, '-')}-${n}`;
        const store = await openRedisStore(redis().url, { cluster, deadline: DEADLINE });
        const first = await claim(store);
        const home = store.open(first);
        await home.write(puts([itemRow(1)]), 1);
        const death = dieAt(t, n);
        const outcome = await home.write(LARGE, 2).then(
          () => 'written',
          () => 'died',
        );
        death.revive();
        if (who === 'the same home') {
          while ((await home.write(LARGE, 2).catch((error: Error) => error)) instanceof Error);
          assert.deepEqual(seqsOf(await rowsOf(home)), [2, 3, 4]);
        } else {
          await store.close();
          const other = await openRedisStore(redis().url, { cluster, deadline: DEADLINE });
          const second = await claim(other, { expected: first.guard.owner });
          const next = other.open(second);
          const found = seqsOf(await rowsOf(next));
          if (found.length === 1) nothing += 1;
          else whole += 1;
          assert.deepEqual(found, found.length === 1 ? [1] : [2, 3, 4]);
          if (outcome === 'written') assert.deepEqual(found, [2, 3, 4]);
          await next.write(puts([itemRow(9)]), 9);
          assert.deepEqual(seqsOf(await rowsOf(next)), [...found, 9]);
          await other.close();
        }
        await store.close();
      }
      if (who === 'another home') assert.ok(whole > 0 && nothing > 0, `whole ${whole} times, not at all ${nothing}`);
    });
  }

  it('that was given up for another one leaves nothing behind', async (t) => {
    const raw = await RawRedis.connect(t, redis().port);
    const store = await openRedisStore(redis().url, { cluster: 'left', deadline: DEADLINE });
    t.after(() => store.close());
    const claimed = await claim(store);
    const home = store.open(claimed);
    await home.write(LARGE, 1);
    await home.write(puts([{ table: 'pauses', queue: 'a' }, itemRow(5_000)]), 2);
    await home.write(
      [2, 3, 4, 5_000].map((seq) => ({ delete: { table: 'items', seq } })),
      3,
    );
    await home.write([{ delete: { table: 'pauses', queue: 'a' } }], 4);
    assert.deepEqual([...(await raw.keys('left'))].sort(), ['{left.0}:generation', '{left.0}:own']);
    assert.equal((await claim(store, { expected: claimed.guard.owner })).rows, 0);
  });

  it('written anew leaves nothing of the old rows behind, and nothing that counts is swept', async (t) => {
    const raw = await RawRedis.connect(t, redis().port);
    const store = await openRedisStore(redis().url, { cluster: 'anew', deadline: DEADLINE });
    t.after(() => store.close());
    await store.record({ ...RECORD, id: 'anew' });
    const home = store.open(await claim(store));
    await home.write(LARGE, 1);
    for (const seq of [7, 8]) await home.rewrite([[itemRow(seq)]], 2);
    assert.deepEqual(seqsOf(await rowsOf(home)), [8]);
    const generation = String(await raw.ask('HGET', '{anew.0}:own', 'generation'));
    const keys = (await raw.keys('anew')).filter((key) => !key.includes(generation));
    assert.deepEqual(keys.sort(), ['anew:record', '{anew.0}:generation', '{anew.0}:own']);
    const address = { host: '127.0.0.1', port: redis().port, tls: false, username: undefined, password: undefined };
    const clock = { now: () => 0, wall: () => 0, after: () => () => undefined, soon: () => undefined };
    const patience = { deadline: DEADLINE, clock };
    const connection = await RedisConnection.open({ ...address, database: 0, name: 'here' }, patience);
    t.after(() => connection.destroy());
    await SWEEP.run(connection, '{anew.0}:own', [generation, 'items:0']);
    assert.deepEqual(seqsOf(await rowsOf(home)), [8]);
  });

  it('written anew is not switched to rows that were swept for another attempt, when that comes late', async (t) => {
    const store = await openRedisStore(redis().url, { cluster: 'late', deadline: DEADLINE });
    t.after(() => store.close());
    await store.record({ ...RECORD, id: 'late' });
    const home = store.open(await claim(store));
    await home.write(puts([itemRow(1)]), 1);
    const { ask } = RedisConnection.prototype;
    const switches: (() => Promise<unknown>)[] = [];
    t.mock.method(
      RedisConnection.prototype,
      'ask',
      async function (this: RedisConnection, ...args: Parameters<typeof ask>) {
        const isSwitch = /^EVAL/.test(String(args[0][0])) && args[0].length === SWITCH_ARGUMENTS;
        if (!isSwitch) return ask.apply(this, args);
        switches.push(() => ask.apply(this, args));
        if (switches.length === 1) throw new JournalError('io', 'it is on its way still');
        await switches[0]?.();
        return ask.apply(this, args);
      },
    );
    await assert.rejects(home.rewrite([[itemRow(1), itemRow(2)]], 2), isProblem('io'));
    await home.rewrite([[itemRow(1), itemRow(2), itemRow(3)]], 2).catch(() => undefined);
    await home.write(puts([itemRow(9)]), 3);
    const found = seqsOf(await rowsOf(home));
    assert.ok(switches.length >= 2);
    assert.deepEqual(found, [1, 2, 3, 9]);
  });

  it('of a home that was succeeded in the middle of it is not there', async (t) => {
    const store = await openRedisStore(redis().url, { cluster: 'middle', deadline: DEADLINE });
    t.after(() => store.close());
    const first = await claim(store);
    const old = store.open(first);
    const writing = assert.rejects(old.write(LARGE, 1), isProblem('fenced'));
    const next = store.open(await claim(store, { expected: first.guard.owner }));
    await next.write(puts([itemRow(9)]), 1);
    await writing;
    assert.deepEqual(seqsOf(await rowsOf(next)), [9]);
  });
});

function seqsOf(rows: readonly unknown[]): readonly unknown[] {
  return rows.map((row) => (typeof row === 'object' && row !== null && 'seq' in row ? row.seq : row));
}
