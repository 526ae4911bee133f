/** Somebody deletes the guard of one partition, and nothing else: neither the record, nor its rows. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { MembersStage, TTL, workerAt } from './stage.js';

const RECORD = { id: 'c', partitions: 2, secret: 's', version: 1, routes: {} };

async function scene() {
  const stage = new MembersStage(2);
  stage.store.record(RECORD);
  const a = stage.start('a', { cluster: 'c' });
  const reading = a.store.record(RECORD);
  await stage.until(() => stage.hasAll(a.member));
  await reading;
  workerAt(a.member, 1).items('one', 'two');
  await stage.pass(50);
  return { stage, a };
}

async function taken(stage: MembersStage, member: Parameters<typeof workerAt>[0]): Promise<readonly string[]> {
  const ids: string[] = [];
  for (;;) {
    const call = workerAt(member, 1).acquire({ wait: 0 });
    await stage.pass(50);
    const [delivery] = call.value.deliveries;
    if (delivery === undefined) return ids;
    ids.push(...delivery.items.map(({ itemId }) => itemId));
    workerAt(member, 1).ack(delivery.turn);
    await stage.pass(50);
  }
}

describe('a guard that alone is gone', () => {
  it('S349: is back within a look, though its home has nothing to write', async () => {
    const { stage, a } = await scene();
    const { owner } = stage.store.guard(1);
    stage.store.dropGuard(1);
    await stage.until(() => stage.store.guard(1).owner === owner, 600);
    await stage.pass(1_000);
    assert.ok(a.member.isHere(1));
    assert.deepEqual(await taken(stage, a.member), ['one', 'two']);
  });

  it('S349: of a home that is dead is claimed by who begins then, with all rows', async () => {
    const { stage, a } = await scene();
    const held = workerAt(a.member, 1).acquire();
    await stage.pass(50);
    const [delivery] = held.value.deliveries;
    assert.ok(delivery !== undefined);
    a.kill();
    stage.store.dropGuard(1);
    await stage.pass(TTL);
    const b = stage.start('b', { cluster: 'c' });
    const reading = b.store.record(RECORD);
    await stage.until(() => b.member.isHere(1));
    await reading;
    const ack = workerAt(b.member, 1).ack(delivery.turn);
    await stage.pass(50);
    assert.ok(ack.value, 'a turn that was held is held still');
    assert.deepEqual(await taken(stage, b.member), ['two']);
  });

  it('S349: × a sidecar that begins: whichever is first, one is the home, and nothing is lost or doubled', async () => {
    for (const first of ['a member', 'the loss']) {
      const { stage, a } = await scene();
      if (first === 'the loss') stage.store.dropGuard(1);
      const b = stage.start('b', { cluster: 'c' });
      const reading = b.store.record(RECORD);
      if (first === 'a member') stage.store.dropGuard(1);
      await stage.pass(2_000);
      await reading;
      const homes = [a, b].filter(({ member }) => member.isHere(1));
      assert.equal(homes.length, 1, first);
      assert.deepEqual(await taken(stage, homes[0]?.member ?? a.member), ['one', 'two'], first);
    }
  });

  it('S349: while the store answers nothing else it is asserted by one chain of tries', async () => {
    const { stage, a } = await scene();
    a.store.wire.fault = ({ does }) => (does === 'reassert' ? { refused: 'io' } : {});
    stage.store.dropGuard(1);
    await stage.pass(2_000);
    const before = a.store.wire.calls;
    await stage.pass(1_000);
    // Four looks, and four tries of three requests.
    assert.ok(a.store.wire.calls - before <= 20, `${a.store.wire.calls - before} requests in a second`);
    a.store.wire.fault = () => ({});
    await stage.until(() => a.member.isHere(1) && stage.store.guard(1).epoch > 0);
    assert.deepEqual(await taken(stage, a.member), ['one', 'two']);
  });
});
