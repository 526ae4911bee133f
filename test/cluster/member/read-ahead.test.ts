/** The next home reads the rows of a partition while its home still serves. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ReadingAhead, type ReadsAhead } from '../../../src/cluster/member/reading-ahead.js';
import type { PartitionAhead } from '../../../src/cluster/store/cluster-store.js';
import { FakeClock } from '../../support/fake-clock.js';
import { MembersStage, TTL, workerAt } from './stage.js';

/** `a` has both partitions, with an item in each, and `b` gets one of them when nothing changed for 15 s. */
async function scene() {
  const stage = new MembersStage(2);
  stage.isLinked = true;
  const a = stage.start('a');
  await stage.until(() => stage.hasAll(a.member));
  for (const partition of [0, 1]) workerAt(a.member, partition).items(`item of ${partition}`);
  const b = stage.start('b');
  await stage.pass(5_000);
  /** What the store of `b` was asked of rows, by whatever way. */
  const reads = { full: 0, ahead: 0 };
  b.store.wire.fault = ({ does }) => {
    if (does === 'read') reads.full += 1;
    if (does === 'readAhead') reads.ahead += 1;
    return { there: 0, back: 0 };
  };
  return { stage, a, b, reads };
}

async function delivered(stage: MembersStage, member: Parameters<typeof workerAt>[0], partition: number) {
  const got = workerAt(member, partition).acquire();
  await stage.pass(50);
  return got.value.deliveries[0]?.items.map(({ itemId }) => itemId);
}

describe('a hand-over', () => {
  it('S384: the next home reads the rows before, and not again when it has claimed', async () => {
    const { stage, b, reads } = await scene();
    await stage.until(() => stage.homesOf(b.member).length === 1);
    const [moved = 0] = stage.homesOf(b.member);
    assert.deepEqual(stage.told, [`read ${moved}`, `has read ${moved}`]);
    assert.ok(reads.ahead > 0);
    assert.equal(reads.full, 0);
    assert.deepEqual(await delivered(stage, b.member, moved), [`item of ${moved}`]);
  });

  it('S384: what is written while it is read and afterwards is there', async () => {
    const { stage, a, b, reads } = await scene();
    const begun = b.store.wire.fault;
    let sent = 0;
    b.store.wire.fault = (request) => {
      if (request.does === 'readAhead' || request.does === 'followed') {
        sent += 1;
        const partition = request.partition ?? 0;
        if (a.member.isHere(partition)) workerAt(a.member, partition).items(`${sent}. while it is read`);
      }
      return begun?.(request) ?? { there: 0, back: 0 };
    };
    await stage.until(() => stage.homesOf(b.member).length === 1);
    const [moved = 0] = stage.homesOf(b.member);
    assert.ok(sent > 2 && reads.full === 0, `${sent} items, ${JSON.stringify(reads)}`);
    const home = stage.homeOf(moved);
    const rows = home.snapshot().rows.filter(({ table }) => table === 'items');
    // The last time it looked it was its own.
    assert.equal(rows.length, 1 + sent - 1);
  });

  it('S385: is not kept waiting by a next home that does not answer, and by the same one only once', async () => {
    const { stage, a, b } = await scene();
    stage.isDeaf = true;
    await stage.until(() => stage.homesOf(b.member).length === 1, 25_000);
    assert.equal(stage.told.length, 1);
    const leaving = a.member.leave(10_000);
    assert.ok((await stage.until(() => stage.hasAll(b.member))) < 3_000);
    await Promise.race([leaving, stage.pass(1_000)]);
    assert.equal(stage.told.length, 1);
  });

  it('S385: its home serves until the next one has read, and goes on when that one dies meanwhile', async () => {
    const { stage, a, b } = await scene();
    b.store.wire.cut = undefined;
    const { fault } = b.store.wire;
    b.store.wire.fault = (request) => {
      // It dies when it has begun to read.
      if (request.does === 'readAhead') b.kill();
      return fault?.(request) ?? { there: 0, back: 0 };
    };
    await stage.until(() => stage.told.length === 1);
    assert.ok(stage.hasAll(a.member));
    await stage.pass(TTL + 5_000);
    assert.ok(stage.hasAll(a.member), 'nobody else was there to take it');
    assert.deepEqual(await delivered(stage, a.member, 0), ['item of 0']);
    assert.deepEqual(await delivered(stage, a.member, 1), ['item of 1']);
  });

  it('S384: another one claims it than the one that has read it, and finds all', async () => {
    const { stage, a, b } = await scene();
    const { fault } = b.store.wire;
    let isRead = false;
    b.store.wire.fault = (request) => {
      isRead ||= request.does === 'followed';
      return fault?.(request) ?? { there: 0, back: 0 };
    };
    await stage.until(() => isRead);
    const c = stage.start('c');
    b.kill();
    a.kill();
    await stage.until(() => stage.hasAll(c.member));
    assert.deepEqual(await delivered(stage, c.member, 0), ['item of 0']);
    assert.deepEqual(await delivered(stage, c.member, 1), ['item of 1']);
  });
});

