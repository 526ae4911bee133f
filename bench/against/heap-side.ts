import { startHeap } from '../heaps.js';
import { ownCpuSeconds, type Side } from './side.js';

/**
 * What a commit does on a heap of its own, in a thread of this process. Only one side runs at a time, so that what this
 * process uses meanwhile is what the lap costs. The thread's script is the commit's own: it calls functions that another
 * commit may not have.
 */
export async function sideOfHeap(
  script: URL,
  args: readonly string[],
  name: string | undefined,
  unit: string,
): Promise<Side> {
  const heap = await startHeap(script, ...args);
  const lap = async () => {
    const start = performance.now();
    const rate = await heap.lap();
    const seconds = (performance.now() - start) / 1_000;
    return { operations: rate * seconds, seconds };
  };
  return { parts: [{ name, unit, judgedBy: 'cpu', lap, cpuSeconds: ownCpuSeconds }], close: heap.close };
}
