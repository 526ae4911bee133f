/**
 * `node dist/bench/scaling/measure.js [HOMES,SPREAD …]`: what a durable pair of one queue costs homes, a gateway and a Redis on this machine, beside
 * what the simulation says of it on as many cores. `points.ts` has what was measured on one.
 */
import { availableParallelism } from 'node:os';
import { setTimeout as pass } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { makeDataDirectory } from '../load/data-directory.js';
import { type HotCluster, startHotCluster } from '../load/hot-cluster.js';
import { HOST } from '../load/native-server.js';
import { streamPairs } from '../load/pairs.js';
import type { ServerProcess } from '../load/server-process.js';
import { median } from '../measure.js';
import { startKeepingRedis } from '../peers/redis.js';
import { type Of, POINTS, simulated } from './points.js';

const PAIRS = 5_000;
const ROUNDS = 7;
/** Until code is compiled that runs often. */
const WARM_UP = 5;
/** So long a home that does nothing is looked at, ms. */
const IDLE = 2_000;

/** All homes together; times in µs of CPU. */
interface Usage {
  readonly batches: number;
  readonly rows: number;
  readonly home: number;
  readonly gateway: number;
  readonly store: number;
}

async function usageOf({ homes, gateway }: HotCluster, redis: Redis): Promise<Usage> {
  const pages = await Promise.all(homes.map(async ({ http }) => (await fetch(`http://${http}/metrics`)).text()));
  const counted = (name: string) => sum(pages.map((page) => numberIn(page, new RegExp(`^${name} (\\S+)`, 'm'))));
  const info = await redis.info('cpu');
  return {
    batches: counted('keyturn_store_batch_rows_count'),
    rows: counted('keyturn_store_batch_rows_sum'),
    home: sum(await Promise.all(homes.map(microseconds))),
    gateway: await microseconds(gateway),
    store: 1e6 * (numberIn(info, /used_cpu_user_main_thread:(\S+)/) + numberIn(info, /used_cpu_sys_main_thread:(\S+)/)),
  };
}

async function used(cluster: HotCluster, redis: Redis, during: () => Promise<unknown>) {
  const [before, start] = [await usageOf(cluster, redis), performance.now()];
  await during();
  const [ms, after] = [performance.now() - start, await usageOf(cluster, redis)];
  return { ms, used: each((key) => after[key] - before[key]) };
}

async function microseconds(process: ServerProcess): Promise<number> {
  return 1e6 * (await process.cpuSeconds());
}

function numberIn(text: string, pattern: RegExp): number {
  const found = Number(pattern.exec(text)?.[1]);
  if (Number.isNaN(found)) throw new Error(`${pattern} is not there`);
  return found;
}

async function measure(store: string, redis: Redis, { homes, spread }: Of): Promise<Usage> {
  const cluster = await startHotCluster(store, { name: `homes${homes}spread${spread}`, homes, spread });
  const lap = streamPairs(cluster.stream, PAIRS);
  for (let round = 0; round < WARM_UP; round++) await lap();
  const atRest = await used(cluster, redis, () => pass(IDLE));
  const points: Usage[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const lapped = await used(cluster, redis, lap);
    // What they do by themselves, whatever they are asked, does not count.
    points.push(each((key) => (lapped.used[key] - (atRest.used[key] * lapped.ms) / atRest.ms) / PAIRS));
  }
  await cluster.stop();
  return each((key) => median(points.map((point) => point[key])));
}

function each(of: (key: keyof Usage) => number): Usage {
  const [batches, rows, home] = [of('batches'), of('rows'), of('home')];
  return { batches, rows, home, gateway: of('gateway'), store: of('store') };
}

function sum(all: readonly number[]): number {
  return all.reduce((total, one) => total + one, 0);
}

function wanted(): readonly Of[] {
  const words = process.argv.slice(2);
  if (words.length === 0) return POINTS.map(({ homes, spread }) => ({ homes, spread }));
  return words.map((word) => {
    const [homes = 0, spread = 0] = word.split(',').map(Number);
    if (!Number.isSafeInteger(homes) || !Number.isSafeInteger(spread) || homes < 1 || spread < 1)
      throw new Error(`${word}: HOMES,SPREAD is wanted, two numbers from 1 on`);
    return { homes, spread };
  });
}

const directory = await makeDataDirectory();
const server = await startKeepingRedis(directory.path, 'always');
const redis = new Redis({ host: HOST, port: server.port });
process.stdout.write('of a pair: measured (simulated)\n');
for (const of of wanted()) {
  const point = await measure(`redis://${HOST}:${server.port}`, redis, of);
  const { batchesOfPair, ofPair } = simulated(of, availableParallelism());
  const beside = (value: number, other: number) => `${value.toPrecision(3)} (${other.toPrecision(3)})`;
  const costs = (['home', 'gateway', 'store'] as const).map((key) => `${key} ${beside(point[key], ofPair[key])} µs`);
  const batches = `batches ${beside(point.batches, batchesOfPair)}, rows ${point.rows.toPrecision(3)}`;
  process.stdout.write(`${of.homes} homes, spread ${of.spread}: ${batches}, ${costs.join(', ')}\n`);
}
redis.disconnect();
await server.stop();
await directory.remove();
