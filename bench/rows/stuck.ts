import { startHeap } from '../heaps.js';
import { interleave } from '../rounds.js';
import type { Row } from '../row.js';

const PLAN = { rounds: 7, laps: 2 };
const PARKED = 1_000_000;
const WORKER = new URL('./stuck-worker.js', import.meta.url);

const what =
  'dispatch in process (Submit, Acquire of up to 32 turns, Ack) over 10,000 keys, while one stuck key has 1,000,000 items parked behind it';

export const stuck: Row = {
  what,
  limit: 600,
  async run(say) {
    const withStuckKey = await startHeap(WORKER, String(PARKED));
    const without = await startHeap(WORKER, '0');
    const rounds = await interleave(PLAN, say, withStuckKey.lap, without.lap);
    await Promise.all([withStuckKey.close(), without.close()]);
    return {
      figures: [
        {
          part: undefined,
          what,
          unit: 'turns/s',
          peer: 'the same without the stuck key',
          better: 'higher',
          enough: 0.9,
          aim: 1,
          outcome: { is: 'measured', rounds },
        },
      ],
    };
  },
};
