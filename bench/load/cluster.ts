/** A cluster as people start one: a Redis that keeps, and sidecars without a disk. */
import { setTimeout as pass } from 'node:timers/promises';
import { type Dist, TODAY } from '../against/side.js';
import { type Flushed, startKeepingRedis } from '../peers/redis.js';
import { makeDataDirectory } from './data-directory.js';
import { HOST } from './native-server.js';
import { type ServerProcess, startSidecar } from './server-process.js';

export interface BenchCluster {
  readonly redisPort: number;
  /** Of all partitions. */
  readonly home: ServerProcess;
  /** Another sidecar, which is home of nothing. */
  startGateway(): Promise<ServerProcess>;
  stop(): Promise<void>;
}

/** Between two looks whether a sidecar takes work, ms. */
const BETWEEN_LOOKS = 20;

/** @param flushed unset: what is answered is on the disk */
export async function startCluster(dist: Dist = TODAY, flushed: Flushed = 'always'): Promise<BenchCluster> {
  const directory = await makeDataDirectory();
  const redis = await startKeepingRedis(directory.path, flushed);
  const store = `redis://${HOST}:${redis.port}`;
  const home = await startSidecar({ dist, store });
  await ready(home);
  const gateways: ServerProcess[] = [];
  return {
    redisPort: redis.port,
    home,
    async startGateway() {
      const gateway = await startSidecar({ dist, store, weight: 0 });
      gateways.push(gateway);
      await ready(gateway);
      return gateway;
    },
    async stop() {
      await Promise.all(gateways.map((gateway) => gateway.stop()));
      await home.stop();
      await redis.stop();
      await directory.remove();
    },
  };
}

/** It has joined, and knows a home of every partition. */
export async function ready({ http }: ServerProcess): Promise<void> {
  for (;;) {
    const { status } = await fetch(`http://${http}/readyz`);
    if (status === 200) return;
    await pass(BETWEEN_LOOKS);
  }
}
