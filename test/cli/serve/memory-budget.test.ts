/** S606: how much memory a sidecar takes for what it holds. */
import { deepStrictEqual, ok, strictEqual } from 'node:assert/strict';
import { test } from 'node:test';
import { getHeapStatistics } from 'node:v8';
import { withMemoryBudget } from '../../../src/cli/serve/memory-budget.js';
import { loadConfig } from '../../../src/config/config.js';

function withBudget(
  memoryBytes?: number,
  heapLimit?: number,
): { readonly bytes: number; readonly lines: readonly unknown[] } {
  const config = loadConfig({}, {});
  const { coordinator } = config;
  const limits = { ...coordinator.limits, ...(memoryBytes !== undefined && { memoryBytes }) };
  const lines: unknown[] = [];
  const log = { info: (fields: object, message: string) => void lines.push({ ...fields, message }) };
  const within = withMemoryBudget({ ...config, coordinator: { ...coordinator, limits } }, log, heapLimit);
  return { bytes: within.coordinator.limits.memoryBytes, lines };
}

test('auto: 60 % of the heap limit, said at the start', () => {
  const heapLimit = getHeapStatistics().heap_size_limit;
  const { bytes, lines } = withBudget();
  ok(bytes <= heapLimit * 0.6 && bytes > heapLimit * 0.59);
  deepStrictEqual(lines, [{ memory_bytes: bytes, heap_limit: heapLimit, from: 'heap', message: 'memory budget' }]);
});

const MEBIBYTES = 1_048_576;
for (const [heap, budget] of [
  [4_144, 2_486.4],
  [560, 336],
  [208, 89.6],
  [117, 25.9],
  [64, 1],
] as const)
  test(`auto, with a heap of ${heap} MiB: less of a small one, most of which is the program's`, () => {
    strictEqual(withBudget(undefined, heap * MEBIBYTES).bytes, Math.floor(budget * MEBIBYTES));
  });

test('what the settings say counts', () => {
  const { bytes, lines } = withBudget(50_000_000);
  strictEqual(bytes, 50_000_000);
  ok(JSON.stringify(lines).includes('"from":"settings"'));
});
