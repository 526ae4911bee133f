/** A cluster's place in a real Redis Cluster, with a proxy before each node for each member. */
import { Buffer } from 'node:buffer';
import { after, before } from 'node:test';
import { slotOf } from '../../src/cluster/redis/places/slot.js';
import type { LossyProxy } from '../support/cluster/lossy-proxy.js';
import type { Cleanup } from '../support/redis.js';
import { type ClusterNode, type ClusterOptions, TestRedisCluster, urlOf } from '../support/redis-cluster.js';
import { ProxiedScene } from './proxied-scene.js';

/** One for all tests of a suite; to be called within it. @returns who has it once they run */
export function sharedRedisCluster(options: ClusterOptions = {}): () => TestRedisCluster {
  const cleanups: (() => Promise<void> | void)[] = [];
  let cluster: TestRedisCluster | undefined;
  before(async () => {
    cluster = await TestRedisCluster.start({ after: (task) => void cleanups.push(task) }, options);
  });
  after(async () => {
    for (const task of cleanups.reverse()) await task();
  });
  return () => {
    if (cluster === undefined) throw new Error('the tests of this suite have not begun');
    return cluster;
  };
}

export class RedisClusterScene<T extends object> extends ProxiedScene<T> {
  constructor(
    cleanup: Cleanup,
    private readonly servers: TestRedisCluster,
  ) {
    super(
      cleanup,
      servers.masters.map(({ port }) => port),
      (...ports) => urlOf(ports),
    );
  }

  /** The node of a key: none moves here. */
  at(key: string): ClusterNode {
    const { masters } = this.servers;
    const node = masters[Math.floor((slotOf(key) * masters.length) / 16_384)];
    if (node === undefined) throw new Error(`no node has ${key}`);
    return node;
  }

  /** All keys that the cluster has, each with its node. */
  async keys(): Promise<readonly { readonly key: string; readonly node: ClusterNode }[]> {
    const found = await Promise.all(
      this.servers.masters.map(async (node) => (await node.raw.keys(this.cluster)).map((key) => ({ key, node }))),
    );
    return found.flat();
  }

  async empty(): Promise<void> {
    for (const { key, node } of await this.keys()) await node.raw.ask('DEL', key);
  }

  /** Members are told of the proxies instead of the nodes: ports of as many digits. */
  protected override prepare(proxies: readonly LossyProxy[]): void {
    const ports = this.servers.masters.map(({ port }, at) => [`:${port}`, `:${proxies[at]?.port}`] as const);
    const rewrite = (bytes: Buffer) => {
      const text = bytes.toString('latin1');
      if (!ports.some(([from]) => text.includes(from))) return bytes;
      return Buffer.from(
        ports.reduce((now, [from, to]) => now.replaceAll(from, to), text),
        'latin1',
      );
    };
    for (const proxy of proxies) proxy.rewrite = rewrite;
  }
}
