/** A cluster's place in a real Redis. */
import { after, before } from 'node:test';
import { RawRedis } from '../support/cluster/raw-redis.js';
import { type Cleanup, REDIS, TestRedis } from '../support/redis.js';
import { ProxiedScene } from './proxied-scene.js';

/** One server for all tests of a suite; to be called within it. @returns who has it once they run */
export function sharedRedis(settings: readonly string[] = [], program = REDIS): () => TestRedis {
  const cleanups: (() => Promise<void> | void)[] = [];
  let redis: TestRedis | undefined;
  before(async () => {
    redis = await TestRedis.start({ after: (task) => void cleanups.push(task) }, settings, program);
  });
  after(async () => {
    for (const task of cleanups) await task();
  });
  return () => {
    if (redis === undefined) throw new Error('the tests of this suite have not begun');
    return redis;
  };
}

export class RedisScene<T extends object> extends ProxiedScene<T> {
  private constructor(
    cleanup: Cleanup,
    port: number,
    readonly raw: RawRedis,
  ) {
    super(cleanup, [port], (at) => `redis://127.0.0.1:${at}`);
  }

  static async make<T extends object>(cleanup: Cleanup, redis: TestRedis): Promise<RedisScene<T>> {
    return new RedisScene<T>(cleanup, redis.port, await RawRedis.connect(cleanup, redis.port));
  }
}
