import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { alignColumns, humanDuration, plain } from '../../src/cli/output.js';

describe('durations for people', () => {
  const cases: readonly [number, string][] = [
    [-5, '0ms'],
    [0, '0ms'],
    [0.6, '1ms'],
    [999, '999ms'],
    [1_000, '1s'],
    [2_500, '2.5s'],
    [9_949, '9.9s'],
    [9_950, '10s'],
    [59_499, '59s'],
    [59_500, '1m'],
    [123_000, '2m 3s'],
    [3_599_999, '1h'],
    [3_600_000, '1h'],
    [5_400_000, '1h 30m'],
    [100_800_000, '1d 4h'],
    [86_400_000 * 30, '30d'],
  ];
  for (const [ms, expected] of cases) it(`${ms} ms is ${expected}`, () => assert.equal(humanDuration(ms), expected));
});

describe('what is printed', () => {
  it('stands in aligned columns without blanks at the end', () => {
    assert.equal(
      alignColumns([
        ['a', 'bb', ''],
        ['ccc', 'd', 'e'],
      ]),
      'a    bb\nccc  d   e\n',
    );
  });

  it('is quoted where it could be misread', () => {
    assert.equal(plain('customer-7'), 'customer-7');
    assert.equal(plain('/a/ü'), '/a/ü');
    assert.equal(plain(''), '""');
    assert.equal(plain('a b'), '"a b"');
    assert.equal(plain('a\u001b[31m'), '"a\\u001b[31m"');
  });
});
