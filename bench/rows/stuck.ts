import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
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
    // A heap for each: the garbage collector's work on the parked items must not be paid by both.
    const withStuckKey = await startWorker(PARKED);
    const without = await startWorker(0);
    const rounds = await interleave(PLAN, say, withStuckKey.lap, without.lap);
    await Promise.all([withStuckKey.worker.terminate(), without.worker.terminate()]);
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

interface Lapper {
  readonly worker: Worker;
  readonly lap: () => Promise<number>;
}

async function startWorker(parked: number): Promise<Lapper> {
  const worker = new Worker(WORKER, { workerData: parked });
  await once(worker, 'message');
  const lap = async () => {
    worker.postMessage('lap');
    const [rate]: unknown[] = await once(worker, 'message');
    if (typeof rate !== 'number') throw new Error(`a worker answered ${String(rate)}`);
    return rate;
  };
  return { worker, lap };
}
