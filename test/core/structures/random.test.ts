import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Random } from '../../../src/core/structures/random.js';

function draw(seed: number, count: number): number[] {
  const random = new Random(seed);
  return Array.from({ length: count }, () => random.next());
}

describe('random numbers', () => {
  it('are the same for the same seed and others for another', () => {
    assert.deepEqual(draw(7, 100), draw(7, 100));
    assert.notDeepEqual(draw(7, 100), draw(8, 100));
  });

  it('take any number as a seed, such as the wall clock', () => {
    for (const seed of [0, -1, 1.5, Date.UTC(2026, 0, 1), 2 ** 60]) {
      assert.ok(draw(seed, 10).every((number) => number >= 0 && number < 1));
    }
  });

  it('lie in [0, 1), evenly enough for a back-off', () => {
    const tenths = new Array<number>(10).fill(0);
    for (const number of draw(1, 100_000)) {
      assert.ok(number >= 0 && number < 1);
      const tenth = Math.floor(number * 10);
      tenths[tenth] = (tenths[tenth] ?? 0) + 1;
    }
    for (const count of tenths) assert.ok(Math.abs(count - 10_000) < 500, `${count}`);
  });
});
