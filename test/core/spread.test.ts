/** S274: what counts per queue is shared out over the parts of a queue that is spread, and sums to what there may be. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Policy } from '../../src/coordinator.js';
import { limitsOfParts, policyOfParts, tooSmallToSpread } from '../../src/core/contract/spread.js';
import { newItem, policy, QUEUE } from '../support/builders.js';
import { Stage } from './stage.js';

const COUNTS = ['maxInFlight', 'maxWaiting', 'maxDeadLetters', 'maxRemembered'] as const;

/** Parts as a hash may throw them together: each somewhere, several in one place. */
function places(spread: number, of: number): readonly (readonly number[])[] {
  const parts = Array.from({ length: spread }, (_, part) => part);
  return Array.from({ length: of }, (_, place) => parts.filter((part) => (part * 7 + 3) % of === place));
}

function sumOf(shares: readonly Policy[], of: (share: Policy) => number | undefined): number {
  return shares.reduce((sum, share) => sum + (of(share) ?? Number.NaN), 0);
}

describe('S274: of a queue that is spread', () => {
  for (const spread of [2, 3, 7, 16, 63, 64]) {
    it(`over ${spread} parts, the shares sum exactly to what the queue may have, wherever the parts are`, () => {
      for (const whole of [spread, spread + 1, 100, 1_000, 9_999_999]) {
        if (whole < spread) continue;
        const all = { maxInFlight: whole, maxWaiting: whole, maxDeadLetters: whole, maxRemembered: whole };
        const asked = policy({ ...all, rate: { perSecond: whole, burst: whole } });
        assert.deepEqual(tooSmallToSpread(asked, spread), []);
        for (const of of [1, 2, 5, 64]) {
          const shares = places(spread, of)
            .filter((parts) => parts.length > 0)
            .map((parts) => policyOfParts(asked, spread, parts));
          for (const count of COUNTS) {
            assert.equal(
              sumOf(shares, (share) => share[count]),
              whole,
              count,
            );
            assert.ok(
              shares.every((share) => (share[count] ?? 0) >= 1),
              count,
            );
          }
          assert.equal(
            sumOf(shares, ({ rate }) => rate?.burst),
            whole,
          );
          assert.ok(Math.abs(sumOf(shares, ({ rate }) => rate?.perSecond) - whole) < whole * 1e-12);
        }
      }
    });
  }

  it('what counts per key, and what has no bound, stays as it is', () => {
    const asked = policy({
      waitingPerKey: 3,
      rate: undefined,
      maxInFlight: undefined,
      maxDeadLetters: 0,
      lease: 7_000,
    });
    const { maxWaiting, maxRemembered, ...shared } = policyOfParts(asked, 4, [1]);
    assert.deepEqual({ ...asked, spread: 4, maxWaiting, maxRemembered }, { ...shared, maxWaiting, maxRemembered });
    assert.deepEqual([maxWaiting, maxRemembered], [250_000, 25_000]);
  });

  it('a queue that is not spread has its policy as it is', () => {
    const asked = policy({ maxInFlight: 1, rate: { perSecond: 0.5, burst: 1 } });
    assert.equal(policyOfParts(asked, 1, [0]), asked);
    assert.deepEqual(tooSmallToSpread(asked, 1), []);
  });

  it('what is too small for all parts is named, each of it', () => {
    const asked = policy({
      maxInFlight: 3,
      maxWaiting: 3,
      maxDeadLetters: 3,
      maxRemembered: 3,
      rate: { perSecond: 3.5, burst: 3 },
    });
    assert.deepEqual(
      tooSmallToSpread(asked, 4).map(({ what, value }) => `${what} ${value}`),
      ['maxInFlight 3', 'maxWaiting 3', 'maxDeadLetters 3', 'maxRemembered 3', 'rate.perSecond 3.5', 'rate.burst 3'],
    );
  });

  it('what a person sets is shared out in the same way, and what is taken away is taken from each', () => {
    const change = { rate: { perSecond: 10, burst: 5 }, maxInFlight: 10 };
    assert.deepEqual(
      [0, 1, 2].map((part) => limitsOfParts(change, 3, [part]).maxInFlight),
      [4, 3, 3],
    );
    assert.deepEqual(limitsOfParts(change, 2, [0]).rate, { perSecond: 5, burst: 3 });
    const taken = { rate: 'none', maxInFlight: 'none' } as const;
    assert.deepEqual(limitsOfParts(taken, 3, [0]), taken);
    const stays = { rate: undefined, maxInFlight: undefined };
    assert.deepEqual(limitsOfParts(stays, 3, [0]), stays);
  });
});

it('S416: a key that waits for a limit of its part is told that others share it, and of a queue that is not spread nothing', () => {
  for (const [spread, expected] of [
    [1, 'as many turns live as max_in_flight allows'],
    [4, 'as many turns live as max_in_flight allows in the part of this key, one of 4 that share it'],
  ] as const) {
    const stage = new Stage({ queues: { [QUEUE]: policyOfParts(policy({ maxInFlight: 4 * spread }), spread, [0]) } });
    for (const key of ['a', 'b', 'c', 'd', 'e']) stage.submit('submitter', [newItem({ key })]);
    stage.acquire('worker', { maxTurns: 4 });
    assert.equal(stage.explain(QUEUE, 'e').why, expected);
  }
});
