/** How much memory a sidecar uses for what it holds: `limits.memory_bytes`, or a share of the heap that Node gives it. */
import { getHeapStatistics } from 'node:v8';
import type { Config } from '../../config/config.js';

const MEBIBYTE = 1_048_576;
/** The rest is for answers on their way, buffers of gRPC, and the garbage collector. */
const SHARE = 0.6;
/**
 * Of a small heap what the program itself takes counts: its young generation is a part of the limit (48 MiB), in which nothing stays,
 * and its code and tables take up to 32 MiB.
 */
const OF_THE_PROGRAM = 80 * MEBIBYTE;
const SHARE_BESIDE_IT = 0.7;

/** @param heapLimit of Node, bytes */
function budgetOf(heapLimit: number): number {
  return Math.max(MEBIBYTE, Math.floor(Math.min(SHARE * heapLimit, SHARE_BESIDE_IT * (heapLimit - OF_THE_PROGRAM))));
}

/** With `limits.memory_bytes` in bytes, whatever was asked for. */
export function withMemoryBudget(
  config: Config,
  log: { info(fields: object, message: string): void },
  heapLimit = getHeapStatistics().heap_size_limit,
): Config {
  const { limits } = config.coordinator;
  const isSet = Number.isFinite(limits.memoryBytes);
  const memoryBytes = isSet ? limits.memoryBytes : budgetOf(heapLimit);
  log.info({ memory_bytes: memoryBytes, heap_limit: heapLimit, from: isSet ? 'settings' : 'heap' }, 'memory budget');
  return { ...config, coordinator: { ...config.coordinator, limits: { ...limits, memoryBytes } } };
}