describe('rows that are read ahead', () => {
  function reading(rehearse?: ReadsAhead['rehearse']) {
    const clock = new FakeClock();
    const read: number[] = [];
    const told: number[] = [];
    const ends = new Map<number, (ahead: PartitionAhead | undefined) => void>();
    const wanted: (() => boolean)[] = [];
    const readAhead = (partition: number, isWanted: () => boolean) => {
      read.push(partition);
      wanted.push(isWanted);
      return new Promise<PartitionAhead | undefined>((end) => ends.set(partition, end));
    };
    const it = new ReadingAhead(clock, { readAhead }, { ...(rehearse && { rehearse }) }, (partition) =>
      told.push(partition),
    );
    const end = async (partition: number, ahead: PartitionAhead | undefined) => {
      ends.get(partition)?.(ahead);
      await new Promise(setImmediate);
    };
    return { clock, read, wanted, told, it, end };
  }
  const GOOD: PartitionAhead = { catchUp: async () => true, slices: () => [] };

  it('S385: are of eight partitions at most, and who hands over another one is told to go on', async () => {
    const { read, told, it } = reading();
    for (let partition = 0; partition < 10; partition += 1) it.begin(partition);
    assert.deepEqual(read, [0, 1, 2, 3, 4, 5, 6, 7]);
    assert.deepEqual(told, [8, 9]);
  });

  it('S453: are rehearsed before the home is told, and what is written meanwhile is read behind that', async () => {
    const did: string[] = [];
    const ahead: PartitionAhead = {
      catchUp: async () => did.push('catch up') > 0,
      slices: () => [[], []],
    };
    let isRehearsed = () => {};
    const { told, it, end } = reading((partition, slices) => {
      did.push(`rehearse ${partition}, ${[...slices()].length} slices`);
      return new Promise<void>((done) => {
        isRehearsed = done;
      });
    });
    it.begin(1);
    await end(1, ahead);
    assert.deepEqual([did, told], [['rehearse 1, 2 slices'], []]);
    isRehearsed();
    await new Promise(setImmediate);
    assert.deepEqual([did, told], [['rehearse 1, 2 slices', 'catch up', 'catch up'], [1]]);
    assert.equal(it.take(1), ahead);
  });

  it('S453: are not rehearsed for nobody', async () => {
    const did: number[] = [];
    const { it, end } = reading(async (partition) => void did.push(partition));
    it.begin(1);
    it.take(1);
    await end(1, GOOD);
    it.begin(2);
    await end(2, undefined);
    assert.deepEqual(did, []);
  });

  it('S385: are taken once, and kept for 10 s', async () => {
    const { clock, told, it, end } = reading();
    it.begin(1);
    it.begin(2);
    await end(1, GOOD);
    await end(2, GOOD);
    assert.deepEqual(told, [1, 2]);
    assert.equal(it.take(1), GOOD);
    assert.equal(it.take(1), undefined);
    clock.advance(10_000);
    assert.equal(it.take(2), undefined);
  });

  it('S438: are not read on when they were claimed, when their time is over, and when the member ends', async () => {
    const { clock, wanted, it } = reading();
    const are = () => wanted.map((isWanted) => isWanted());
    for (const partition of [1, 2]) it.begin(partition);
    assert.deepEqual(are(), [true, true]);
    it.take(1);
    assert.deepEqual(are(), [false, true]);
    it.begin(1);
    assert.deepEqual(are(), [false, true, true], 'a later reading of a partition does not revive an earlier one');
    clock.advance(10_000);
    assert.deepEqual(are(), [false, false, false]);
    it.begin(3);
    it.end();
    assert.deepEqual(are(), [false, false, false, false]);
  });

  it('S385: are given up when the partition is claimed before all is read, or cannot be read', async () => {
    const { read, told, it, end } = reading();
    it.begin(1);
    assert.equal(it.take(1), undefined);
    await end(1, GOOD);
    assert.deepEqual(told, []);
    assert.equal(it.take(1), undefined);
    it.begin(1);
    await end(1, { ...GOOD, catchUp: async () => false });
    assert.deepEqual(told, [1]);
    it.begin(1);
    await end(1, { ...GOOD, catchUp: () => Promise.reject(new Error('the store is away')) });
    assert.deepEqual(told, [1, 1]);
    assert.deepEqual(read, [1, 1, 1]);
    it.end();
    it.begin(1);
    assert.deepEqual(read, [1, 1, 1]);
  });
});
