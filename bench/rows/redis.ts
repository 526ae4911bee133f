import { type Dist, type Side, TODAY, workOf } from '../against/side.js';
import { type BenchCluster, startCluster } from '../load/cluster.js';
import { BATCH, BATCHES_IN_FLIGHT, clientCalls, connectClient, Dispatch } from '../load/dispatch.js';
import { perSecondInFlight } from '../load/in-flight.js';
import { clientPairs, lockPairs, streamPairs } from '../load/pairs.js';
import { startSidecar } from '../load/server-process.js';
import { SessionStream } from '../load/session-stream.js';
import { deQueue, enQueue, sayHello, turnOf } from '../load/wire.js';
import { type Figure, median, type Outcome, type Round } from '../measure.js';
import { BullJobs } from '../peers/bullmq.js';
import { hasRedis, REDIS, RedisLocks } from '../peers/redis.js';
import { inRounds, interleave } from '../rounds.js';
import type { Row, Say } from '../row.js';

/** Short laps, many of them: a disk has its moods. */
const PAIRS_PLAN = { rounds: 9, most: 21, laps: 3 };
const PAIRS = 5_000;
const SUBMIT_PLAN = { rounds: 9, most: 15, laps: 1 };
const ITEMS = 5_000;
const PAYLOAD = Buffer.alloc(200, 'x');
const WORKERS = 64;
const ANSWERS_PLAN = { rounds: 9 };
const ANSWERS = 300;
const KEY = 'customer-4711';

export const redis: Row = {
  what: 'a cluster of one home on a Redis with every write on its disk: pairs against locks there, Submit against BullMQ there, and what an answer takes longer',
  limit: 1_200,
  side,
  async run(say) {
    if (!(await hasRedis())) return { figures: allOf(() => ({ is: 'missing', ...REDIS })) };
    const cluster = await startCluster();
    const outcomes = {
      pairs: await againstLocks(cluster, (progress) => say(`against Redis, ${progress}`)),
      in: await againstBullMq(cluster, (progress) => say(`against BullMQ, ${progress}`)),
      answer: await againstMemory((progress) => say(`an answer, ${progress}`)),
    };
    await cluster.stop();
    return { figures: allOf((name) => outcomes[name]) };
  },
};

const FIGURES = {
  pairs: {
    row: 'redis pairs',
    part: undefined,
    what: 'EnQueue+DeQueue pairs on one session at the home, 256 in flight over 10,000 keys, each answered when Redis has it on its disk; load: @keyturn/client',
    unit: 'pairs/s',
    peer: 'SET NX PX, and compare-and-delete by a script, on the same Redis; load: ioredis, one connection, pipelined, same in flight',
    better: 'higher',
    enough: 0.5,
    aim: 0.8,
  },
  in: {
    row: 'redis in',
    part: undefined,
    what: 'Submit in batches of 100, 4 of them in flight, 5,000 items with 200-byte payloads, 10,000 keys, each answered when Redis has it on its disk; load: @keyturn/client',
    unit: 'items/s',
    peer: 'BullMQ: addBulk, same batches, as many in flight, on the same Redis',
    better: 'higher',
    enough: 1,
    aim: 3,
  },
  answer: {
    row: 'redis answer',
    part: undefined,
    what: 'EnQueue, one at a time, at the home, Redis with appendfsync everysec: what half of the answers take longer than at a sidecar alone that keeps nothing',
    unit: 'ms',
    peer: undefined,
    better: 'lower',
    enough: 1,
    aim: 0.4,
  },
} as const satisfies Record<string, Omit<Figure, 'outcome'>>;

function allOf(outcome: (name: keyof typeof FIGURES) => Outcome): Figure[] {
  return (['pairs', 'in', 'answer'] as const).map((name) => ({ ...FIGURES[name], outcome: outcome(name) }));
}

/** Both by what applications use. */
async function againstLocks({ home, redisPort }: BenchCluster, say: Say): Promise<Outcome> {
  const keyturn = connectClient(home.address);
  const locks = await RedisLocks.connect(redisPort);
  const rounds = await interleave(PAIRS_PLAN, say, clientPairs(keyturn, PAIRS), lockPairs(locks, PAIRS), {
    keyturn: home.cpuSeconds,
    operations: PAIRS,
  });
  await keyturn.close();
  locks.close();
  return { is: 'measured', rounds };
}

/** What went in is taken out between laps, which nobody counts. */
async function againstBullMq({ home, redisPort }: BenchCluster, say: Say): Promise<Outcome> {
  const keyturn = connectClient(home.address);
  const items = new Dispatch(clientCalls(keyturn), PAYLOAD);
  const jobs = await BullJobs.connect(redisPort, WORKERS);
  const payload = PAYLOAD.toString();
  const rounds = await interleave(
    SUBMIT_PLAN,
    say,
    async () => {
      const rate = await items.submitAll(ITEMS);
      await items.takeAll(ITEMS);
      return rate;
    },
    async () => {
      const batch = Array.from({ length: BATCH }, () => payload);
      const rate = BATCH * (await perSecondInFlight(ITEMS / BATCH, BATCHES_IN_FLIGHT, () => jobs.addBulk(batch)));
      await jobs.takeAll(ITEMS);
      return rate;
    },
  );
  await keyturn.close();
  await jobs.close();
  return { is: 'measured', rounds };
}

/** Redis does not wait for its disk here: that takes as long as the disk does, whoever asks. */
async function againstMemory(say: Say): Promise<Outcome> {
  const cluster = await startCluster(TODAY, 'everysec');
  const { home } = cluster;
  const alone = await startSidecar();
  const [kept, fleeting] = [await openSession(home.address), await openSession(alone.address)];
  const rounds = await inRounds(ANSWERS_PLAN, say, async (): Promise<Round> => {
    const value = (await halfAnsweredWithin(kept)) - (await halfAnsweredWithin(fleeting));
    return { value, peer: undefined };
  });
  kept.close();
  fleeting.close();
  await alone.stop();
  await cluster.stop();
  return { is: 'measured', rounds };
}

/** @returns ms */
async function halfAnsweredWithin(stream: SessionStream): Promise<number> {
  const times: number[] = [];
  for (let index = 0; index < ANSWERS; index++) {
    const start = performance.now();
    const { token } = turnOf(await stream.ask(enQueue(KEY)));
    times.push(performance.now() - start);
    await stream.ask(deQueue(KEY, token));
  }
  return median(times);
}

async function openSession(address: string): Promise<SessionStream> {
  const stream = new SessionStream(address);
  await sayHello(stream, 'worker-1');
  return stream;
}

async function side(dist: Dist): Promise<Side> {
  const cluster = await startCluster(dist);
  const stream = await openSession(cluster.home.address);
  const lap = streamPairs(stream, PAIRS);
  return {
    parts: [
      {
        name: 'pairs',
        unit: 'pairs',
        judgedBy: 'wall',
        lap: async () => workOf(PAIRS, await lap()),
        cpuSeconds: cluster.home.cpuSeconds,
      },
    ],
    async close() {
      stream.close();
      await cluster.stop();
    },
  };
}
