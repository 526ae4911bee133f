import { startHeap } from '../heaps.js';
import { median, type Round } from '../measure.js';
import { interleave } from '../rounds.js';
import type { Row, Say, Series } from '../row.js';

const SIZES = [1_000, 10_000, 100_000, 1_000_000] as const;
/** A million pairs a round: so often a Map of a million keys that come and go rehashes, and no round may be spared that. */
const PLAN = { rounds: 7, laps: 2 };
const WORKER = new URL('./growth-worker.js', import.meta.url);

const what =
  'a pair (DeQueue, then EnQueue of the same key) at 1 k, 10 k, 100 k and 1 M live keys in random order: how much slower it gets from 1 k to 1 M';

export const growth: Row = {
  what,
  limit: 900,
  async run(say) {
    const measured = new Map<number, readonly Round[]>();
    for (const size of SIZES) measured.set(size, await measure(size, say));
    const outcome = { is: 'measured', rounds: slowDowns(measured) } as const;
    const told = { part: undefined, what, unit: 'times', better: 'lower', enough: 1, aim: 0.6 } as const;
    return {
      figures: [{ ...told, peer: "the bare Map's own slow-down: delete+get+set, same keys, same order", outcome }],
      chart: {
        title: 'Time of a pair by live keys',
        x: 'live keys',
        y: 'ns per pair',
        series: [seriesOf('Keyturn', measured, (round) => round.value), seriesOf('bare Map', measured, peerOf)],
      },
    };
  },
};

/** Rounds in ns per pair. */
async function measure(size: number, say: Say): Promise<Round[]> {
  const told: Say = (progress) => say(`${size} live keys: ${progress}`);
  told('filling');
  const keyturn = await startHeap(WORKER, 'keyturn', String(size));
  const map = await startHeap(WORKER, 'map', String(size));
  const rounds = await interleave(PLAN, told, keyturn.lap, map.lap);
  await Promise.all([keyturn.close(), map.close()]);
  return rounds.map((round) => ({ value: 1e9 / round.value, peer: 1e9 / peerOf(round) }));
}

/** Each round by how much it is slower at the largest size than at the smallest. */
function slowDowns(measured: ReadonlyMap<number, readonly Round[]>): Round[] {
  const few = measured.get(SIZES[0]) ?? [];
  const many = measured.get(SIZES[3]) ?? [];
  return many.map((round, index) => {
    const base = few[index];
    if (base === undefined) throw new Error('a size has fewer rounds than another');
    return { value: round.value / base.value, peer: peerOf(round) / peerOf(base) };
  });
}

function seriesOf(name: string, measured: ReadonlyMap<number, readonly Round[]>, of: (round: Round) => number): Series {
  return { name, points: [...measured].map(([x, rounds]) => ({ x, y: median(rounds.map(of)) })) };
}

function peerOf(round: Round): number {
  if (round.peer === undefined) throw new Error('a round without the Map');
  return round.peer;
}
