import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import type { RatePolicy } from '../../../src/coordinator.js';
import { TokenBucket } from '../../../src/core/structures/token-bucket.js';

/** Starts turns at every whole ms as fast as the bucket allows; the moments at which they started. */
function startAsFastAsPossible(rate: RatePolicy, from: number, ms: number): number[] {
  const bucket = new TokenBucket(rate, from);
  const started: number[] = [];
  for (let now = from; now < from + ms; now += 1) {
    while (bucket.opensAt(now) <= now) {
      bucket.take(now);
      started.push(now);
    }
  }
  return started;
}

describe('the rate of a queue', () => {
  it('lets a burst start at once, then one turn at a time', () => {
    assert.deepEqual(startAsFastAsPossible({ perSecond: 10, burst: 3 }, 0, 401), [0, 0, 0, 100, 200, 300, 400]);
  });

  it('says when the next turn may start', () => {
    const bucket = new TokenBucket({ perSecond: 4, burst: 1 }, 1_000);
    assert.equal(bucket.opensAt(1_000), 1_000);
    bucket.take(1_000);
    assert.equal(bucket.opensAt(1_000), 1_250);
    assert.equal(bucket.opensAt(1_100), 1_250);
    assert.equal(bucket.opensAt(1_250), 1_250);
    assert.equal(bucket.opensAt(9_000), 9_000);
  });

  it('holds no more than its burst after a pause, however long', () => {
    const bucket = new TokenBucket({ perSecond: 1_000, burst: 2 }, 0);
    let started = 0;
    for (; bucket.opensAt(1e12) <= 1e12; started++) bucket.take(1e12);
    assert.equal(started, 2);
  });

  it('is full at the start and again when all was refilled, and not before', () => {
    const bucket = new TokenBucket({ perSecond: 10, burst: 2 }, 0);
    assert.ok(bucket.isFull(0));
    bucket.take(0);
    bucket.take(0);
    assert.deepEqual([bucket.isFull(0), bucket.isFull(199), bucket.isFull(200)], [false, false, true]);
  });

  it('does not gain by a `now` that went back', () => {
    const bucket = new TokenBucket({ perSecond: 1, burst: 1 }, 1_000);
    bucket.take(1_000);
    for (const now of [500, 0, 1_000]) assert.ok(bucket.opensAt(now) > now);
    assert.equal(bucket.opensAt(1_000), 2_000);
  });

  it('is open at the moment it named, rounded up to a whole ms, whatever the numbers', () => {
    const rate = fc.record({
      perSecond: fc.oneof(fc.constantFrom(0.001, 1 / 3, 3, 7, 1e6), fc.double({ min: 0.001, max: 1e5, noNaN: true })),
      burst: fc.oneof(fc.constant(1), fc.double({ min: 1, max: 100, noNaN: true })),
    });
    const gaps = fc.array(fc.double({ min: 0, max: 1_000, noNaN: true }), { maxLength: 20 });
    fc.assert(
      fc.property(rate, fc.double({ min: 0, max: 1e10, noNaN: true }), gaps, (policy, start, pauses) => {
        const bucket = new TokenBucket(policy, start);
        let now = start;
        for (const pause of pauses) {
          now += pause;
          const opens = Math.ceil(bucket.opensAt(now));
          if (bucket.opensAt(now) > now) now = opens;
          assert.ok(bucket.opensAt(now) <= now, `still closed at ${now}`);
          bucket.take(now);
        }
      }),
      { numRuns: 2_000 },
    );
  });

  it('never lets more start than the rate and one burst allow', () => {
    const rate = fc.record({ perSecond: fc.integer({ min: 1, max: 2_000 }), burst: fc.integer({ min: 1, max: 20 }) });
    fc.assert(
      fc.property(rate, ({ perSecond, burst }) => {
        const ms = 500;
        const started = startAsFastAsPossible({ perSecond, burst }, 0.5, ms).length;
        const allowed = burst + (perSecond * ms) / 1_000;
        // What a bucket of one holds back while time goes from one ms to the next is lost to it.
        const promised = ms / Math.ceil(1_000 / perSecond);
        assert.ok(started <= allowed && started >= promised - 1, `${started}, at most ${allowed}`);
      }),
      { numRuns: 100 },
    );
  });
});
