/** A cluster's place in a real Redis, with a proxy before each member, and deadlines that pass when the test says so. */
import { randomUUID } from 'node:crypto';
import { after, before } from 'node:test';
import type { Cut } from '../support/cluster/fake-wire.js';
import { HeldClock } from '../support/cluster/held-clock.js';
import { LossyProxy } from '../support/cluster/lossy-proxy.js';
import { RawRedis } from '../support/cluster/raw-redis.js';
import { type Cleanup, TestRedis } from '../support/redis.js';

/** One server for all tests of a suite; to be called within it. @returns who has it once they run */
export function sharedRedis(settings: readonly string[] = []): () => TestRedis {
  const cleanups: (() => Promise<void> | void)[] = [];
  let redis: TestRedis | undefined;
  before(async () => {
    redis = await TestRedis.start({ after: (task) => void cleanups.push(task) }, settings);
  });
  after(async () => {
    for (const task of cleanups) await task();
  });
  return () => {
    if (redis === undefined) throw new Error('the tests of this suite have not begun');
    return redis;
  };
}

export class RedisScene<T extends object> {
  readonly clock = new HeldClock();
  readonly cluster = `test-${randomUUID()}`;
  readonly #proxies = new Map<T, LossyProxy>();

  private constructor(
    private readonly cleanup: Cleanup,
    private readonly port: number,
    readonly raw: RawRedis,
  ) {}

  static async make<T extends object>(cleanup: Cleanup, redis: TestRedis): Promise<RedisScene<T>> {
    return new RedisScene<T>(cleanup, redis.port, await RawRedis.connect(cleanup, redis.port));
  }

  /** Opens something behind a proxy of its own. */
  async behindProxy(open: (url: string) => Promise<T>): Promise<T> {
    const proxy = await LossyProxy.start(this.cleanup, this.port);
    const opened = await open(`redis://127.0.0.1:${proxy.port}`);
    this.#proxies.set(opened, proxy);
    return opened;
  }

  #proxyOf(opened: T): LossyProxy {
    const proxy = this.#proxies.get(opened);
    if (proxy === undefined) throw new TypeError('it was not opened here');
    return proxy;
  }

  /** From now on this is lost, or nothing any more. */
  lose(opened: T, what: Cut): void {
    this.#proxyOf(opened).cut = what;
    // A connection that was opened again in between waits for an answer that was lost.
    if (what === undefined) this.clock.expire();
  }

  async outwait<V>(promise: Promise<V>): Promise<V> {
    let seen = 0;
    // What was lost will not come any more.
    const pump = setInterval(() => {
      const lost = [...this.#proxies.values()].reduce((sum, proxy) => sum + proxy.lost, 0);
      if (lost === seen) return;
      seen = lost;
      this.clock.expire();
    }, 2);
    return promise.finally(() => clearInterval(pump));
  }
}
