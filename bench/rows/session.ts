import { SessionResponse } from '../../src/grpc/gen/keyturn/v1/coordinator.js';
import { type Dist, type Side, workOf } from '../against/side.js';
import { connectClient } from '../load/dispatch.js';
import { clientPairs, lockPairs, streamPairs } from '../load/pairs.js';
import { type ServerProcess, startBareSessionServer, startSidecar } from '../load/server-process.js';
import { SessionStream } from '../load/session-stream.js';
import { deQueue, enQueue, sayHello, turnOf } from '../load/wire.js';
import type { Figure } from '../measure.js';
import { hasRedis, REDIS, RedisLocks, startRedis } from '../peers/redis.js';
import { interleave } from '../rounds.js';
import type { Row, Say } from '../row.js';

const PLAN = { rounds: 9, most: 21, laps: 2 };
const PAIRS = 50_000;

export const session: Row = {
  what: 'EnQueue+DeQueue pairs on one session, 256 in flight: against Redis as a lock, and against a stream that does nothing',
  limit: 900,
  side,
  async run(say) {
    const sidecar = await startSidecar();
    const figures = [await againstRedis(sidecar, say), await againstBareStream(sidecar, say)];
    await sidecar.stop();
    return { figures };
  },
};

async function againstRedis(sidecar: ServerProcess, say: Say): Promise<Figure> {
  const told = {
    part: undefined,
    what: 'EnQueue+DeQueue pairs over loopback on one session, 256 in flight over 10,000 keys; load: @keyturn/client',
    unit: 'pairs/s',
    peer: 'Redis: SET NX PX, and compare-and-delete by a script; load: ioredis, one connection, pipelined, same in flight',
    better: 'higher',
    enough: 2.5,
    aim: 4,
  } as const;
  if (!(await hasRedis())) return { ...told, outcome: { is: 'missing', ...REDIS } };
  const redis = await startRedis();
  const locks = await RedisLocks.connect(redis.port);
  const keyturn = connectClient(sidecar.address);
  const rounds = await interleave(PLAN, says(say, 'Redis'), clientPairs(keyturn, PAIRS), lockPairs(locks, PAIRS), {
    keyturn: sidecar.cpuSeconds,
    peer: redis.cpuSeconds,
    operations: PAIRS,
  });
  await keyturn.close();
  locks.close();
  await redis.stop();
  return { ...told, outcome: { is: 'measured', rounds } };
}

async function againstBareStream(sidecar: ServerProcess, say: Say): Promise<Figure> {
  const stream = await openSession(sidecar);
  const bare = await startBareSessionServer(await recordReplies(stream));
  const bareStream = await openSession(bare);
  const rounds = await interleave(
    PLAN,
    says(say, 'bare stream'),
    streamPairs(stream, PAIRS),
    streamPairs(bareStream, PAIRS),
    { keyturn: sidecar.cpuSeconds, peer: bare.cpuSeconds, operations: PAIRS },
  );
  stream.close();
  bareStream.close();
  await bare.stop();
  return {
    row: 'session overhead',
    part: undefined,
    what: 'the same; load: a bare stream of grpc-js, without promises',
    unit: 'pairs/s',
    peer: 'a grpc-js stream whose handler answers each message with replies that it has: same codec, commands, replies and load',
    better: 'higher',
    enough: 0.4,
    aim: 0.7,
    outcome: { is: 'measured', rounds },
  };
}

/** The lean load: what a commit's own client costs is for the row `clients`. */
async function side(dist: Dist): Promise<Side> {
  const sidecar = await startSidecar({ dist });
  const stream = await openSession(sidecar);
  const lap = streamPairs(stream, PAIRS);
  return {
    parts: [
      {
        name: 'overhead',
        unit: 'pairs',
        judgedBy: 'wall',
        lap: async () => workOf(PAIRS, await lap()),
        cpuSeconds: sidecar.cpuSeconds,
      },
    ],
    async close() {
      stream.close();
      await sidecar.stop();
    },
  };
}

function says(say: Say, peer: string): Say {
  return (progress) => say(`against ${peer}, ${progress}`);
}

async function openSession(server: ServerProcess): Promise<SessionStream> {
  const stream = new SessionStream(server.address);
  await sayHello(stream, 'worker-1');
  return stream;
}

/** What the sidecar answers to a pair, and to hello: what the bare server shall say. */
async function recordReplies(stream: SessionStream): Promise<Uint8Array> {
  const key = 'customer-4711';
  const enqueue = await stream.ask(enQueue(key));
  const dequeue = await stream.ask(deQueue(key, turnOf(enqueue).token));
  const hello = { sessionId: 'session', ttl: undefined, turns: [], turnCount: 0 };
  const replies = [
    { id: 1, outcome: { $case: 'enqueue', value: enqueue } } as const,
    { id: 2, outcome: { $case: 'dequeue', value: dequeue } } as const,
    { id: 3, outcome: { $case: 'hello', value: hello } } as const,
  ];
  return SessionResponse.encode({ replies, notices: [] }).finish();
}
