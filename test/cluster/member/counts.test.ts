/** S300: what a member counts is what happened. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { MembersStage, TTL, workerAt } from './stage.js';

const PARTITIONS = 8;

async function alone() {
  const stage = new MembersStage(PARTITIONS);
  const a = stage.start('a');
  await stage.until(() => stage.hasAll(a.member));
  return { stage, a };
}

describe('S300: the counts of a member', () => {
  it('tell claims of free partitions, and batches that were written', async () => {
    const { stage, a } = await alone();
    const { claims, write, batchRows, failover } = a.counts.numbers;
    assert.deepEqual(claims, { free: PARTITIONS, failover: 0, own: 0, warm: 0 });
    const before = { count: write.count, rows: batchRows.sum };
    const call = workerAt(a.member).items('one', 'two', 'three');
    await stage.pass(100);
    assert.equal(call.value.results.length, 3);
    assert.ok(write.count > before.count && write.count === batchRows.count);
    assert.ok(batchRows.sum >= before.rows + 3, `${batchRows.sum} rows after ${before.rows}`);
    assert.equal(failover.count, 0);
  });

  it('tell the partitions of a member that died, and for how long they had no home', async () => {
    const { stage, a } = await alone();
    const b = stage.start('b');
    await stage.pass(TTL * 2);
    assert.deepEqual(b.counts.numbers.claims, { free: 0, failover: 0, own: 0, warm: 0 });
    a.kill();
    await stage.until(() => stage.hasAll(b.member));
    const { claims, failover } = b.counts.numbers;
    assert.deepEqual(claims, { free: 0, failover: PARTITIONS, own: 0, warm: 0 });
    assert.equal(failover.count, PARTITIONS);
    const longest = failover.sum / PARTITIONS;
    assert.ok(longest > 0 && longest < 1, `${longest} s each`);
  });

  it('tell partitions that were handed over, at the one that had them, and as free ones at the next', async () => {
    const { stage, a } = await alone();
    const b = stage.start('b');
    await stage.pass(1_000);
    void a.member.leave(10_000);
    await stage.until(() => stage.hasAll(b.member));
    assert.equal(a.counts.numbers.moves, PARTITIONS);
    assert.equal(a.counts.numbers.fenced, 0);
    assert.deepEqual(b.counts.numbers.claims, { free: PARTITIONS, failover: 0, own: 0, warm: 0 });
  });

  it('tell claims of its own with the core that was kept', async () => {
    const { stage, a } = await alone();
    stage.registry.endSession(a.ids[0] ?? '');
    await stage.until(() => a.member.standing(0) !== 'open');
    await stage.until(() => stage.hasAll(a.member));
    assert.deepEqual(a.counts.numbers.claims, { free: PARTITIONS, failover: 0, own: 0, warm: PARTITIONS });
    assert.equal(a.counts.numbers.moves, 0);
  });

  it('tell partitions that another one took from a member that stood still', async () => {
    const { stage, a } = await alone();
    const b = stage.start('b');
    await stage.pass(1_000);
    const letGo = a.freeze();
    await stage.until(() => stage.hasAll(b.member));
    assert.equal(a.counts.numbers.fenced, 0);
    letGo();
    await stage.until(() => a.counts.numbers.fenced === PARTITIONS);
    assert.equal(b.counts.numbers.claims.failover, PARTITIONS);
  });

  it('tell stores that had lost the last batches and have them again', async () => {
    const { stage, a } = await alone();
    assert.equal(a.counts.numbers.fellBack, 0);
    const changes = stage.store.changes;
    workerAt(a.member).items('one');
    await stage.pass(100);
    stage.store.failOver(stage.store.changes - changes);
    await stage.until(() => a.counts.numbers.fellBack === 1);
    assert.equal(a.counts.numbers.claims.free, PARTITIONS);
  });
});
