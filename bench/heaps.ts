/**
 * Laps on heaps of their own. What is compared in one process would share one garbage collector: each would pay for
 * what the other leaves behind, and a small one would lose the small young generation that it has when alone.
 */
import { once } from 'node:events';
import { isMainThread, parentPort, Worker } from 'node:worker_threads';
import { ownCpuSeconds } from './against/side.js';
import type { Lap } from './rounds.js';

export interface Heap {
  readonly lap: Lap;
  close(): Promise<void>;
}

/** Starts a script that calls {@link serveLaps}, with these arguments. */
export async function startHeap(script: URL, ...args: readonly string[]): Promise<Heap> {
  const worker = new Worker(script, { argv: [...args] });
  // `once` rejects when the worker fails.
  await once(worker, 'message');
  return {
    lap: async () => {
      worker.postMessage('lap');
      const [rate]: unknown[] = await once(worker, 'message');
      if (typeof rate !== 'number') throw new Error(`a lap answered ${String(rate)}`);
      return rate;
    },
    close: async () => {
      worker.postMessage('end');
      await once(worker, 'exit');
    },
  };
}

/**
 * Laps by CPU time, threads of the garbage collector included: other programs of the machine hardly change it. Only one heap works at
 * a time, so that what this process uses meanwhile is what the lap costs.
 */
export function perCpuSecond({ lap }: Heap): Lap {
  return async () => {
    const [start, before] = [performance.now(), await ownCpuSeconds()];
    const rate = await lap();
    const operations = (rate * (performance.now() - start)) / 1_000;
    return operations / ((await ownCpuSeconds()) - before);
  };
}

/** To be called in the thread of a heap, when it is ready: runs a lap whenever the parent asks for one. */
export function serveLaps(lap: Lap): void {
  if (isMainThread || parentPort === null) throw new Error('laps are served in a thread of their own');
  const port = parentPort;
  port.on('message', (asked: unknown) => {
    // Ends this thread only, in an orderly way: a profile is written.
    if (asked === 'end') process.exit(0);
    lap().then((rate) => port.postMessage(rate));
  });
  port.postMessage('ready');
}
