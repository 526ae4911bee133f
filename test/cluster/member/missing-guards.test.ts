/** What a member does about orders, look by look. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { View } from '../../../src/cluster/member/listing.js';
import { MissingGuards } from '../../../src/cluster/member/missing-guards.js';
import { WantedHomes } from '../../../src/cluster/partitions/wanted-homes.js';
import type { Member } from '../../../src/cluster/registry/registry.js';
import type { RestoreOrder } from '../../../src/cluster/store/cluster-store.js';
import { noGuard } from '../../../src/cluster/store/partition/guard.js';

const EPOCH = 700;

function scene() {
  const done: (readonly number[])[] = [];
  const kept: Member['keeps'][] = [];
  let putBack = 0;
  const store = {
    ordered: async (partitions: readonly number[]) => {
      done.push(partitions);
    },
  };
  const own = [
    {
      kept: EPOCH,
      putBack: () => {
        putBack += 1;
      },
    },
  ];
  const missing = new MissingGuards(
    store,
    (keeps) => kept.push(keeps),
    (error) => assert.fail(error),
  );
  const see = (standing: View['standing'], epoch: number, order: RestoreOrder | undefined) => {
    const view: View = {
      standing,
      record: undefined,
      orders: new Map(order === undefined ? [] : [[0, order]]),
      guards: [{ ...noGuard(0), epoch }],
      unseen: new Map(),
      members: new Map(),
      wanted: new WantedHomes(1, []),
      pins: new Map(),
      since: 0,
    };
    missing.seen(view, own, [EPOCH]);
    return { done: done.length, putBack, keeps: kept.at(-1) };
  };
  return see;
}

describe('the orders of a person', () => {
  it('S339: are carried out by the member that keeps the core of that very claim, and by no other', () => {
    const see = scene();
    assert.equal(see('own', 0, { kind: 'wait' }).putBack, 0);
    assert.equal(see('own', 0, { kind: 'core', epoch: EPOCH - 1 }).putBack, 0);
    assert.equal(see('own', 0, { kind: 'core', epoch: EPOCH + 1 }).putBack, 0);
    assert.equal(see('own', 0, { kind: 'empty' }).putBack, 0);
    assert.equal(see('own', 0, { kind: 'core', epoch: EPOCH }).putBack, 1);
    assert.equal(see('own', 0, { kind: 'core', epoch: EPOCH }).putBack, 2, 'again and again, until the guard is there');
  });

  it('S342: are not carried out as long as the record is gone, or is that of another cluster', () => {
    const see = scene();
    for (const standing of ['none', 'other'] as const) {
      const { putBack, done, keeps } = see(standing, 0, { kind: 'core', epoch: EPOCH });
      assert.deepEqual({ putBack, done, keeps }, { putBack: 0, done: 0, keeps: [[0, EPOCH]] });
    }
  });

  it('S339: end when the guard is seen behind them, not by the guard that was there before it was lost', () => {
    const see = scene();
    // Guards are read before orders: what is seen together need not have been there together.
    assert.equal(see('own', EPOCH, { kind: 'wait' }).done, 0);
    assert.equal(see('own', 0, { kind: 'wait' }).done, 0);
    const { done, keeps } = see('own', EPOCH, { kind: 'wait' });
    assert.deepEqual({ done, keeps }, { done: 1, keeps: undefined });
    assert.equal(see('own', EPOCH, undefined).done, 1);
  });
});
