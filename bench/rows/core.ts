import { sideOfHeap } from '../against/heap-side.js';
import { perCpuSecond, startHeap } from '../heaps.js';
import type { Round } from '../measure.js';
import { inRounds, interleave, judged, withCpuTime } from '../rounds.js';
import type { Row } from '../row.js';

const PLAN = { rounds: 9, most: 25, within: 0.03 };
/** One to warm up, one that counts; of an even number of laps, or the same side would come first more often in every round. */
const EACH = { rounds: 1, laps: 4 };
const WORKER = new URL('./core-worker.js', import.meta.url);

const what = 'EnQueue+DeQueue in process, 10,000 keys, leases armed, metrics counted';

export const core: Row = {
  what,
  limit: 400,
  side: (dist) => sideOfHeap(new URL('bench/rows/core-worker.js', dist), ['keyturn'], undefined, 'pairs'),
  async run(say) {
    const rounds = await inRounds(PLAN, say, oneRound, judged);
    return {
      figures: [
        {
          part: undefined,
          what,
          unit: 'pairs/CPU s',
          peer: 'bare Map: set+get+delete of a small object',
          better: 'higher',
          enough: 0.15,
          aim: 0.25,
          outcome: { is: 'measured', rounds: withCpuTime(rounds) },
        },
      ],
    };
  },
};

/**
 * On heaps of its own: after some 15 million pairs what the engine makes of the loop over a bare Map takes three to four times as
 * long, in every process, and stays so. The Map is measured before that.
 */
async function oneRound(): Promise<Round> {
  const keyturn = await startHeap(WORKER, 'keyturn');
  const map = await startHeap(WORKER, 'map');
  const [round] = await interleave(EACH, () => undefined, perCpuSecond(keyturn), perCpuSecond(map));
  await Promise.all([keyturn.close(), map.close()]);
  if (round === undefined) throw new Error('a round measured nothing');
  return round;
}
