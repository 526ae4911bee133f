/** Rows that are read before the claim: used only if they are all there is. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { Claimed, ClusterStore, PartitionStore } from '../../src/cluster/store/cluster-store.js';
import { RowsAhead } from '../../src/cluster/store/partition/rows-ahead.js';
import type { RowChange } from '../../src/core/contract/rows.js';
import { ALL_KINDS, contentOf, itemRow, puts } from '../local/journal/rows.js';
import { claim, type Place, RECORD, rowsOf, type StorePlace, withoutOrderOfNames } from './store-place.js';

interface Scene {
  readonly there: StorePlace;
  /** Of the home of now. */
  readonly store: ClusterStore;
  readonly home: PartitionStore;
  readonly claimed: Claimed;
  /** Of who is to be the next one. */
  readonly next: ClusterStore;
}

interface Case {
  readonly name: string;
  readonly isUsed: boolean;
  /** Between the reading and the claim. @returns the owner that stands there then; unset: the home gives its guard up */
  readonly meanwhile: (scene: Scene) => Promise<string | undefined>;
}

const BETWEEN: readonly RowChange[] = [
  { delete: { table: 'items', seq: 2 } },
  { put: itemRow(1, { id: 'changed' }) },
  { put: itemRow(7) },
  { delete: { table: 'items', seq: 7 } },
  { put: itemRow(2_000) },
  { put: itemRow(6) },
  { put: { table: 'pauses', queue: 'new' } },
];

async function anotherWrites({ there, home, claimed }: Scene): Promise<undefined> {
  await home.release();
  const other = await there.open();
  const theirs = other.open(await claim(other, { member: 'other' }));
  await theirs.write(puts([itemRow(1, { id: 'theirs' })]), 9);
  await theirs.release();
  assert.notEqual(theirs.guard.owner, claimed.guard.owner);
}

const CASES: readonly Case[] = [
  { name: 'nothing was written since', isUsed: true, meanwhile: async () => undefined },
  {
    name: 'batches were written since',
    isUsed: true,
    meanwhile: async ({ home }) => {
      for (const [at, change] of BETWEEN.entries()) await home.write([change], 10 + at);
      await home.write([{ put: itemRow(2) }, { delete: { table: 'items', seq: 1 } }], 20);
      return undefined;
    },
  },
  {
    name: 'another home has written since',
    isUsed: false,
    meanwhile: async (scene) => anotherWrites(scene),
  },
  {
    name: 'the same home has claimed it again since, and written',
    isUsed: false,
    meanwhile: async ({ store, home, claimed }) => {
      const again = await claim(store, { expected: claimed.guard.owner, expectedSeq: home.guard.seq });
      home.renewed(again);
      await home.write(puts([itemRow(8)]), 9);
      return undefined;
    },
  },
  {
    name: 'the rows were written anew since',
    isUsed: false,
    meanwhile: async ({ home }) => {
      await home.rewrite([[itemRow(4)]], 9);
      await home.write(puts([itemRow(5)]), 10);
      return undefined;
    },
  },
  {
    name: 'somebody else reads it ahead',
    isUsed: false,
    meanwhile: async ({ there }) => {
      const other = await there.open();
      assert.ok((await other.readAhead(0, () => true)) !== undefined);
      return undefined;
    },
  },
  {
    name: 'more was written since than is kept',
    isUsed: false,
    meanwhile: async ({ home }) => {
      const content = contentOf('x'.repeat(45_000));
      for (let at = 0; at < 205; at += 1) await home.write([{ put: itemRow(3, { content }) }], 10 + at);
      return undefined;
    },
  },
  {
    name: 'the store fell back to where it was before a batch that was read',
    isUsed: false,
    meanwhile: async ({ there, claimed }) => {
      await there.fallBack();
      return claimed.guard.owner;
    },
  },
];

export function aheadCases(place: Place): void {
  for (const { name, isUsed, meanwhile } of CASES) {
    it(`S384: what was read before the claim is ${isUsed ? '' : 'not '}used when ${name}`, async (t) => {
      const there = await place(t);
      const scene = await sceneOf(there);
      const { home, next } = scene;
      const ahead = await next.readAhead(0, () => true);
      assert.ok(ahead instanceof RowsAhead);
      const owner = await meanwhile(scene);
      if (owner === undefined && home.guard.epoch === scene.claimed.guard.epoch) await home.release();
      const stands = (await there.outwait(next.guards(1)))[0]?.owner ?? '';
      const claimed = await claim(next, { expected: stands, member: 'next' });
      assert.equal(await ahead.isAllOf(claimed.guard), isUsed);
      const read = await rowsOf(next.open(claimed, ahead));
      assert.deepEqual(withoutOrderOfNames(read), withoutOrderOfNames(await rowsOf(next.open(claimed))));
    });
  }

  it('S384: rows come in the order of the tables, those of numbers by number, whenever they were written', async (t) => {
    const { home, next } = await sceneOf(await place(t));
    const ahead = await next.readAhead(0, () => true);
    await home.write(puts([itemRow(500), itemRow(40), itemRow(41)]), 9);
    await home.write([{ delete: { table: 'items', seq: 3 } }, { put: itemRow(20) }], 10);
    await home.write(puts([itemRow(3)]), 11);
    await home.release();
    const claimed = await claim(next);
    const read = await rowsOf(next.open(claimed, ahead));
    const tables = read.map(({ table }) => table);
    const full = await rowsOf(next.open(claimed));
    assert.deepEqual(
      tables,
      full.map(({ table }) => table),
    );
    const numbers = (rows: typeof full) => rows.flatMap((row) => (row.table === 'items' ? [row.seq] : []));
    assert.deepEqual(numbers(read), numbers(full));
  });

  it('S384: what is read in several goes is as of one moment, whatever is written in between', async (t) => {
    const { home, next } = await sceneOf(await place(t));
    let isReading = true;
    const reading = next
      .readAhead(0, () => true)
      .finally(() => {
        isReading = false;
      });
    for (let at = 0; isReading || at < 5; at += 1) {
      const seq = 1 + (at % 50);
      await home.write(
        [at % 3 === 0 ? { delete: { table: 'items', seq } } : { put: itemRow(seq, { id: `w-${at}` }) }],
        at,
      );
    }
    const ahead = await reading;
    await home.release();
    const claimed = await claim(next);
    const read = await rowsOf(next.open(claimed, ahead));
    assert.deepEqual(withoutOrderOfNames(read), withoutOrderOfNames(await rowsOf(next.open(claimed))));
  });

  it('S384: a partition that nobody has is not read ahead, and of another one nothing is used', async (t) => {
    const { home, next } = await sceneOf(await place(t));
    assert.equal(await next.readAhead(1, () => true), undefined);
    const ahead = await next.readAhead(0, () => true);
    assert.ok(ahead instanceof RowsAhead);
    assert.equal(await ahead.isAllOf({ ...home.guard, partition: 1 }), false);
  });
}

async function sceneOf(there: StorePlace): Promise<Scene> {
  const [store, next] = [await there.open(), await there.open()];
  await store.record(RECORD);
  await next.record(RECORD);
  const claimed = await claim(store);
  const home = store.open(claimed);
  await home.write(puts(ALL_KINDS), 1);
  await there.mark();
  await home.write(puts(Array.from({ length: 50 }, (_, at) => itemRow(1 + at))), 2);
  return { there, store, home, claimed, next };
}
