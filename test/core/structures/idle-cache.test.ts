import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { BUILT_IN_POLICY } from '../../../src/core/contract/policy.js';
import { Lane, Queue } from '../../../src/core/state/records.js';
import { IdleCache } from '../../../src/core/structures/idle-cache.js';
import { ResultLedger } from '../../../src/core/structures/retention-cache.js';

const queue = new Queue('q', BUILT_IN_POLICY, true, new ResultLedger(0), 0);

function lanes(count: number): Lane[] {
  return Array.from({ length: count }, (_, i) => new Lane(queue, `k${i}`));
}

function keysOf(list: readonly Lane[]): string[] {
  return list.map(({ key }) => key);
}

const LIMITS = [1, 2, 3, 10, 100_000];

describe('idle lanes', () => {
  for (const limit of LIMITS) {
    it(`of which ${limit} are remembered: exactly so many, the least recently idle forgotten first`, () => {
      const forgotten: Lane[] = [];
      const idle = new IdleCache<Lane>(limit, (lane) => forgotten.push(lane));
      const all = lanes(limit * 2 + 1);
      for (const [i, lane] of all.entries()) {
        idle.add(lane);
        assert.equal(idle.size, Math.min(i + 1, limit));
      }
      assert.deepEqual(keysOf(forgotten), keysOf(all.slice(0, limit + 1)));
    });

    it(`of which ${limit} are remembered: one that is busy again is not forgotten, and makes room`, () => {
      const forgotten: Lane[] = [];
      const idle = new IdleCache<Lane>(limit, (lane) => forgotten.push(lane));
      const [first, ...others] = lanes(limit + 1);
      assert.ok(first);
      idle.add(first);
      idle.delete(first);
      for (const lane of others) idle.add(lane);
      assert.deepEqual(forgotten, []);
      assert.equal(idle.size, limit);
    });

    it(`of which ${limit} are remembered: one that came to rest anew is the youngest`, () => {
      const forgotten: Lane[] = [];
      const idle = new IdleCache<Lane>(limit, (lane) => forgotten.push(lane));
      const old = lanes(limit);
      for (const lane of old) idle.add(lane);
      const [first] = old;
      assert.ok(first);
      idle.delete(first);
      idle.add(first);
      for (const lane of lanes(limit)) idle.add(lane);
      assert.deepEqual(keysOf(forgotten), [...keysOf(old.slice(1)), first.key]);
    });
  }

  it('never more than may be, and the least recently idle forgotten first, whichever are busy again', () => {
    const step = fc.record({ wake: fc.boolean(), which: fc.nat(15) });
    const limit = fc.constantFrom(1, 2, 3, 5, 10);
    fc.assert(
      fc.property(limit, fc.array(step, { maxLength: 120, size: 'max' }), (most, steps) => {
        const forgotten: Lane[] = [];
        const expected: Lane[] = [];
        const idle = new IdleCache<Lane>(most, (lane) => forgotten.push(lane));
        const resting: Lane[] = [];
        const busy = new Set(lanes(16));
        for (const { wake, which } of steps) {
          const [lane] = wake ? resting.splice(which % (resting.length + 1), 1) : busy;
          if (lane === undefined) continue;
          if (wake) idle.delete(lane);
          else idle.add(lane);
          if (wake) busy.add(lane);
          else busy.delete(lane);
          if (!wake) resting.push(lane);
          for (const gone of resting.splice(0, Math.max(0, resting.length - most))) {
            expected.push(gone);
            busy.add(gone);
          }
          assert.deepEqual(keysOf(forgotten), keysOf(expected));
          assert.equal(idle.size, resting.length);
        }
      }),
    );
  });

  it('takes one out twice as once', () => {
    const idle = new IdleCache<Lane>(3, () => assert.fail('nothing is forgotten'));
    const [a, b] = lanes(2);
    assert.ok(a && b);
    idle.delete(a);
    idle.add(a);
    idle.add(b);
    idle.delete(a);
    idle.delete(a);
    assert.equal(idle.size, 1);
  });
});
