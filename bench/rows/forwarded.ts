import { type Dist, type Side, TODAY, workOf } from '../against/side.js';
import { startCluster } from '../load/cluster.js';
import { streamPairs } from '../load/pairs.js';
import { type ServerProcess, startLinkProcess } from '../load/server-process.js';
import { SessionStream } from '../load/session-stream.js';
import { sayHello } from '../load/wire.js';
import type { Figure, Outcome } from '../measure.js';
import { hasRedis, REDIS } from '../peers/redis.js';
import { interleave, type Plan } from '../rounds.js';
import type { Row, Say } from '../row.js';

/** Short laps, many of them: three processes share what two cores may be. */
const PLAN = { rounds: 9, most: 15, laps: 4 };
const PAIRS = 20_000;
/** In a cluster each pair is written, too. */
const PAIRS_KEPT = 5_000;

export const forwarded: Row = {
  what: 'EnQueue+DeQueue pairs on one session, 256 in flight: at a sidecar that forwards them, against their home itself',
  limit: 900,
  side,
  async run(say) {
    return { figures: [figure('link', await linkAlone(says(say, 'link'))), figure('cluster', await inCluster(say))] };
  },
};

const WHATS = {
  link: 'coordinators in memory and the link between them, and nothing else of a sidecar',
  cluster: 'a cluster as people start one: a gateway, a home, and a Redis with every write on its disk',
} as const;

function figure(part: keyof typeof WHATS, outcome: Outcome): Figure {
  return {
    part,
    what: `EnQueue+DeQueue pairs over loopback on one session at a sidecar that forwards each to its home, 256 in flight over 10,000 keys; ${WHATS[part]}; load: a bare stream of grpc-js, without promises`,
    unit: 'pairs/s',
    peer: part === 'link' ? 'the same at such a coordinator without the link' : 'the same at the home itself',
    better: 'higher',
    enough: 0.4,
    aim: 0.7,
    outcome,
  };
}

async function linkAlone(say: Say): Promise<Outcome> {
  const alone = await startLinkProcess('alone', TODAY);
  const home = await startLinkProcess('home', TODAY);
  const gateway = await startLinkProcess('gateway', TODAY, home.address);
  const rounds = await compare(gateway, alone, { pairs: PAIRS, plan: PLAN, say });
  await Promise.all([alone, gateway, home].map((server) => server.stop()));
  return { is: 'measured', rounds };
}

async function inCluster(say: Say): Promise<Outcome> {
  if (!(await hasRedis())) return { is: 'missing', ...REDIS };
  const cluster = await startCluster();
  const gateway = await cluster.startGateway();
  const rounds = await compare(gateway, cluster.home, { pairs: PAIRS_KEPT, plan: PLAN, say: says(say, 'cluster') });
  await cluster.stop();
  return { is: 'measured', rounds };
}

interface Comparison {
  readonly pairs: number;
  readonly plan: Plan;
  readonly say: Say;
}

async function compare(gateway: ServerProcess, home: ServerProcess, { pairs, plan, say }: Comparison) {
  const [far, near] = [await openSession(gateway), await openSession(home)];
  const rounds = await interleave(plan, say, streamPairs(far, pairs), streamPairs(near, pairs), {
    keyturn: async () => (await gateway.cpuSeconds()) + (await home.cpuSeconds()),
    peer: home.cpuSeconds,
    operations: pairs,
  });
  far.close();
  near.close();
  return rounds;
}

function says(say: Say, part: string): Say {
  return (progress) => say(`${part}, ${progress}`);
}

async function openSession(server: ServerProcess): Promise<SessionStream> {
  const stream = new SessionStream(server.address);
  await sayHello(stream, 'worker-1');
  return stream;
}

/** Without what a Redis adds: two commits differ in the link. */
async function side(dist: Dist): Promise<Side> {
  const home = await startLinkProcess('home', dist);
  const gateway = await startLinkProcess('gateway', dist, home.address);
  const stream = await openSession(gateway);
  const lap = streamPairs(stream, PAIRS);
  return {
    parts: [
      {
        name: 'link',
        unit: 'pairs',
        judgedBy: 'wall',
        lap: async () => workOf(PAIRS, await lap()),
        cpuSeconds: async () => (await gateway.cpuSeconds()) + (await home.cpuSeconds()),
      },
    ],
    async close() {
      stream.close();
      await gateway.stop();
      await home.stop();
    },
  };
}
