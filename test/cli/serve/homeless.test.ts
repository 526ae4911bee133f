import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { homelessText } from '../../../src/cli/serve/cluster/homeless.js';

const text = (reasons: readonly (readonly [number, string])[]) => homelessText(new Map(reasons));

describe('S336: which partitions have no home that takes calls', () => {
  const CASES: readonly (readonly [string, Parameters<typeof text>[0], string])[] = [
    ['one, without its number said twice', [[3, 'partition 3 has no home: it is gone']], '3 (it is gone)'],
    [
      'several for one reason, as ranges',
      [0, 1, 2, 7, 9, 10].map((partition) => [partition, `partition ${partition} has no home: it is gone`] as const),
      '0-2, 7, 9-10 (it is gone)',
    ],
    [
      'several reasons, of most partitions first',
      [
        [0, 'a'],
        [1, 'b'],
        [2, 'b'],
      ],
      '1-2 (b), 0 (a)',
    ],
    [
      'no more than 8 ranges of one reason',
      Array.from({ length: 20 }, (_, at) => [2 * at, 'a'] as const),
      '0, 2, 4, 6, 8, 10, 12, 14 and 12 others (a)',
    ],
    [
      'no more than 4 reasons',
      Array.from({ length: 6 }, (_, at) => [at, `r${at}`] as const),
      '0 (r0), 1 (r1), 2 (r2), 3 (r3), and 2 more',
    ],
  ];
  for (const [name, reasons, expected] of CASES) it(name, () => assert.equal(text(reasons), expected));

  it('is short whatever the reasons are', () => {
    const reasons = Array.from({ length: 256 }, (_, at) => [at, `${at % 7} ${'x'.repeat(10_000)}`] as const);
    assert.ok(text(reasons).length < 2_000);
  });
});
