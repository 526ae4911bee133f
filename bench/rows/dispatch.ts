import { type Dist, type Part, type Side, workOf } from '../against/side.js';
import {
  BATCH,
  BATCHES_IN_FLIGHT,
  clientCalls,
  connectClient,
  Dispatch,
  streamCalls,
  TURNS_IN_FLIGHT,
} from '../load/dispatch.js';
import { perSecondInFlight } from '../load/in-flight.js';
import { type ServerProcess, startSidecar } from '../load/server-process.js';
import { SessionStream } from '../load/session-stream.js';
import { type Figure, harmonicMean, type Outcome, type Round } from '../measure.js';
import { BEANSTALKD, BeanstalkConnection, hasBeanstalkd, startBeanstalkd } from '../peers/beanstalkd.js';
import { BullJobs } from '../peers/bullmq.js';
import { hasRedis, REDIS, startRedis } from '../peers/redis.js';
import { inRounds, judged, type Plan } from '../rounds.js';
import type { Row, Say } from '../row.js';

/** Keyturn's laps a lap of the peer. */
interface DispatchPlan extends Plan {
  readonly own: number;
}

/** BullMQ takes some four times as long: what is compared shall last about as long, or one lap is a lap to warm up. */
const PLANS = {
  beanstalkd: { rounds: 9, most: 15, laps: 4, own: 1 },
  bullmq: { rounds: 9, most: 11, laps: 1, own: 4 },
} as const satisfies Record<string, DispatchPlan>;
const PAYLOAD = Buffer.alloc(200, 'x');
/** Of a lap, for all alike: a backlog has its price. */
const ITEMS = 20_000;

/** Everything goes in, and then out again. */
type Way = 'in' | 'out';
type InAndOut = Readonly<Record<Way, Measured>>;

interface Measured {
  /** Per second. */
  readonly rate: number;
  /** CPU time of the server for one of them, µs. */
  readonly cpu: number;
}

async function measured(server: Pick<ServerProcess, 'cpuSeconds'>, all: () => Promise<number>): Promise<Measured> {
  const before = await server.cpuSeconds();
  const rate = await all();
  return { rate, cpu: (1e6 * ((await server.cpuSeconds()) - before)) / ITEMS };
}

/** What Keyturn does in a lap. */
async function ownLap<Turn>(sidecar: ServerProcess, items: Dispatch<Turn>): Promise<InAndOut> {
  const taken = await measured(sidecar, () => items.submitAll(ITEMS));
  return { in: taken, out: await measured(sidecar, () => items.takeAll(ITEMS)) };
}

/** One that is measured, ready. */
interface Contestant {
  lap(): Promise<InAndOut>;
  close(): Promise<void>;
}

export const dispatch: Row = {
  what: 'items with 200 bytes in by batches of 100, and out again with 64 in flight: against beanstalkd, and against BullMQ',
  limit: 900,
  side,
  async run(say) {
    const sidecar = await startSidecar();
    const beanstalkd = (await hasBeanstalkd())
      ? await compare(await joinStream(sidecar), await joinBeanstalkd(), PLANS.beanstalkd, says(say, 'beanstalkd'))
      : missing(BEANSTALKD);
    const bullmq = (await hasRedis())
      ? await compare(joinClient(sidecar), await joinBullMq(), PLANS.bullmq, says(say, 'BullMQ'))
      : missing(REDIS);
    await sidecar.stop();
    return { figures: [...figuresIn(beanstalkd.in, bullmq.in), ...figuresOut(beanstalkd.out, bullmq.out)] };
  },
};

/** What goes in is taken out by the same number of laps. */
async function side(dist: Dist): Promise<Side> {
  const sidecar = await startSidecar({ dist });
  const session = new SessionStream(sidecar.address);
  const items = new Dispatch(await streamCalls(session), PAYLOAD);
  const part = (name: string, unit: string, all: (count: number) => Promise<number>): Part => ({
    name,
    unit,
    judgedBy: 'wall',
    lap: async () => workOf(ITEMS, await all(ITEMS)),
    cpuSeconds: sidecar.cpuSeconds,
  });
  return {
    parts: [
      part('in', 'items', (count) => items.submitAll(count)),
      part('out', 'turns', (count) => items.takeAll(count)),
    ],
    async close() {
      session.close();
      await sidecar.stop();
    },
  };
}

interface Outcomes {
  readonly in: Outcome;
  readonly out: Outcome;
}

/** Lean against lean, and what applications use against what applications use. */
const ON_STREAM = 'load: a promise a call, on a bare stream of grpc-js';
const BY_CLIENT = 'load: @keyturn/client';

function figuresIn(beanstalkd: Outcome, bullmq: Outcome): Figure[] {
  const what =
    'Submit in batches of 100 on one session, 4 of them in flight, 20,000 items with 200-byte payloads, 10,000 keys';
  const told = { row: 'dispatch in', unit: 'items/s', better: 'higher' } as const;
  const put = 'beanstalkd: put, one connection, pipelined, as many in flight; load: a promise a job, on a bare socket';
  const addBulk = 'BullMQ: addBulk, same batches, as many in flight, on a Redis of its own';
  return [
    {
      ...told,
      part: 'beanstalkd',
      what: `${what}; ${ON_STREAM}`,
      peer: put,
      enough: 2.5,
      aim: 4,
      outcome: beanstalkd,
    },
    { ...told, part: 'BullMQ', what: `${what}; ${BY_CLIENT}`, peer: addBulk, enough: 6, aim: 10, outcome: bullmq },
  ];
}

