import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { RetryPolicy } from '../../../src/coordinator.js';
import { backOff } from '../../../src/core/structures/back-off.js';

const RETRY: RetryPolicy = { maxAttempts: 10, initial: 1_000, factor: 2, max: 300_000, jitter: 'none' };

describe('the back-off of an item', () => {
  const cases: readonly [string, Partial<RetryPolicy>, number, number][] = [
    ['the first try failed', {}, 1, 1_000],
    ['the second', {}, 2, 2_000],
    ['the ninth', {}, 9, 256_000],
    ['the tenth is at the maximum', {}, 10, 300_000],
    ['a factor of one', { factor: 1 }, 50, 1_000],
    ['a factor that is no whole number', { factor: 1.5 }, 3, 2_250],
    ['initial above nothing, equal to the maximum', { initial: 5, max: 5 }, 1, 5],
    ['no delay at all', { initial: 0 }, 3, 0],
    ['attempts beyond what a number holds', {}, 100_000, 300_000],
    ['no delay at all, and attempts beyond what a number holds', { initial: 0 }, 100_000, 0],
    ['a maximum of zero', { initial: 0, max: 0, factor: 1_000 }, 1_000, 0],
  ];
  for (const [title, change, attempts, expected] of cases) {
    it(`${title}: ${expected} ms`, () => assert.equal(backOff({ ...RETRY, ...change }, attempts, 0.5), expected));
  }

  it('with full jitter is a share of that, from nothing to just below all of it', () => {
    const full: RetryPolicy = { ...RETRY, jitter: 'full' };
    assert.equal(backOff(full, 3, 0), 0);
    assert.equal(backOff(full, 3, 0.25), 1_000);
    const most = backOff(full, 3, 1 - Number.EPSILON);
    assert.ok(most > 3_999 && most < 4_000);
    assert.equal(backOff(full, 100_000, 0.5), 150_000);
  });
});
