import { sideOfHeap } from '../against/heap-side.js';
import { perCpuSecond, startHeap } from '../heaps.js';
import { interleave, withCpuTime } from '../rounds.js';
import type { Row } from '../row.js';

const PLAN = { rounds: 9, most: 25, within: 0.03, laps: 4 };
const WORKER = new URL('./core-worker.js', import.meta.url);

const what = 'EnQueue+DeQueue in process, 10,000 keys, leases armed, metrics counted';

export const core: Row = {
  what,
  limit: 400,
  side: (dist) => sideOfHeap(new URL('bench/rows/core-worker.js', dist), ['keyturn'], undefined, 'pairs'),
  async run(say) {
    const keyturn = await startHeap(WORKER, 'keyturn');
    const map = await startHeap(WORKER, 'map');
    const rounds = await interleave(PLAN, say, perCpuSecond(keyturn), perCpuSecond(map));
    await Promise.all([keyturn.close(), map.close()]);
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
