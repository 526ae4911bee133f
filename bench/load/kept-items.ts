/** What takes items and answers when they are on its disk: Keyturn, and what a user would take instead. */
import { TODAY } from '../against/side.js';
import { QUEUE } from '../coordinator.js';
import { BEANSTALKD, BeanstalkConnection, hasBeanstalkd, startKeepingBeanstalkd } from '../peers/beanstalkd.js';
import { hasPostgres, POSTGRES, PostgresItems, startPostgres } from '../peers/postgres.js';
import { hasRedis, REDIS, RedisStream, startKeepingRedis } from '../peers/redis.js';
import { makeDataDirectory } from './data-directory.js';
import { connectClient } from './dispatch.js';
import type { Program } from './native-server.js';
import { openWhenReady } from './ready-session.js';
import { startSidecar } from './server-process.js';

/** One that is measured, ready. */
export interface KeptItems {
  /** Resolves when all of them are kept. */
  add(keys: readonly string[], payload: Buffer): Promise<void>;
  /** Of the server. */
  cpuSeconds(): Promise<number>;
  close(): Promise<void>;
}

export interface KeepingPeer {
  readonly told: string;
  readonly program: Program;
  isThere(): Promise<boolean>;
  start(): Promise<KeptItems>;
}

/** So many backends share their flushes, and leave something of two cores to others. Other numbers were not tried. */
const CONNECTIONS = 32;

export const KEEPING_PEERS = {
  beanstalkd: {
    told: 'beanstalkd -b DIR -f0: put, one connection, pipelined; load: a promise a job, on a bare socket',
    program: BEANSTALKD,
    isThere: hasBeanstalkd,
    start: startBeanstalkdItems,
  },
  Redis: {
    told: 'Redis, appendfsync always: XADD, one connection, pipelined; load: ioredis',
    program: REDIS,
    isThere: hasRedis,
    start: startRedisItems,
  },
  PostgreSQL: {
    told: `PostgreSQL, synchronous_commit=on: an INSERT for each batch, prepared, over a pool of ${CONNECTIONS} connections; load: pg`,
    program: POSTGRES,
    isThere: hasPostgres,
    start: startPostgresItems,
  },
} as const satisfies Record<string, KeepingPeer>;

/** By what applications use, as the peers. @param dist whose code */
export async function startKeyturnItems(dist = TODAY): Promise<KeptItems> {
  const directory = await makeDataDirectory();
  const sidecar = await startSidecar({
    dist,
    policy: { durable: true, max_waiting: 10_000_000 },
    dataDirectory: directory.path,
  });
  (await openWhenReady(sidecar.address)).close();
  const keyturn = connectClient(sidecar.address);
  return {
    async add(keys, payload) {
      const items = keys.map((key) => ({ key, payload }));
      const { results } = await keyturn.submit({ queue: QUEUE, items, durability: ON_FLUSH });
      for (const { decision } of results)
        if (decision !== 'accept') throw new Error(`an item was answered ${decision}`);
    },
    cpuSeconds: sidecar.cpuSeconds,
    async close() {
      await keyturn.close();
      await sidecar.stop();
      await directory.remove();
    },
  };
}

const ON_FLUSH = 'on_flush';

async function startBeanstalkdItems(): Promise<KeptItems> {
  const directory = await makeDataDirectory();
  const server = await startKeepingBeanstalkd(directory.path);
  const connection = await BeanstalkConnection.connect(server.port);
  return {
    // It knows no keys: they would be part of the job.
    async add(keys, payload) {
      await Promise.all(keys.map(() => connection.put(payload)));
    },
    cpuSeconds: server.cpuSeconds,
    async close() {
      connection.close();
      await server.stop();
      await directory.remove();
    },
  };
}

async function startRedisItems(): Promise<KeptItems> {
  const directory = await makeDataDirectory();
  const server = await startKeepingRedis(directory.path, 'always');
  const stream = RedisStream.connect(server.port);
  return {
    add: (keys, payload) => stream.add(keys, payload),
    cpuSeconds: server.cpuSeconds,
    async close() {
      stream.close();
      await server.stop();
      await directory.remove();
    },
  };
}

async function startPostgresItems(): Promise<KeptItems> {
  const directory = await makeDataDirectory();
  const server = await startPostgres(directory.path);
  const items = await PostgresItems.connect(server.port, CONNECTIONS);
  return {
    add: (keys, payload) => items.insert(keys, payload),
    cpuSeconds: server.cpuSeconds,
    async close() {
      await items.close();
      await server.stop();
      await directory.remove();
    },
  };
}
