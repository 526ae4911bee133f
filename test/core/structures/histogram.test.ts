import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import type { HistogramView } from '../../../src/coordinator.js';
import { DISTANCES, Histogram, SECONDS } from '../../../src/core/structures/histogram.js';

function filled(bounds: readonly number[], values: readonly number[]) {
  const histogram = new Histogram(bounds);
  for (const value of values) histogram.add(value);
  return { ...shown(histogram), bounds: histogram.bounds };
}

function shown({ counts, sum, count }: HistogramView) {
  return { counts: Array.from(counts), sum, count };
}

describe('a histogram', () => {
  it('counts a value that equals a bound in the bucket of that bound', () => {
    assert.deepEqual(filled([1, 2, 4], [1, 2, 4]).counts, [1, 1, 1, 0]);
  });

  it('counts what is above a bound in the next bucket, and what is beyond all in the last', () => {
    assert.deepEqual(filled([1, 2, 4], [0, 1.001, 2.001, 4.001, 1e9]).counts, [1, 1, 1, 2]);
  });

  it('sums and counts', () => {
    const { sum, count, bounds } = filled([1, 2], [0.5, 1.5, 2.5]);
    assert.deepEqual({ sum, count, bounds }, { sum: 4.5, count: 3, bounds: [1, 2] });
  });

  it('shows what it is, not what it was when it was handed out', () => {
    const histogram = new Histogram([1]);
    const { counts } = histogram;
    histogram.add(1);
    assert.deepEqual(Array.from(counts), [1, 0]);
    assert.deepEqual(shown(histogram), { counts: [1, 0], sum: 1, count: 1 });
  });

  for (const [name, bounds] of Object.entries({ SECONDS, DISTANCES })) {
    it(`${name} grow`, () => assert.ok(bounds.every((bound, i) => bound > (bounds[i - 1] ?? 0))));

    it(`${name}: each value lies at or below the bound of its bucket and above the one before`, () => {
      const value = fc.oneof(fc.constantFrom(...bounds), fc.double({ min: 0, max: 1e6, noNaN: true }));
      fc.assert(
        fc.property(value, (one) => {
          const bucket = filled(bounds, [one]).counts.indexOf(1);
          assert.ok(one <= (bounds[bucket] ?? Infinity));
          assert.ok(bucket === 0 || one > (bounds[bucket - 1] ?? Infinity));
        }),
      );
    });
  }

  it('begins at 50 µs', () => assert.equal(SECONDS[0], 0.000_05));
});
