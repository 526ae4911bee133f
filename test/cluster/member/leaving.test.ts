/** S335: how members end, one after the other or all at once, while workers have turns. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ClusterMember } from '../../../src/cluster/member/member.js';
import { MembersStage, workerAt } from './stage.js';

/** Whether it has resolved, so far. */
function watched(promise: Promise<void>): { isDone: boolean } {
  const watch = { isDone: false };
  void promise.then(() => {
    watch.isDone = true;
  });
  return watch;
}

const all = (stage: MembersStage, ...members: ClusterMember[]) =>
  Array.from({ length: stage.partitions }, (_, partition) => members.filter((one) => one.isHere(partition)).length);

describe('a member that ends', () => {
  it('keeps its partitions while nobody else may take them, and gives them up when it leaves', async () => {
    const stage = new MembersStage();
    const a = stage.start('a');
    await stage.until(() => stage.hasAll(a.member));
    const handedOver = watched(a.member.handOver(10_000));
    await stage.until(() => handedOver.isDone, 2_000);
    await stage.pass(5_000);
    assert.ok(stage.hasAll(a.member), 'turns are settled here');
    const left = watched(a.member.leave(1_000));
    await stage.until(() => left.isDone, 500);
    for (let partition = 0; partition < stage.partitions; partition += 1)
      assert.equal(stage.store.guard(partition).owner, '');
    assert.deepEqual(stage.registry.members, []);
  });

  it('hands them over as soon as somebody comes who may', async () => {
    const stage = new MembersStage();
    const a = stage.start('a');
    await stage.until(() => stage.hasAll(a.member));
    const worker = workerAt(a.member);
    const call = worker.enQueue({ queue: 'q' });
    await stage.pass(50);
    assert.ok(call.value.decision === 'accept');
    void a.member.handOver(10_000);
    await stage.pass(500);
    const b = stage.start('b');
    const took = await stage.until(() => stage.hasAll(b.member));
    assert.ok(took <= 5_000, `${took} ms`);
    const end = workerAt(b.member).end(call.value.turn);
    await stage.pass(50);
    assert.ok(end.value);
  });

  it('follows who is the home of what until it has left', async () => {
    const stage = new MembersStage(1);
    const a = stage.start('a');
    await stage.until(() => stage.hasAll(a.member));
    const b = stage.start('b', { weight: 1_000 });
    await stage.pass(1_000);
    const handedOver = watched(a.member.handOver(10_000));
    await stage.until(() => handedOver.isDone && b.member.isHere(0));
    await stage.pass(500);
    const c = stage.start('c');
    await stage.pass(1_000);
    b.kill();
    await stage.until(() => c.member.isHere(0));
    await stage.pass(500);
    assert.deepEqual([...a.member.elsewhere()], c.ids);
    assert.equal(a.member.isHere(0), false);
  });
});

describe('members that end at the same time', () => {
  it('leave no partition without a home before they have left', async () => {
    for (const between of [0, 10, 100, 300]) {
      const stage = new MembersStage(8);
      const members = [stage.start('a'), stage.start('b'), stage.start('c')].map(({ member }) => member);
      await stage.until(() => all(stage, ...members).every((homes) => homes === 1));
      await stage.pass(20_000);
      for (const member of members) {
        void member.handOver(20_000);
        await stage.pass(between);
      }
      await stage.until(() => all(stage, ...members).every((homes) => homes === 1), 5_000);
      await stage.pass(3_000);
      assert.deepEqual(
        all(stage, ...members),
        all(stage).map(() => 1),
        `${between} ms`,
      );
      const left = members.map((member) => watched(member.leave(2_000)));
      await stage.until(() => left.every(({ isDone }) => isDone), 3_000);
      for (let partition = 0; partition < 8; partition += 1) assert.equal(stage.store.guard(partition).owner, '');
    }
  });
});
