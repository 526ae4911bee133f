import { type Heap, perCpuSecond, startHeap } from '../heaps.js';
import { harmonicMean, median, type Round } from '../measure.js';
import { inRounds, judged } from '../rounds.js';
import type { Row, Say, Series } from '../row.js';

const SIZES = [1_000, 10_000, 100_000, 1_000_000] as const;
/** A million pairs a round: so often a Map of a million keys that come and go rehashes, and no round may be spared that. */
const PLAN = { rounds: 9, most: 15, laps: 2 };
const WORKER = new URL('./growth-worker.js', import.meta.url);

const what =
  'a pair (DeQueue, then EnQueue of the same key) at 1 k, 10 k, 100 k and 1 M live keys in random order: how much slower it gets from 1 k to 1 M, by CPU time';

export const growth: Row = {
  what,
  limit: 1_800,
  async run(say) {
    const measured = await measure(say);
    const outcome = { is: 'measured', rounds: slowDowns(measured) } as const;
    const told = { part: undefined, what, unit: 'times', better: 'lower', enough: 1, aim: 0.6 } as const;
    return {
      figures: [{ ...told, peer: "the bare Map's own slow-down: delete+get+set, same keys, same order", outcome }],
      chart: {
        title: 'CPU time of a pair by live keys',
        x: 'live keys',
        y: 'ns per pair',
        series: [seriesOf('Keyturn', measured, (round) => round.value), seriesOf('bare Map', measured, peerOf)],
      },
    };
  },
};

/** One size: Keyturn and the Map on heaps of their own. */
interface Pair {
  readonly size: number;
  readonly keyturn: Heap;
  readonly map: Heap;
}

/**
 * All sizes in each round, so that what disturbs the machine disturbs all. Only one heap works at a time.
 *
 * @returns of each size the rounds, in ns of CPU time per pair
 */
async function measure(say: Say): Promise<ReadonlyMap<number, readonly Round[]>> {
  const pairs: Pair[] = [];
  for (const size of SIZES) {
    say(`filling, ${size} live keys`);
    const keyturn = await startHeap(WORKER, 'keyturn', String(size));
    pairs.push({ size, keyturn, map: await startHeap(WORKER, 'map', String(size)) });
  }
  const rounds = await inRounds(PLAN, say, () => oneRound(pairs), slowDownRatio);
  await Promise.all(pairs.flatMap(({ keyturn, map }) => [keyturn.close(), map.close()]));
  return new Map(SIZES.map((size, at) => [size, rounds.flatMap((sizes) => sizes[at] ?? [])]));
}

async function oneRound(pairs: readonly Pair[]): Promise<Round[]> {
  const laps = pairs.map(() => ({ keyturn: [] as number[], map: [] as number[] }));
  for (let lap = 0; lap < PLAN.laps; lap++)
    for (const [at, { keyturn, map }] of pairs.entries()) {
      laps[at]?.keyturn.push(await perCpuSecond(keyturn)());
      laps[at]?.map.push(await perCpuSecond(map)());
    }
  return laps.map(({ keyturn, map }) => ({ value: 1e9 / harmonicMean(keyturn), peer: 1e9 / harmonicMean(map) }));
}

function slowDownRatio(sizes: readonly Round[]): number {
  return judged(slowDown(sizes[0], sizes.at(-1)));
}

/** How much slower it is at the largest size than at the smallest. */
function slowDown(few: Round | undefined, many: Round | undefined): Round {
  if (few === undefined || many === undefined) throw new Error('a size has fewer rounds than another');
  return { value: many.value / few.value, peer: peerOf(many) / peerOf(few) };
}

function slowDowns(measured: ReadonlyMap<number, readonly Round[]>): Round[] {
  const few = measured.get(SIZES[0]) ?? [];
  return (measured.get(SIZES[3]) ?? []).map((many, index) => slowDown(few[index], many));
}

function seriesOf(name: string, measured: ReadonlyMap<number, readonly Round[]>, of: (round: Round) => number): Series {
  return { name, points: [...measured].map(([x, rounds]) => ({ x, y: median(rounds.map(of)) })) };
}

function peerOf(round: Round): number {
  if (round.peer === undefined) throw new Error('a round without the Map');
  return round.peer;
}
