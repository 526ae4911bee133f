/** How much of partitions is read at once: it is all in memory. */
import assert from 'node:assert/strict';
import { describe, it, type TestContext, test } from 'node:test';
import { redisAddress } from '../../src/cluster/redis/address.js';
import type { RedisConnection } from '../../src/cluster/redis/connection.js';
import { RedisServer } from '../../src/cluster/redis/server.js';
import { oneAddress } from '../../src/cluster/redis/source.js';
import { ChunkRoom, readChunks } from '../../src/cluster/store/redis/read.js';
import { JournalError } from '../../src/local/journal/journal.js';
import { HELD, HeldClock } from '../support/cluster/held-clock.js';
import { LossyProxy } from '../support/cluster/lossy-proxy.js';
import { RawRedis } from '../support/cluster/raw-redis.js';
import { needs } from '../support/needed-program.js';
import { REDIS, type TestRedis } from '../support/redis.js';
import { sharedRedis } from './redis-scene.js';

const IN_ALL = 32;
const CHUNKS = 40;

test('S350: a partition has 8 chunks under way, all of them 32, and each one at least', () => {
  const room = new ChunkRoom();
  const taken = (own: number) => {
    let more = 0;
    while (room.takes(own + more)) more += 1;
    return more;
  };
  assert.deepEqual([0, 0, 0, 0].map(taken), [8, 8, 8, 8]);
  assert.deepEqual([0, 0].map(taken), [1, 1], 'beyond the bound one each, or they would stand still');
  room.give(8);
  assert.equal(taken(1), 6, 'what others gave back is there, less what went beyond the bound');
});

/** How many chunks have room now. */
function freeIn(room: ChunkRoom): number {
  let free = 0;
  while (room.takes(1)) free += 1;
  room.give(free);
  return free;
}

/** Partitions of many chunks in a real Redis, and a server of which the answers can be held. */
async function scene(t: TestContext, redis: TestRedis) {
  const raw = await RawRedis.connect(t, redis.port);
  const proxy = await LossyProxy.start(t, redis.port);
  const clock = new HeldClock();
  const address = redisAddress(`redis://127.0.0.1:${proxy.port}`);
  const server = await RedisServer.open(oneAddress(address), { clock, deadline: HELD, connections: 1, each: 100 });
  t.after(() => server.close());
  const room = new ChunkRoom();
  const asked: Promise<unknown>[] = [];
  let gate: Promise<void> | undefined;
  let open = () => {};
  /** Of one reading: what it asks for behind the names of its chunks and the first of them is held while the gate is closed. */
  const holding = () => {
    let calls = 0;
    return <T>(task: (connection: RedisConnection) => Promise<T>): Promise<T> => {
      calls += 1;
      const held = calls > 2 ? gate : undefined;
      const answer = server.use(task).then(async (found) => {
        await held;
        return found;
      });
      asked.push(answer);
      return answer;
    };
  };
  return {
    room,
    proxy,
    close: () => {
      gate = new Promise((resolve) => {
        open = resolve;
      });
    },
    open: () => open(),
    /** All that was asked for is here, or will not come. */
    settled: async () => {
      await Promise.allSettled(asked);
      await new Promise(setImmediate);
    },
    async partition(name: string) {
      const prefix = `{${t.name}.${name}}:`;
      const names = Array.from({ length: CHUNKS }, (_, at) => `items:${at}`);
      await raw.ask('SADD', `${prefix}index`, ...names);
      for (const chunk of names) await raw.ask('HSET', prefix + chunk, '1', 'a row');
      return readChunks({ use: holding() }, prefix, name, room);
    },
  };
}

describe('with a real Redis', needs([REDIS]), () => {
  const redis = sharedRedis();

  it('S439: a reading to its end gives back all room that it took', async (t) => {
    const { room, partition } = await scene(t, redis());
    let slices = 0;
    for await (const slice of await partition('a')) slices += slice.length;
    assert.equal(slices, CHUNKS);
    assert.equal(freeIn(room), IN_ALL);
  });

  it('S439: chunks of readings that are given up have their room until their answers are here', async (t) => {
    const { room, partition, close, open, settled } = await scene(t, redis());
    close();
    for (const name of ['a', 'b', 'c', 'd']) {
      const reading = await partition(name);
      await reading.next();
      await reading.return();
    }
    assert.equal(freeIn(room), 0, 'they are on their way, and will be in memory');
    open();
    await settled();
    assert.equal(freeIn(room), IN_ALL);
  });

  it('S439: a reading whose connection dies gives back all room that it took', async (t) => {
    const { room, proxy, partition, settled } = await scene(t, redis());
    const reading = await partition('a');
    await reading.next();
    proxy.cut = 'answers';
    const rest = (async () => {
      for await (const slice of reading) assert.equal(slice.length, 1);
    })();
    const failed = assert.rejects(rest, (error) => error instanceof JournalError && error.problem === 'io');
    while (proxy.lost === 0) await new Promise(setImmediate);
    proxy.cut = undefined;
    proxy.drop();
    await failed;
    await settled();
    assert.equal(freeIn(room), IN_ALL);
  });

  it('S439: a reading of what cannot be read gives back all room that it took', async (t) => {
    const { room, partition, settled } = await scene(t, redis());
    const raw = await RawRedis.connect(t, redis().port);
    const reading = await partition('a');
    await raw.ask('SET', `{${t.name}.a}:items:20`, 'no hash');
    await assert.rejects(async () => {
      for await (const slice of reading) assert.equal(slice.length, 1);
    });
    await settled();
    assert.equal(freeIn(room), IN_ALL);
  });
});
