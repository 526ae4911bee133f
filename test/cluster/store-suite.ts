/** What every cluster store promises: one suite for the one in memory and those over a real engine. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { withPin } from '../../src/cluster/partitions/pins.js';
import { amend } from '../../src/cluster/store/amend.js';
import type { ClusterRecord } from '../../src/cluster/store/cluster-store.js';
import { itemRow, puts } from '../local/journal/rows.js';
import { aheadCases } from './store-ahead.js';
import { fallBackCases, rewriteCases } from './store-fall-back.js';
import { guardCases, lostCases } from './store-guard.js';
import { CLAIM, claim, isProblem, type Place, RECORD, rowsOf } from './store-place.js';
import { rowCases } from './store-rows.js';

export function storeSuite(name: string, place: Place): void {
  describe(`${name} keeps what every cluster store promises`, () => {
    describe('the record', () => recordCases(place));
    describe('claims', () => claimCases(place));
    describe('rows', () => rowCases(place));
    describe('the guard', () => guardCases(place));
    describe('a lost answer', () => lostCases(place));
    describe('a store that fell back', () => fallBackCases(place));
    describe('written anew', () => rewriteCases(place));
    describe('read ahead', () => aheadCases(place));
  });
}

function recordCases(place: Place): void {
  it('is what the first one wants, for everybody', async (t) => {
    const there = await place(t);
    const [a, b] = [await there.open(), await there.open()];
    assert.equal(await b.hasRecord(), false);
    assert.deepEqual(await a.record(RECORD), RECORD);
    assert.equal(await b.hasRecord(), true);
    assert.deepEqual(await b.record({ ...RECORD, id: 'other', partitions: 8, secret: 'x' }), RECORD);
  });

  it('of many that begin at once is one', async (t) => {
    const there = await place(t);
    const stores = await Promise.all(Array.from({ length: 5 }, () => there.open()));
    const found = await Promise.all(stores.map((store, at) => store.record({ ...RECORD, id: `cluster-${at}` })));
    assert.equal(new Set(found.map(({ id }) => id)).size, 1);
  });

  it('is changed over the version that stands there, and only over that', async (t) => {
    const there = await place(t);
    const [a, b] = [await there.open(), await there.open()];
    await a.record(RECORD);
    const next = { ...RECORD, version: 2, routes: {} };
    assert.equal(await a.changeRecord(1, next), true);
    assert.equal(await b.changeRecord(1, { ...RECORD, version: 2, secret: 'mine' }), false);
    assert.deepEqual(await b.record(RECORD), next);
    assert.equal(await b.changeRecord(2, { ...next, version: 3 }), true);
  });

  it('S330: is changed over its revision, by two at once one after the other, and shown with the guards', async (t) => {
    const there = await place(t);
    const [a, b] = [await there.open(), await there.open()];
    await a.record(RECORD);
    assert.deepEqual(await amend(a, () => undefined), RECORD);
    const pin = (partition: number, name: string) => (record: ClusterRecord, at: number) =>
      withPin(record, partition, { name, at });
    await Promise.all([amend(a, pin(1, 'one')), amend(b, pin(2, 'two')), amend(b, pin(3, 'three'))]);
    const { guards, record } = await b.look(4);
    assert.equal(guards.length, 4);
    assert.deepEqual(
      [record?.version, record?.revision, record?.secret],
      [RECORD.version, RECORD.version + 3, RECORD.secret],
    );
    assert.deepEqual(
      Object.values(record?.pins ?? {}).map(({ name }) => name),
      ['one', 'two', 'three'],
    );
    assert.deepEqual(new Set(Object.values(record?.pins ?? {}).map(({ at }) => at)).size, 3);
    assert.equal(await a.changeRecord(RECORD.version, { ...RECORD, secret: 'late' }), false);
  });

  it('S342: is not changed over that of another cluster, whatever its revision', async (t) => {
    const store = await (await place(t)).open();
    const other = { ...RECORD, id: 'another' };
    await store.record(other);
    assert.equal(await store.changeRecord(1, { ...RECORD, revision: 2 }), false);
    assert.deepEqual(await store.record(RECORD), other);
  });

  it('S342: of another cluster goes with its guards and rows, also those that were written anew', async (t) => {
    const store = await (await place(t)).open();
    await store.record({ ...RECORD, id: 'another' });
    const theirs = store.open(await claim(store, { partition: 2 }));
    await theirs.rewrite([[itemRow(1)]], 1);
    assert.equal(await store.restoreRecord(RECORD, 'a third', [2]), false);
    assert.equal(await store.restoreRecord(RECORD, 'another', [2]), true);
    const { guards, record, orders } = await store.look(4);
    assert.deepEqual([guards[2]?.epoch, record], [0, RECORD]);
    assert.deepEqual([...orders], [[2, { kind: 'wait' }]]);
    const ours = await claim(store, { partition: 2 });
    assert.deepEqual([ours.rows, await rowsOf(store.open(ours))], [0, []]);
  });

  it('S349: is taken back only if no partition was ever claimed, nothing is ordered, and it is that one', async (t) => {
    const store = await (await place(t)).open();
    assert.equal(await store.withdrawRecord(RECORD), false);
    await store.record(RECORD);
    assert.equal(await store.withdrawRecord({ ...RECORD, id: 'another' }), false);
    await store.order(new Map([[1, { kind: 'wait' }]]));
    assert.equal(await store.withdrawRecord(RECORD), false);
    await store.ordered([1]);
    assert.equal(await store.withdrawRecord(RECORD), true);
    assert.equal(await store.hasRecord(), false);
    await store.record(RECORD);
    await claim(store, { partition: RECORD.partitions - 1 });
    assert.equal(await store.withdrawRecord(RECORD), false);
    assert.equal(await store.hasRecord(), true);
  });

  it('is not changed where there is none', async (t) => {
    const store = await (await place(t)).open();
    assert.equal(await store.changeRecord(1, RECORD), false);
    assert.equal(await amend(store, (record) => record), undefined);
    assert.equal((await store.look(1)).record, undefined);
  });
}

function claimCases(place: Place): void {
  it('shows an empty guard for a partition that was never claimed', async (t) => {
    const store = await (await place(t)).open();
    const empty = { owner: '', epoch: 0, member: '', seq: 0, at: 0, floor: 0, format: 0 };
    assert.deepEqual(
      await store.guards(3),
      [0, 1, 2].map((partition) => ({ partition, ...empty })),
    );
  });

  it('gives a free partition to who asks, with a new owner, a larger epoch, and the floor raised', async (t) => {
    const store = await (await place(t)).open();
    const before = Date.now();
    const claimed = await store.claim({ ...CLAIM, partition: 2 });
    assert.ok(claimed.claimed);
    const { guard, floorBefore, now, rows } = claimed;
    assert.deepEqual({ floorBefore, rows }, { floorBefore: 0, rows: 0 });
    assert.ok(Math.abs(now - before) < 366 * 86_400_000, 'the clock of the store is about ours');
    assert.notEqual(guard.owner, '');
    assert.ok(guard.epoch > 0);
    assert.deepEqual(
      { ...guard, owner: '', epoch: 0 },
      { partition: 2, owner: '', epoch: 0, member: 'a', seq: 0, at: 0, floor: 100, format: 1 },
    );
    assert.deepEqual((await store.guards(3))[2], guard);
  });

  it('gives a partition to one of many that ask at once', async (t) => {
    const there = await place(t);
    const stores = await Promise.all(Array.from({ length: 5 }, () => there.open()));
    const answers = await Promise.all(stores.map((store, at) => store.claim({ ...CLAIM, member: `m${at}` })));
    assert.equal(answers.filter(({ claimed }) => claimed).length, 1);
    assert.equal(new Set(answers.map(({ guard }) => guard.owner)).size, 1);
  });

  it('changes nothing if the owner is not the expected one, and tells the guard', async (t) => {
    const there = await place(t);
    const [a, b] = [await there.open(), await there.open()];
    const first = await claim(a);
    assert.deepEqual(await b.claim({ ...CLAIM, member: 'b', floor: 900 }), { claimed: false, guard: first.guard });
    assert.deepEqual(await b.claim({ ...CLAIM, member: 'b', expected: 'other' }), {
      claimed: false,
      guard: first.guard,
    });
    assert.deepEqual((await b.guards(1))[0], first.guard);
  });

  it('takes over from the expected owner: rows and number stay, owner and epoch are new', async (t) => {
    const there = await place(t);
    const [a, b] = [await there.open(), await there.open()];
    const first = await claim(a);
    await a.open(first).write(puts([itemRow(1), itemRow(2)]), 77.5);
    const second = await claim(b, { member: 'b', expected: first.guard.owner, format: 2 });
    assert.notEqual(second.guard.owner, first.guard.owner);
    assert.ok(second.guard.epoch > first.guard.epoch);
    const { member, seq, at, format } = second.guard;
    assert.deepEqual({ member, at, format, rows: second.rows }, { member: 'b', at: 77.5, format: 2, rows: 2 });
    assert.ok(seq > 0);
    assert.deepEqual(b.open(second).before, { lastWrite: 77.5, rows: 2 });
  });

  it('never lowers the floor, and tells how it was', async (t) => {
    const store = await (await place(t)).open();
    const first = await claim(store, { floor: 2 ** 50 + 1 });
    const second = await claim(store, { floor: 7, expected: first.guard.owner });
    assert.deepEqual([second.floorBefore, second.guard.floor], [2 ** 50 + 1, 2 ** 50 + 1]);
    const third = await claim(store, { floor: 2 ** 52, expected: second.guard.owner });
    assert.deepEqual([third.floorBefore, third.guard.floor], [2 ** 50 + 1, 2 ** 52]);
  });

  it('takes the expected number into account: warm, only if nobody was there in between', async (t) => {
    const there = await place(t);
    const [a, b] = [await there.open(), await there.open()];
    const first = await claim(a);
    const home = a.open(first);
    await home.write(puts([itemRow(1)]), 1);
    const expected = first.guard.owner;
    const wrong = await a.claim({ ...CLAIM, expected, expectedSeq: home.guard.seq + 1 });
    assert.equal(wrong.claimed, false);
    const warm = await claim(a, { expected, expectedSeq: home.guard.seq });
    home.renewed(warm);
    await home.write(puts([itemRow(2)]), 2);
    assert.deepEqual(await rowsOf(home), [itemRow(1), itemRow(2)]);
    const other = await claim(b, { expected: warm.guard.owner });
    const tooLate = await a.claim({ ...CLAIM, expected: warm.guard.owner, expectedSeq: home.guard.seq });
    assert.deepEqual(tooLate, { claimed: false, guard: other.guard });
  });

  it('keeps a claim whose answer was lost: the guards show an owner of that member', async (t) => {
    const there = await place(t);
    const [a, b] = [await there.open(), await there.open()];
    there.lose(a, 'answers');
    await assert.rejects(there.outwait(a.claim({ ...CLAIM, member: 'lost' })), isProblem('io'));
    const guard = (await b.guards(1))[0];
    assert.equal(guard?.member, 'lost');
    there.lose(a, undefined);
    assert.equal((await claim(a, { expected: guard?.owner ?? '' })).claimed, true);
  });
}
