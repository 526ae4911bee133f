/** The part of a cluster store that is a journal. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { FollowUp } from '../../src/core/contract/model.js';
import type { Row, RowChange } from '../../src/core/contract/rows.js';
import { ALL_KINDS, contentOf, itemRow, puts } from '../local/journal/rows.js';
import { newItem } from '../support/builders.js';
import { claim, isProblem, opened, type Place, rowsOf, withoutOrderOfNames } from './store-place.js';

/** Those that a sidecar alone does not keep, too. */
const EVERY_KIND: readonly Row[] = [
  ...ALL_KINDS.filter(({ table }) => table !== 'leaders'),
  { table: 'limits', queue: 'orders', rate: { perSecond: 0.5, burst: 2 }, maxInFlight: 'none' },
  ...ALL_KINDS.filter(({ table }) => table === 'leaders'),
  ...[2, 1, 0].map(
    (at): Row => ({
      table: 'outbox',
      stamp: 2 ** 45 - 64 * 20_000 * at,
      target: at,
      from: 'orders',
      followUps: [followUp(at)],
    }),
  ),
  { table: 'inbox', source: 0, stamp: 1 },
  { table: 'inbox', source: 255, stamp: 2 ** 52 },
];

function followUp(size: number): FollowUp {
  const item = newItem({
    itemId: `~${size}.0`,
    payload: new Uint8Array(size * 600),
    headers: new Map([['a', 'b']]),
  });
  return { queue: 'other', item, target: size };
}

export function rowCases(place: Place): void {
  it('gives back every kind of row as it was, in the order of the tables, with contents', async (t) => {
    const store = await (await place(t)).open();
    const claimed = await claim(store);
    await store.open(claimed).write(puts([...EVERY_KIND].reverse()), 17.5);
    const again = await claim(store, { expected: claimed.guard.owner });
    const home = store.open(again);
    assert.deepEqual(home.before, { lastWrite: 17.5, rows: EVERY_KIND.length });
    assert.deepEqual(withoutOrderOfNames(await rowsOf(home)), withoutOrderOfNames(EVERY_KIND));
  });

  it('writes over, deletes, and takes the last of several changes of a row', async (t) => {
    const home = await opened(place, t);
    await home.write(puts([itemRow(1), itemRow(2), itemRow(3), { table: 'pauses', queue: 'a' }]), 1);
    const changes: RowChange[] = [
      { delete: { table: 'items', seq: 1 } },
      { delete: { table: 'items', seq: 99 } },
      { delete: { table: 'items', seq: 3 } },
      { put: itemRow(3) },
      { put: itemRow(4) },
      { delete: { table: 'items', seq: 4 } },
      { delete: { table: 'pauses', queue: 'a' } },
      { put: { ...itemRow(2), id: 'again' } },
    ];
    await home.write(changes, 2);
    assert.deepEqual(await rowsOf(home), [{ ...itemRow(2), id: 'again' }, itemRow(3)]);
  });

  for (const what of ['emptied', 'taken over'])
    it(`S338: is not taken for the whole when it is ${what} while its rows are read`, async (t) => {
      const there = await place(t);
      const store = await there.open();
      const home = store.open(await claim(store));
      // More chunks than are asked for ahead.
      await home.write(puts(Array.from({ length: 40 }, (_, at) => itemRow(1 + at * 5_000))), 1);
      const reading = home.read()[Symbol.asyncIterator]();
      assert.notEqual((await reading.next()).done, true);
      if (what === 'emptied') await there.empty();
      else await claim(store, { member: 'b', expected: home.guard.owner });
      const rest = async () => {
        while ((await reading.next()).done !== true);
      };
      await assert.rejects(rest(), isProblem('io'));
    });

  it('keeps partitions apart', async (t) => {
    const store = await (await place(t)).open();
    const [one, two] = [store.open(await claim(store)), store.open(await claim(store, { partition: 1 }))];
    await Promise.all([one.write(puts([itemRow(1)]), 1), two.write(puts([itemRow(2)]), 1)]);
    await two.write([{ delete: { table: 'items', seq: 1 } }], 2);
    assert.deepEqual([await rowsOf(one), await rowsOf(two)], [[itemRow(1)], [itemRow(2)]]);
  });

  it('writes nothing of a batch in which one row is none, and goes on', async (t) => {
    const home = await opened(place, t);
    const withoutContent: Row = { ...itemRow(2), content: undefined };
    await assert.rejects(home.write(puts([itemRow(1), withoutContent]), 1), TypeError);
    assert.deepEqual(await rowsOf(home), []);
    await home.write(puts([itemRow(4)]), 2);
    assert.deepEqual(await rowsOf(home), [itemRow(4)]);
  });

  it('refuses a second write before the first has ended', async (t) => {
    const home = await opened(place, t);
    const first = home.write(puts([itemRow(1)]), 1);
    await assert.rejects(home.write(puts([itemRow(2)]), 2), TypeError);
    await first;
    assert.deepEqual(await rowsOf(home), [itemRow(1)]);
  });

  it('keeps what was written as it was then, whatever becomes of the bytes it was made of', async (t) => {
    const home = await opened(place, t);
    const content = contentOf('as it was');
    const writing = home.write([{ put: itemRow(1, { content }) }], 1);
    content.payload.fill(0);
    await writing;
    assert.deepEqual(await rowsOf(home), [itemRow(1, { content: contentOf('as it was') })]);
  });

  it('never asks for contents: they are in memory', async (t) => {
    const home = await opened(place, t);
    assert.throws(() => home.content(1), TypeError);
  });

  it('reads many rows in slices, each once, in order, and counts them', async (t) => {
    const store = await (await place(t)).open();
    const claimed = await claim(store);
    const home = store.open(claimed);
    const seqs = Array.from({ length: 5_000 }, (_, at) => at * 3);
    await home.write(puts(seqs.map((seq) => itemRow(seq))), 1);
    await home.write(
      seqs.slice(0, 2_500).map((seq) => ({ delete: { table: 'items', seq } })),
      2,
    );
    const left = seqs.slice(2_500);
    let slices = 0;
    const found: number[] = [];
    for await (const slice of home.read()) {
      slices += 1;
      for (const row of slice) if (row.table === 'items') found.push(row.seq);
    }
    assert.ok(slices > 1);
    assert.deepEqual(found, left);
    assert.equal((await claim(store, { expected: claimed.guard.owner })).rows, left.length);
  });

  it('writes a batch that is larger than one script may be, all of it', async (t) => {
    const home = await opened(place, t);
    const rows = Array.from({ length: 7 }, (_, at) => itemRow(at, { content: contentOf(`${at}`.repeat(700_000)) }));
    await home.write(puts(rows), 1);
    assert.deepEqual(await rowsOf(home), rows);
    await home.write([{ delete: { table: 'items', seq: 3 } }], 2);
    assert.equal((await rowsOf(home)).length, 6);
  });

  it('closes when the write under way has ended, and takes none after that', async (t) => {
    const home = await opened(place, t);
    const written = home.write(puts([itemRow(1)]), 1);
    await home.close();
    await written;
    await home.close();
    await assert.rejects(home.write(puts([itemRow(2)]), 2), TypeError);
  });
}
