/** A store that fell back to an older state, or was emptied, and partitions that are written anew. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { PartitionStore } from '../../src/cluster/store/cluster-store.js';
import { ALL_KINDS, itemRow, puts } from '../local/journal/rows.js';
import {
  claim,
  isProblem,
  type OpenOptions,
  type Place,
  RECORD,
  rowsOf,
  type StorePlace,
  withoutOrderOfNames,
} from './store-place.js';

export function fallBackCases(place: Place): void {
  for (const how of ['write', 'assert'] as const) {
    it(`is found by ${how}, and what is missing is sent again`, async (t) => {
      const there = await place(t);
      const { home } = await fallenBack(there);
      const told: number[] = [];
      home.onFellBack = (batches) => void told.push(batches);
      if (how === 'write') await home.write(puts([itemRow(9)]), 9);
      else await home.assert();
      assert.deepEqual(told, [3]);
      const rows = [itemRow(1), itemRow(3), itemRow(4), ...(how === 'write' ? [itemRow(9)] : [])];
      assert.deepEqual(await rowsOf(home), rows);
      await home.assert();
      assert.deepEqual(told, [3]);
    });
  }

  it('gets back more rows than one script may have, in their order', async (t) => {
    const there = await place(t);
    const store = await there.open();
    await store.record(RECORD);
    const home = store.open(await claim(store));
    await there.mark();
    const seqs = Array.from({ length: 600 }, (_, seq) => seq);
    for (const id of ['a', 'b', 'c'])
      await home.write(puts(seqs.map((seq) => itemRow(seq, { id: `${id}-${seq}` }))), 1);
    await home.write(
      seqs.slice(10).map((seq) => ({ delete: { table: 'items', seq } })),
      2,
    );
    await there.fallBack();
    await home.assert();
    assert.deepEqual(
      await rowsOf(home),
      seqs.slice(0, 10).map((seq) => itemRow(seq, { id: `c-${seq}` })),
    );
  });

  it('gets back a claim that was lost too, with the batches after it', async (t) => {
    const there = await place(t);
    const [a, b] = [await there.open(), await there.open()];
    await a.record(RECORD);
    await b.record(RECORD);
    const first = await claim(a);
    await a.open(first).write(puts([itemRow(1)]), 1);
    await there.mark();
    const second = await claim(b, { member: 'b', expected: first.guard.owner, floor: 5_000 });
    const home = b.open(second);
    await home.write(puts([itemRow(2)]), 2);
    await there.fallBack();
    assert.equal((await b.guards(1))[0]?.owner, first.guard.owner);
    await home.assert();
    const { at: _, ...found } = (await b.guards(1))[0] ?? second.guard;
    const { at: __, ...expected } = home.guard;
    assert.deepEqual(found, expected);
    assert.equal(found.floor, 5_000);
    await home.write(puts([itemRow(3)]), 3);
    assert.deepEqual(await rowsOf(home), [itemRow(1), itemRow(2), itemRow(3)]);
  });

  for (const batches of [1, 2, 3]) {
    it(`to a home before that wrote on (${batches}) is written anew: no batch is put on rows of the other one`, async (t) => {
      const there = await place(t);
      const [a, b] = [await there.open(), await there.open()];
      await a.record(RECORD);
      await b.record(RECORD);
      const first = await claim(a);
      const old = a.open(first);
      await old.write(puts([itemRow(1)]), 1);
      await there.mark();
      const home = b.open(await claim(b, { member: 'b', expected: first.guard.owner }));
      await home.write(puts([itemRow(2)]), 2);
      await home.write(puts([itemRow(3)]), 3);
      await there.fallBack();
      // Their numbers are those of batches of the other one.
      for (let batch = 0; batch < batches; batch += 1) await old.write(puts([itemRow(7 + batch)]), 4);
      await assert.rejects(home.assert(), isProblem('fell_back'));
      await assert.rejects(home.write(puts([itemRow(4)]), 5), isProblem('fell_back'));
      await assert.rejects(home.release(), isProblem('fell_back'));
      await home.rewrite([[itemRow(1), itemRow(2), itemRow(3)]], 5);
      assert.deepEqual(await rowsOf(home), [itemRow(1), itemRow(2), itemRow(3)]);
    });
  }

  it('does not take the guard from who claimed after it fell back', async (t) => {
    const there = await place(t);
    const [a, b] = [await there.open(), await there.open()];
    const first = await claim(a);
    await there.mark();
    let lost = first;
    for (let times = 0; times < 3; times += 1) lost = await claim(a, { expected: lost.guard.owner });
    const old = a.open(lost);
    await old.write(puts([itemRow(1)]), 1);
    await there.fallBack();
    await there.outwait(new Promise((resolve) => setTimeout(resolve, 5)));
    const second = await claim(b, { member: 'b', expected: first.guard.owner });
    assert.ok(second.guard.epoch >= lost.guard.epoch, 'a claim is later than all that were lost');
    await assert.rejects(old.assert(), isProblem('fenced'));
    assert.deepEqual(await rowsOf(b.open(second)), []);
  });

  it('to before the first claim is repaired too, as long as the record stands', async (t) => {
    const there = await place(t);
    const store = await there.open();
    await store.record(RECORD);
    await there.mark();
    const home = store.open(await claim(store));
    await home.write(puts([itemRow(1)]), 1);
    await there.fallBack();
    await home.write(puts([itemRow(2)]), 2);
    assert.deepEqual(await rowsOf(home), [itemRow(1), itemRow(2)]);
  });

  it('further than what is kept is refused until the partition was written anew', async (t) => {
    const there = await place(t);
    const { home } = await fallenBack(there, { ring: { ms: 60_000, bytes: 100 } });
    const changes = puts([itemRow(9)]);
    for (let times = 0; times < 2; times += 1) await assert.rejects(home.write(changes, 9), isProblem('fell_back'));
    await assert.rejects(home.assert(), isProblem('fell_back'));
    await home.rewrite([[itemRow(3), itemRow(4)], [itemRow(9)]], 10);
    const { seq } = home.guard;
    await home.write(changes, 9);
    assert.equal(home.guard.seq, seq, 'the rows that were written anew had it already');
    await home.write(puts([itemRow(10)]), 11);
    assert.deepEqual(await rowsOf(home), [itemRow(3), itemRow(4), itemRow(9), itemRow(10)]);
  });

  it('and was emptied is refused, and not begun anew', async (t) => {
    const there = await place(t);
    const store = await there.open();
    await store.record(RECORD);
    const first = await claim(store);
    const home = store.open(first);
    await home.write(puts([itemRow(1)]), 1);
    await there.empty();
    for (let times = 0; times < 2; times += 1) {
      await assert.rejects(home.write(puts([itemRow(2)]), 2), isProblem('no_guard'));
      await assert.rejects(home.assert(), isProblem('no_guard'));
    }
    assert.equal(home.isFenced, false);
    // Somebody began a new cluster there meanwhile.
    await (await there.open()).record({ ...RECORD, id: 'cluster-2' });
    await assert.rejects(home.assert(), isProblem('no_guard'));
    await assert.rejects(home.rewrite([[itemRow(1), itemRow(2)]], 3), isProblem('no_guard'));
    await home.rewrite([[itemRow(1), itemRow(2)]], 3, { evenWithoutGuard: true });
    await home.write(puts([itemRow(3)]), 4);
    assert.deepEqual(await rowsOf(home), [itemRow(1), itemRow(2), itemRow(3)]);
    const guard = (await store.guards(1))[0];
    assert.deepEqual([guard?.owner, guard?.floor], [first.guard.owner, 100]);
  });

  it('and was emptied, and taken by another cluster, is no successor: what is here may be all there is', async (t) => {
    const there = await place(t);
    const store = await there.open();
    await store.record(RECORD);
    const home = store.open(await claim(store));
    await home.write(puts([itemRow(1)]), 1);
    await there.empty();
    const other = await there.open();
    await other.record({ ...RECORD, id: 'cluster-2' });
    const stranger = other.open(await claim(other, { member: 'b' }));
    await stranger.write(puts([itemRow(7)]), 1);
    await assert.rejects(home.write(puts([itemRow(2)]), 2), isProblem('no_guard'));
    await assert.rejects(home.rewrite([[itemRow(1)]], 3, { evenWithoutGuard: true }), isProblem('no_guard'));
    assert.equal(home.isFenced, false);
    assert.deepEqual(await rowsOf(stranger), [itemRow(7)]);
  });
}

export function rewriteCases(place: Place): void {
  it('a partition has these rows and no others, and its guard stays', async (t) => {
    const there = await place(t);
    const store = await there.open();
    const claimed = await claim(store);
    const home = store.open(claimed);
    await home.write(puts(ALL_KINDS), 1);
    await home.rewrite([ALL_KINDS.slice(0, 9), [], ALL_KINDS.slice(9, 20)], 2);
    assert.deepEqual(withoutOrderOfNames(await rowsOf(home)), withoutOrderOfNames(ALL_KINDS.slice(0, 20)));
    const again = await claim(store, { expected: claimed.guard.owner });
    assert.equal(again.rows, 20);
    await assert.rejects(home.write([{ put: itemRow(5) }], 3), isProblem('fenced'));
  });

  it('a home that was succeeded writes nothing anew', async (t) => {
    const there = await place(t);
    const [a, b] = [await there.open(), await there.open()];
    const first = await claim(a);
    const old = a.open(first);
    const home = b.open(await claim(b, { expected: first.guard.owner }));
    await home.write(puts([itemRow(1)]), 1);
    await assert.rejects(old.rewrite([[itemRow(2)]], 2), isProblem('fenced'));
    assert.deepEqual(await rowsOf(home), [itemRow(1)]);
  });

  it('and the answer lost, it is found out by the next write', async (t) => {
    const there = await place(t);
    const store = await there.open();
    const home = store.open(await claim(store));
    await home.write(puts([itemRow(1)]), 1);
    there.lose(store, 'answers');
    await assert.rejects(there.outwait(home.rewrite([[itemRow(2)]], 2)), isProblem('io'));
    there.lose(store, undefined);
    await home.rewrite([[itemRow(2)]], 2);
    await home.write(puts([itemRow(3)]), 3);
    assert.deepEqual(await rowsOf(home), [itemRow(2), itemRow(3)]);
  });
}

/** Three batches after the first are gone. */
async function fallenBack(there: StorePlace, options?: OpenOptions): Promise<{ readonly home: PartitionStore }> {
  const store = await there.open(options);
  await store.record(RECORD);
  const home = store.open(await claim(store));
  await home.write(puts([itemRow(1)]), 1);
  await there.mark();
  await home.write(puts([itemRow(2), itemRow(3)]), 2);
  await home.write([{ delete: { table: 'items', seq: 2 } }], 3);
  await home.write(puts([itemRow(4)]), 4);
  await there.fallBack();
  return { home };
}
