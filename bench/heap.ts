import { setImmediate as nextTurn } from 'node:timers/promises';

/** Bytes that are in use on the heap and in buffers outside it, after everything that is garbage is gone. */
export async function bytesInUse(): Promise<number> {
  const { gc } = globalThis;
  if (gc === undefined) throw new Error('memory is measured with --expose-gc');
  // Twice: what a finalizer lets go of is found by the second.
  for (let pass = 0; pass < 2; pass++) {
    await nextTurn();
    gc();
  }
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}
