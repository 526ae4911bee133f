import type { Keyturn } from '@keyturn/client';
import { type Dist, type Side, workOf } from '../against/side.js';
import { makeKeys } from '../coordinator.js';
import { connectClient } from '../load/dispatch.js';
import { perSecondInFlight } from '../load/in-flight.js';
import { clientPair } from '../load/pairs.js';
import { startSidecar } from '../load/server-process.js';
import type { Figure, Round } from '../measure.js';
import { hasRedis, REDIS, RedisLocks, startRedis } from '../peers/redis.js';
import { interleave, type Lap, type Plan } from '../rounds.js';
import type { Row, Say } from '../row.js';

export interface WorkersSize {
  readonly plan: Plan;
  readonly sessions: number;
  /** Turns at once on each. */
  readonly each: number;
  /** Of a lap. */
  readonly pairs: number;
}

const SIZE: WorkersSize = { plan: { rounds: 9, most: 21, laps: 1 }, sessions: 100, each: 16, pairs: 40_000 };
const KEYS = 10_000;

export const workers: Row = {
  what: 'EnQueue+DeQueue pairs of 100 workers with a session each and 16 turns in flight: against Redis locks over 100 connections',
  limit: 900,
  side,
  async run(say) {
    return { figures: [await compareWorkers(SIZE, say)] };
  },
};

async function side(dist: Dist): Promise<Side> {
  const { sessions, each, pairs } = SIZE;
  const sidecar = await startSidecar({ dist });
  const clients = Array.from({ length: sessions }, () => connectClient(sidecar.address));
  const lap = lapOver(clients, each, pairs, clientPair);
  const work = async () => workOf(pairs, await lap());
  return {
    parts: [{ name: undefined, unit: 'pairs', judgedBy: 'wall', lap: work, cpuSeconds: sidecar.cpuSeconds }],
    async close() {
      await Promise.all(clients.map((client) => client.close()));
      await sidecar.stop();
    },
  };
}

export async function compareWorkers(size: WorkersSize, say: Say): Promise<Figure> {
  const { sessions, each } = size;
  const told = {
    part: undefined,
    what: `EnQueue+DeQueue pairs over loopback on ${sessions} sessions, a connection each, ${each} turns in flight on each, 10,000 keys; load: @keyturn/client`,
    unit: 'pairs/s',
    peer: `Redis: SET NX PX, and compare-and-delete by a script; load: ioredis, ${sessions} connections, ${each} in flight on each`,
    better: 'higher',
    enough: 1.5,
    aim: 3,
  } as const;
  if (!(await hasRedis())) return { ...told, outcome: { is: 'missing', ...REDIS } };
  return { ...told, outcome: { is: 'measured', rounds: await measure(size, say) } };
}

async function measure({ plan, sessions, each, pairs }: WorkersSize, say: Say): Promise<Round[]> {
  const [sidecar, redis] = [await startSidecar(), await startRedis()];
  const clients = Array.from({ length: sessions }, () => connectClient(sidecar.address));
  const locks = await Promise.all(Array.from({ length: sessions }, () => RedisLocks.connect(redis.port)));
  const over = <Client>(all: readonly Client[], one: (client: Client, key: string, index: number) => Promise<void>) =>
    lapOver(all, each, pairs, one);
  const meters = { keyturn: sidecar.cpuSeconds, peer: redis.cpuSeconds, operations: pairs };
  const rounds = await interleave(plan, say, over<Keyturn>(clients, clientPair), over(locks, lockPair), meters);
  await Promise.all(clients.map((client) => client.close()));
  for (const lock of locks) lock.close();
  await Promise.all([sidecar.stop(), redis.stop()]);
  return rounds;
}

/** Each client has as many in flight as the others. */
function lapOver<Client>(
  clients: readonly Client[],
  each: number,
  pairs: number,
  one: (client: Client, key: string, index: number) => Promise<void>,
): Lap {
  const keys = makeKeys(KEYS);
  return async () => {
    let next = 0;
    const ofOne = async (client: Client): Promise<void> => {
      await perSecondInFlight(pairs / clients.length, each, () => {
        const index = next++;
        return one(client, keys[index % KEYS] ?? '', index);
      });
    };
    const start = performance.now();
    await Promise.all(clients.map(ofOne));
    return (pairs * 1_000) / (performance.now() - start);
  };
}

async function lockPair(locks: RedisLocks, key: string, index: number): Promise<void> {
  await locks.lock(key, String(index));
  await locks.unlock(key, String(index));
}
