import { makeDataDirectory } from '../load/data-directory.js';
import { type HotCluster, startHotCluster } from '../load/hot-cluster.js';
import { HOST } from '../load/native-server.js';
import { streamPairs } from '../load/pairs.js';
import { type Figure, harmonicMean, type Outcome, type Round } from '../measure.js';
import { hasRedis, REDIS, startKeepingRedis } from '../peers/redis.js';
import { inRounds, type Lap } from '../rounds.js';
import type { Row, Say } from '../row.js';

const SPREAD = 8;
const HOMES_IN_ALL = 1 + 2 + 4;
const PAIRS = 2_000;
/** Short laps, many rounds: ten sidecars and a Redis share what two cores may be. */
const PLAN = { rounds: 9, laps: 2 };

export const hot: Row = {
  what: `durable pairs of one queue with spread ${SPREAD} over 1, 2 and 4 homes on one Redis, and what each home works for them`,
  limit: 300,
  async run(say) {
    if (!(await hasRedis())) return { figures: figuresOf(() => ({ is: 'missing', ...REDIS })) };
    const rounds = await measure(say);
    return {
      figures: figuresOf((homes, of) => ({ is: 'measured', rounds: rounds.map((round) => roundOf(round, homes, of)) })),
    };
  },
};

/** Of a round, with one number of homes. */
interface Sample {
  /** Pairs a second, on the wall. */
  readonly rate: number;
  /** What a pair of the queue costs the home that works longest, and all homes together, µs of CPU. */
  readonly busiest: number;
  readonly all: number;
}

interface Samples {
  readonly 1: Sample;
  readonly 2: Sample;
  readonly 4: Sample;
}

type Many = 2 | 4;
type Of = (sample: Sample) => number;

/** Of a home's share: so many times what one home does is all that so many homes could bring. */
const MARKS = { 2: { enough: 1.5, aim: 1.8 }, 4: { enough: 2.4, aim: 3.2 } } as const;
const LOAD = `EnQueue+DeQueue pairs of one queue with spread ${SPREAD} on one session at a gateway, 256 in flight over 10,000 keys, each answered when Redis (appendfsync everysec) has it; load: a bare stream of grpc-js, without promises`;

function figuresOf(outcome: (homes: Many, of: Of) => Outcome): Figure[] {
  return ([2, 4] as const).flatMap((homes): Figure[] => [
    {
      row: 'hot share',
      part: `${homes} homes`,
      what: `${LOAD}; pairs for each second of CPU of the busiest of ${homes} homes: what they could do with a core each, while the store keeps up, which two cores cannot show`,
      unit: 'pairs/CPU s',
      peer: 'the same with 1 home',
      better: 'higher',
      ...MARKS[homes],
      outcome: outcome(homes, ({ busiest }) => 1e6 / busiest),
    },
    {
      row: 'hot rate',
      part: `${homes} homes`,
      what: `the same with ${homes} homes, on the wall: they share two cores with the gateway, Redis and the load, so this shows what more homes cost there, and cannot show what they bring`,
      unit: 'pairs/s',
      peer: 'the same with 1 home',
      better: 'higher',
      enough: undefined,
      aim: undefined,
      outcome: outcome(homes, ({ rate }) => rate),
    },
  ]);
}

function roundOf(samples: Samples, homes: Many, of: Of): Round {
  const [many, one] = [samples[homes], samples[1]];
  return { value: of(many), peer: of(one), cpu: many.all, peerCpu: one.all };
}

async function measure(say: Say): Promise<Samples[]> {
  // Each process that is started is ended with this one.
  process.setMaxListeners(2 * HOMES_IN_ALL);
  const directory = await makeDataDirectory();
  // The disk would decide otherwise, and it is the same one for all.
  const redis = await startKeepingRedis(directory.path, 'everysec');
  const start = (homes: number) =>
    startHotCluster(`redis://${HOST}:${redis.port}`, { name: `homes${homes}`, homes, spread: SPREAD });
  say('starting');
  const clusters = [await start(1), await start(2), await start(4)] as const;
  const [one, two, four] = [samplerOf(clusters[0]), samplerOf(clusters[1]), samplerOf(clusters[2])];
  const rounds = await inRounds(PLAN, say, async () => {
    for (let lap = 0; lap < PLAN.laps; lap++) for (const sampler of [one, two, four]) await sampler.lap();
    return { 1: one.take(), 2: two.take(), 4: four.take() };
  });
  await Promise.all(clusters.map((cluster) => cluster.stop()));
  await redis.stop();
  await directory.remove();
  return rounds;
}

/** The laps of a cluster in a round. */
function samplerOf({ stream, homes }: HotCluster): { readonly lap: () => Promise<void>; readonly take: () => Sample } {
  const pairs: Lap = streamPairs(stream, PAIRS);
  let rates: number[] = [];
  let seconds = homes.map(() => 0);
  const usage = () => Promise.all(homes.map((home) => home.cpuSeconds()));
  return {
    async lap() {
      const before = await usage();
      rates.push(await pairs());
      const after = await usage();
      seconds = seconds.map((sum, home) => sum + (after[home] ?? 0) - (before[home] ?? 0));
    },
    take() {
      const ofPair = seconds.map((sum) => (1e6 * sum) / (PAIRS * rates.length));
      const sample = {
        rate: harmonicMean(rates),
        busiest: Math.max(...ofPair),
        all: ofPair.reduce((sum, one) => sum + one, 0),
      };
      rates = [];
      seconds = homes.map(() => 0);
      return sample;
    },
  };
}
