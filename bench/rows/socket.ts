import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { credentials } from '@grpc/grpc-js';
import { CoordinatorServiceClient, Decision } from '../../src/grpc/gen/keyturn/v1/coordinator.js';
import { HOUR } from '../coordinator.js';
import { streamPairs } from '../load/pairs.js';
import { type ServerProcess, startSidecar } from '../load/server-process.js';
import { SessionStream } from '../load/session-stream.js';
import { enQueue, sayHello, seconds } from '../load/wire.js';
import type { Figure, Round } from '../measure.js';
import { hasRedis, REDIS, RedisLocks, startRedis } from '../peers/redis.js';
import { interleave, type Lap, type Plan } from '../rounds.js';
import type { Row, Say } from '../row.js';

/** Held all the time: none of those that pairs take. */
const KEY = 'held';

export interface SocketSize {
  readonly plan: Plan;
  /** Of a lap. */
  readonly calls: number;
  readonly pairs: number;
}

const SIZE: SocketSize = { plan: { rounds: 9, most: 21, laps: 3 }, calls: 500, pairs: 20_000 };

export const socket: Row = {
  what: 'a Unix socket against TCP over loopback: unary calls one at a time, and pairs on one session; one call against one command of Redis',
  limit: 900,
  async run(say) {
    return { figures: await compareSockets(SIZE, say) };
  },
};

export async function compareSockets({ plan, calls, pairs }: SocketSize, say: Say): Promise<Figure[]> {
  const directory = await mkdtemp(join(tmpdir(), 'keyturn-bench-socket-'));
  const unix = await startSidecar({ listen: `unix:${join(directory, 'keyturn.sock')}` });
  const tcp = await startSidecar();
  const compare = async (part: string, operations: number, open: (server: ServerProcess) => Promise<Opened>) => {
    const [own, peers] = [await open(unix), await open(tcp)];
    const meters = { keyturn: unix.cpuSeconds, peer: tcp.cpuSeconds, operations };
    const rounds = await interleave(plan, (progress) => say(`${part}, ${progress}`), own.lap, peers.lap, meters);
    own.close();
    peers.close();
    return rounds;
  };
  const unary = await compare('unary', calls, (server) => openUnary(server, calls));
  const session = await compare('session', pairs, (server) => openSession(server, pairs));
  const redis = await againstRedis(tcp, { plan, calls, pairs }, say);
  await Promise.all([unix.stop(), tcp.stop()]);
  await rm(directory, { recursive: true });
  return [
    figure(
      'unary',
      'unary EnQueue of a key that is held, one call at a time; load: a client of grpc-js',
      'calls/s',
      unary,
    ),
    figure(
      'session',
      'EnQueue+DeQueue pairs on one session, 256 in flight over 10,000 keys; load: a bare stream of grpc-js, without promises',
      'pairs/s',
      session,
    ),
    redis,
  ];
}

/** Nothing is to be reached: what a kind of socket costs is the system's. */
function figure(part: string, what: string, unit: string, rounds: readonly Round[]): Figure {
  const peer = 'the same over TCP on loopback, at a sidecar of its own';
  const marks = { better: 'higher', enough: undefined, aim: undefined } as const;
  return { part, what: `${what}; over a Unix socket`, unit, peer, ...marks, outcome: { is: 'measured', rounds } };
}

/** What one call costs beside one command: a Redis is quicker, and it is said. */
async function againstRedis(sidecar: ServerProcess, { plan, calls }: SocketSize, say: Say): Promise<Figure> {
  const told = {
    part: 'unary, Redis',
    what: 'unary EnQueue of a key that is held, one call at a time, over TCP; load: a client of grpc-js',
    unit: 'calls/s',
    peer: 'Redis: SET NX PX of a key that is there, one command at a time, over TCP; load: ioredis',
    better: 'higher',
    enough: undefined,
    aim: undefined,
  } as const;
  if (!(await hasRedis())) return { ...told, outcome: { is: 'missing', ...REDIS } };
  const redis = await startRedis();
  const [own, locks] = [await openUnary(sidecar, calls), await RedisLocks.connect(redis.port)];
  if (!(await locks.tryLock(KEY, 'holder', HOUR))) throw new Error('the lock was taken before');
  const refused = async (): Promise<number> => {
    const start = performance.now();
    for (let call = 0; call < calls; call++)
      if (await locks.tryLock(KEY, 'other')) throw new Error('the lock was free');
    return (calls * 1_000) / (performance.now() - start);
  };
  const meters = { keyturn: sidecar.cpuSeconds, peer: redis.cpuSeconds, operations: calls };
  const rounds = await interleave(plan, (progress) => say(`one command, ${progress}`), own.lap, refused, meters);
  own.close();
  locks.close();
  await redis.stop();
  return { ...told, outcome: { is: 'measured', rounds } };
}

interface Opened {
  readonly lap: Lap;
  close(): void;
}

async function openSession(server: ServerProcess, pairs: number): Promise<Opened> {
  const stream = new SessionStream(server.address);
  await sayHello(stream, 'worker-1');
  return { lap: streamPairs(stream, pairs), close: () => stream.close() };
}

async function openUnary(server: ServerProcess, calls: number): Promise<Opened> {
  const client = new CoordinatorServiceClient(server.address, credentials.createInsecure());
  /** @param lease seconds; 0: the queue's */
  const ask = (lease: number) =>
    new Promise<Decision>((resolve, reject) => {
      const { value } = enQueue(KEY, seconds(0));
      const request = { ...value, consumerId: 'worker-1', lease: lease === 0 ? undefined : seconds(lease) };
      client.enQueue(request, (error, response) => (error ? reject(error) : resolve(response.decision)));
    });
  // Who comes second finds it held already.
  await ask(3_600);
  const lap = async (): Promise<number> => {
    const start = performance.now();
    for (let call = 0; call < calls; call++) {
      const decision = await ask(0);
      if (decision !== Decision.DECISION_BLOCK) throw new Error(`expected BLOCK, got ${decision}`);
    }
    return (calls * 1_000) / (performance.now() - start);
  };
  return { lap, close: () => client.close() };
}
