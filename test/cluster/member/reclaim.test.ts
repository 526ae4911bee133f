/** A home that was closed claims its guard from itself. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { reclaim } from '../../../src/cluster/member/reclaim.js';
import type { Claimed } from '../../../src/cluster/store/cluster-store.js';
import type { RowChange } from '../../../src/core/contract/rows.js';
import { FakeEngine } from '../../support/cluster/fake-engine.js';
import type { FakeStore } from '../../support/cluster/fake-store.js';
import { FakeClock } from '../../support/fake-clock.js';

const FLOOR: readonly RowChange[] = [{ put: { table: 'floor', token: 5 } }];
const PAUSE: readonly RowChange[] = [{ put: { table: 'pauses', queue: 'q' } }];

async function claimed(store: FakeStore, member: string, expected: string): Promise<Claimed> {
  const answer = await store.claim({ partition: 0, expected, member, floor: 0, format: 1 });
  return answer.claimed ? answer : assert.fail('it is not claimed');
}

async function staged() {
  const engine = new FakeEngine(new FakeClock());
  const store = engine.open('a');
  const rows = store.open(await claimed(store, 'a1', ''));
  await rows.write(FLOOR, 1);
  /** As the incarnation that there is now. */
  const again = (member = 'a2') =>
    reclaim(rows, (claim) => store.claim({ ...claim, partition: 0, member, floor: 0, format: 1 }), {
      isOwn: (id) => id.startsWith('a'),
    });
  return { engine, store, rows, again };
}

describe('S231: a closed home', () => {
  it('goes on under a new owner when nobody was there', async () => {
    const { rows, engine, again } = await staged();
    const before = rows.guard;
    assert.deepEqual(await again(), { kind: 'reclaimed' });
    assert.equal(rows.guard.seq, before.seq);
    assert.notEqual(rows.guard.owner, before.owner);
    await rows.write(PAUSE, 2);
    assert.equal(engine.guard(0).seq, before.seq + 1);
  });

  it('first settles what became of a batch without an answer', async () => {
    const { rows, store, engine, again } = await staged();
    store.wire.fault = ({ does }) => (does === 'write' ? { refused: 'io' } : {});
    await assert.rejects(rows.write(PAUSE, 2));
    store.wire.fault = () => ({});
    assert.deepEqual(await again(), { kind: 'reclaimed' });
    assert.equal(engine.rowsOf(0), 2);
  });

  it('is lost when another member claimed it, also if that one is gone again', async () => {
    for (const isGone of [false, true]) {
      const { rows, engine, again } = await staged();
      const other = engine.open('b');
      const theirs = other.open(await claimed(other, 'b1', rows.guard.owner));
      if (isGone) await theirs.release();
      assert.deepEqual(await again(), { kind: 'reclaim_lost' });
    }
  });

  it('knows its own claim again whose answer was lost', async () => {
    const { rows, store, again } = await staged();
    await claimed(store, 'a2', rows.guard.owner);
    assert.deepEqual(await again(), { kind: 'reclaimed' });
    await rows.write(PAUSE, 2);
  });

  it('knows that of an incarnation before this one, too', async () => {
    const { rows, store, again } = await staged();
    await claimed(store, 'a2', rows.guard.owner);
    assert.deepEqual(await again('a3'), { kind: 'reclaimed' });
  });

  it('does not claim what the store lost: it puts that back first', async () => {
    const { rows, engine, again } = await staged();
    await rows.write(PAUSE, 2);
    engine.failOver(1, () => false);
    assert.deepEqual(await again(), { kind: 'reclaim_unknown' });
    assert.equal(engine.rowsOf(0), 2);
    assert.deepEqual(await again(), { kind: 'reclaimed' });
  });

  it('puts its guard back when the claim itself was lost', async () => {
    const { rows, store, engine, again } = await staged();
    assert.deepEqual(await again(), { kind: 'reclaimed' });
    engine.failOver(1, () => false);
    assert.deepEqual(await again(), { kind: 'reclaim_unknown' });
    assert.deepEqual(await again(), { kind: 'reclaimed' });
    assert.equal(engine.guard(0).owner, rows.guard.owner);
    await store.close();
  });

  it('knows nothing when no answer comes', async () => {
    const { store, again } = await staged();
    store.wire.fault = ({ does }) => (does === 'claim' ? { refused: 'io' } : {});
    await assert.rejects(again());
  });
});
