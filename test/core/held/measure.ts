/**
 * What one of each kind costs, in bytes: of the heap as it grew, and as the core counts it.
 *
 *     node --expose-gc dist/test/core/held/measure.js [COUNT] [KIND]
 */
import { bytesInUse } from '../../../bench/heap.js';
import { Filled, KINDS } from './kinds.js';

const [count = '20000', only = ''] = process.argv.slice(2);

for (const [name, { add, settings }] of Object.entries(KINDS)) {
  if (!name.includes(only)) continue;
  const filled = new Filled(settings);
  // Whatever is made once, and the code, is not what one more costs.
  for (let index = 0; index < 100; index++) add(filled, index);
  const before = { heap: await bytesInUse(), counted: counted(filled) };
  for (let index = 100; index < 100 + Number(count); index++) add(filled, index);
  const heap = ((await bytesInUse()) - before.heap) / Number(count);
  const more = (counted(filled) - before.counted) / Number(count);
  process.stdout.write(`${name.padEnd(44)} ${heap.toFixed(0).padStart(8)} ${more.toFixed(0).padStart(8)}\n`);
}

function counted({ core }: Filled): number {
  return core.inside.memoryBytes;
}
