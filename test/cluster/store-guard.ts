/** The guard of a partition, and batches whose answers were lost. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { itemRow, puts } from '../local/journal/rows.js';
import { claim, isProblem, opened, type Place, RECORD, rowsOf } from './store-place.js';

export function guardCases(place: Place): void {
  it('is passed by one owner: the other writes nothing, is fenced for ever, and told once', async (t) => {
    const there = await place(t);
    const [a, b] = [await there.open(), await there.open()];
    const first = await claim(a);
    const old = a.open(first);
    let told = 0;
    old.onFenced = () => {
      told += 1;
    };
    await old.write(puts([itemRow(1)]), 1);
    const second = await claim(b, { member: 'b', expected: first.guard.owner });
    const home = b.open(second);
    assert.equal(old.isFenced, false);
    await assert.rejects(old.write(puts([itemRow(2)]), 2), isProblem('fenced'));
    assert.equal(old.isFenced, true);
    for (const act of [() => old.write(puts([itemRow(3)]), 3), () => old.settle(), () => old.assert()]) {
      await assert.rejects(act(), isProblem('fenced'));
    }
    assert.equal(told, 1);
    await home.write(puts([itemRow(4)]), 4);
    assert.deepEqual(await rowsOf(home), [itemRow(1), itemRow(4)]);
    await old.release();
    assert.equal((await a.guards(1))[0]?.owner, second.guard.owner);
    // Also when the other one has gone: what it decided on is not what is there.
    await home.release();
    await assert.rejects(old.write(puts([itemRow(5)]), 5), isProblem('fenced'));
  });

  it('compares the owner, not the epoch nor the member', async (t) => {
    const there = await place(t);
    const [a, b] = [await there.open(), await there.open()];
    const first = await claim(a, { member: 'same' });
    const second = await claim(b, { member: 'same', expected: first.guard.owner });
    const { epoch } = second.guard;
    // An owner is its epoch and what is its own alone: of two with one epoch only one is the home.
    for (const owner of [first.guard.owner, first.guard.owner.replace(/^\d+/, String(epoch))]) {
      const disguised = a.open({ ...first, guard: { ...first.guard, owner, epoch } });
      await assert.rejects(disguised.write(puts([itemRow(1)]), 1), isProblem('fenced'));
    }
    assert.deepEqual(await rowsOf(b.open(second)), []);
  });

  it('is free after a release, with rows, floor and number as they were', async (t) => {
    const there = await place(t);
    const [a, b] = [await there.open(), await there.open()];
    const first = await claim(a);
    const old = a.open(first);
    await old.write(puts([itemRow(1)]), 1);
    const { seq } = old.guard;
    await old.release();
    const free = (await b.guards(1))[0];
    assert.deepEqual([free?.owner, free?.seq, free?.epoch], ['', seq, first.guard.epoch]);
    await assert.rejects(old.write(puts([itemRow(2)]), 2), TypeError);
    const second = await claim(b, { member: 'b' });
    assert.equal(second.guard.seq, seq);
    assert.ok(second.guard.epoch > first.guard.epoch);
    assert.deepEqual(await rowsOf(b.open(second)), [itemRow(1)]);
  });

  it('S349: that alone is gone comes back with its rows, also with those that were written anew', async (t) => {
    const there = await place(t);
    const [a, b] = [await there.open(), await there.open()];
    await a.record(RECORD);
    await b.record(RECORD);
    const first = a.open(await claim(a, { floor: 900 }));
    await first.write(puts([itemRow(1), itemRow(2)]), 1);
    await there.dropGuard(0);
    const second = await claim(b, { member: 'b' });
    assert.equal(second.rows, 2);
    // Of one in which nothing was ever written nobody reads rows.
    assert.ok(second.guard.at > 0);
    const home = b.open(second);
    assert.deepEqual(await rowsOf(home), [itemRow(1), itemRow(2)]);
    await assert.rejects(first.write(puts([itemRow(3)]), 2), isProblem('fenced'));
    await home.rewrite([[itemRow(2), itemRow(4)]], 3);
    await there.dropGuard(0);
    const third = await claim(a, { member: 'c' });
    assert.equal(third.rows, 2);
    assert.ok(third.guard.at > 0);
    const last = a.open(third);
    assert.deepEqual(await rowsOf(last), [itemRow(2), itemRow(4)]);
    await last.write(puts([itemRow(5)]), 4);
    assert.deepEqual(await rowsOf(last), [itemRow(2), itemRow(4), itemRow(5)]);
  });

  it('S349: that alone is gone is put back by its home with the rows: who follows before it has written them anew finds all', async (t) => {
    const there = await place(t);
    const [a, b] = [await there.open(), await there.open()];
    await a.record(RECORD);
    const home = a.open(await claim(a));
    await home.rewrite([[itemRow(1)], [itemRow(2)]], 1);
    await home.write(puts([itemRow(3)]), 2);
    await there.dropGuard(0);
    await assert.rejects(home.assert(), isProblem('fell_back'));
    const next = await claim(b, { expected: home.guard.owner });
    assert.ok(next.guard.at > 0 && next.rows === 3);
    assert.deepEqual(await rowsOf(b.open(next)), [itemRow(1), itemRow(2), itemRow(3)]);
  });

  it('is as it should be: assert and settle have nothing to do', async (t) => {
    const home = await opened(place, t);
    await home.settle();
    await home.assert();
    await home.write(puts([itemRow(1)]), 1);
    await home.settle();
    await home.assert();
    assert.deepEqual(await rowsOf(home), [itemRow(1)]);
  });
}

export function lostCases(place: Place): void {
  for (const what of ['answers', 'requests'] as const) {
    it(`(${what} lost) leaves it open whether it is there; the same changes are known again`, async (t) => {
      const there = await place(t);
      const store = await there.open();
      const home = store.open(await claim(store));
      await home.write(puts([itemRow(1)]), 1);
      there.lose(store, what);
      const changes = puts([itemRow(2)]);
      await assert.rejects(there.outwait(home.write(changes, 2)), isProblem('io'));
      there.lose(store, undefined);
      const { seq } = home.guard;
      await home.write(changes, 2);
      await home.write(puts([itemRow(3)]), 3);
      assert.equal(home.guard.seq, seq + 2);
      assert.deepEqual(await rowsOf(home), [itemRow(1), itemRow(2), itemRow(3)]);
    });

    it(`(${what} lost) is settled, and then the same changes are not written twice`, async (t) => {
      const there = await place(t);
      const store = await there.open();
      const home = store.open(await claim(store));
      there.lose(store, what);
      const changes = puts([itemRow(2)]);
      await assert.rejects(there.outwait(home.write(changes, 2)), isProblem('io'));
      await assert.rejects(there.outwait(home.settle()), isProblem('io'));
      there.lose(store, undefined);
      await home.settle();
      assert.deepEqual(await rowsOf(home), [itemRow(2)]);
      const { seq } = home.guard;
      await home.write(changes, 2);
      assert.equal(home.guard.seq, seq);
      await home.write(changes, 3);
      assert.equal(home.guard.seq, seq + 1);
    });

    it(`(${what} lost) comes before another batch that is written in its place`, async (t) => {
      const there = await place(t);
      const store = await there.open();
      const home = store.open(await claim(store));
      there.lose(store, what);
      await assert.rejects(there.outwait(home.write(puts([itemRow(1), itemRow(2)]), 2)), isProblem('io'));
      there.lose(store, undefined);
      await home.write([{ delete: { table: 'items', seq: 2 } }], 3);
      assert.deepEqual(await rowsOf(home), [itemRow(1)]);
    });

    it(`(${what} lost) is known again once only: the same changes after others are written`, async (t) => {
      const there = await place(t);
      const store = await there.open();
      const home = store.open(await claim(store));
      const changes = puts([itemRow(1)]);
      there.lose(store, what);
      await assert.rejects(there.outwait(home.write(changes, 1)), isProblem('io'));
      there.lose(store, undefined);
      await home.settle();
      await home.write([{ delete: { table: 'items', seq: 1 } }], 2);
      await home.write(changes, 3);
      assert.deepEqual(await rowsOf(home), [itemRow(1)]);
    });

    it(`(${what} lost) is not written under a new owner before it is settled`, async (t) => {
      const there = await place(t);
      const store = await there.open();
      const first = await claim(store);
      const home = store.open(first);
      there.lose(store, what);
      await assert.rejects(there.outwait(home.write(puts([itemRow(1)]), 2)), isProblem('io'));
      there.lose(store, undefined);
      await home.settle();
      home.renewed(await claim(store, { expected: first.guard.owner, expectedSeq: home.guard.seq }));
      await home.write(puts([itemRow(1)]), 2);
      await home.write(puts([itemRow(2)]), 3);
      assert.deepEqual(await rowsOf(home), [itemRow(1), itemRow(2)]);
    });
  }

  it('of a home that was succeeded is fenced', async (t) => {
    const there = await place(t);
    const [a, b] = [await there.open(), await there.open()];
    const first = await claim(a);
    const old = a.open(first);
    there.lose(a, 'requests');
    await assert.rejects(there.outwait(old.write(puts([itemRow(1)]), 1)), isProblem('io'));
    there.lose(a, undefined);
    const home = b.open(await claim(b, { expected: first.guard.owner }));
    await assert.rejects(old.settle(), isProblem('fenced'));
    assert.deepEqual(await rowsOf(home), []);
  });
}