function figuresOut(beanstalkd: Outcome, bullmq: Outcome): Figure[] {
  const what = 'Acquire of up to 32 turns and an Ack each on one session, 64 turns in flight, the same items';
  const told = { row: 'dispatch out', unit: 'turns/s', better: 'higher' } as const;
  const reserve =
    'beanstalkd: reserve+delete, one connection, pipelined, same in flight; load: a promise a command, on a bare socket';
  const worker = 'BullMQ: its worker, concurrency 64, with a handler that does nothing';
  return [
    {
      ...told,
      part: 'beanstalkd',
      what: `${what}; ${ON_STREAM}`,
      peer: reserve,
      enough: 2.5,
      aim: 4,
      outcome: beanstalkd,
    },
    { ...told, part: 'BullMQ', what: `${what}; ${BY_CLIENT}`, peer: worker, enough: 8, aim: 12, outcome: bullmq },
  ];
}

async function compare(keyturn: Contestant, peer: Contestant, plan: DispatchPlan, say: Say): Promise<Outcomes> {
  let turns = 0;
  const oneRound = async () => {
    const laps = { keyturn: [] as InAndOut[], peer: [] as InAndOut[] };
    for (let lap = 0; lap < plan.laps; lap++) {
      const own = async () => {
        for (let left = plan.own; left > 0; left--) laps.keyturn.push(await keyturn.lap());
      };
      const theirs = async () => void laps.peer.push(await peer.lap());
      // Who comes first finds what the other left behind: each as often.
      for (const side of turns++ % 2 === 0 ? [own, theirs] : [theirs, own]) await side();
    }
    return { in: roundOf(laps, 'in'), out: roundOf(laps, 'out') };
  };
  const rounds = await inRounds(
    plan,
    say,
    oneRound,
    (round) => judged(round.in),
    (round) => judged(round.out),
  );
  await Promise.all([keyturn.close(), peer.close()]);
  const outcome = (way: Way): Outcome => ({ is: 'measured', rounds: rounds.map((round) => round[way]) });
  return { in: outcome('in'), out: outcome('out') };
}

function roundOf(laps: Readonly<Record<'keyturn' | 'peer', readonly InAndOut[]>>, way: Way): Round {
  const rate = (of: readonly InAndOut[]) => harmonicMean(of.map((lap) => lap[way].rate));
  const cpu = (of: readonly InAndOut[]) => of.reduce((sum, lap) => sum + lap[way].cpu, 0) / of.length;
  return { value: rate(laps.keyturn), peer: rate(laps.peer), cpu: cpu(laps.keyturn), peerCpu: cpu(laps.peer) };
}

function missing(program: { readonly needs: string; readonly install: string }): Outcomes {
  const outcome = { is: 'missing', ...program } as const;
  return { in: outcome, out: outcome };
}

function says(say: Say, peer: string): Say {
  return (progress) => say(`against ${peer}, ${progress}`);
}

async function joinStream(sidecar: ServerProcess): Promise<Contestant> {
  const session = new SessionStream(sidecar.address);
  const items = new Dispatch(await streamCalls(session), PAYLOAD);
  return {
    lap: () => ownLap(sidecar, items),
    close: async () => session.close(),
  };
}

function joinClient(sidecar: ServerProcess): Contestant {
  const keyturn = connectClient(sidecar.address);
  const items = new Dispatch(clientCalls(keyturn), PAYLOAD);
  return {
    lap: () => ownLap(sidecar, items),
    close: () => keyturn.close(),
  };
}

async function joinBeanstalkd(): Promise<Contestant> {
  const server = await startBeanstalkd();
  const connection = await BeanstalkConnection.connect(server.port);
  return {
    async lap() {
      const put = await measured(server, () => putAll(connection));
      return { in: put, out: await measured(server, () => reserveAll(connection)) };
    },
    async close() {
      connection.close();
      await server.stop();
    },
  };
}

/** @returns jobs per second */
function putAll(connection: BeanstalkConnection): Promise<number> {
  return perSecondInFlight(ITEMS, BATCH * BATCHES_IN_FLIGHT, () => connection.put(PAYLOAD));
}

/** @returns jobs per second */
async function reserveAll(connection: BeanstalkConnection): Promise<number> {
  let settled: Promise<unknown> = Promise.resolve();
  const rate = await perSecondInFlight(ITEMS, TURNS_IN_FLIGHT, async () => {
    const { id } = await connection.reserve();
    // Not awaited here: the next reserve goes out with it. Replies come in order, so that the last one is the last.
    settled = connection.delete(id);
  });
  await settled;
  return rate;
}

async function joinBullMq(): Promise<Contestant> {
  const server = await startRedis();
  const jobs = await BullJobs.connect(server.port, TURNS_IN_FLIGHT);
  const payloads = Array.from({ length: BATCH }, () => PAYLOAD.toString('latin1'));
  return {
    async lap() {
      const added = await measured(
        server,
        async () => BATCH * (await perSecondInFlight(ITEMS / BATCH, BATCHES_IN_FLIGHT, () => jobs.addBulk(payloads))),
      );
      return { in: added, out: await measured(server, () => jobs.takeAll(ITEMS)) };
    },
    async close() {
      await jobs.close();
      await server.stop();
    },
  };
}
