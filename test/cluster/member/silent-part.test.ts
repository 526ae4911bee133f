/** A store of several servers of which one does not answer, or failed over alone. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { MARGIN } from '../../../src/cluster/member/deadline.js';
import type { FakeStore } from '../../support/cluster/fake-store.js';
import { MembersStage, TTL, workerAt } from './stage.js';

/** The server of this partition is silent, for this member. @returns ends that */
function silence(store: FakeStore, silent: number): () => void {
  const { look } = store;
  let last: Awaited<ReturnType<typeof look>> | undefined;
  store.look = async (partitions) => {
    const sight = await look.call(store, partitions);
    last ??= sight;
    const guards = sight.guards.map((guard, at) => (at === silent ? (last?.guards[at] ?? guard) : guard));
    return { ...sight, guards, unseen: new Set([silent]) };
  };
  store.wire.fault = ({ partition }) => (partition === silent ? { lost: 'request' } : {});
  return () => {
    store.look = look;
    store.wire.fault = () => ({});
  };
}

/**
 * Resolves when the session was renewed a while after the last look, so that the member's deadline is later than that look allows.
 * @returns when that look was sent
 */
async function renewedLater(
  stage: MembersStage,
  { store, registry }: ReturnType<MembersStage['start']>,
): Promise<number> {
  const [{ look }, { renew }] = [store, registry];
  let [lookedAt, isLater] = [0, false];
  store.look = (partitions) => {
    lookedAt = stage.clock.now();
    return look.call(store, partitions);
  };
  registry.renew = async (...args) => {
    isLater = stage.clock.now() - lookedAt >= 100;
    return renew.apply(registry, args);
  };
  await stage.until(() => isLater);
  store.look = look;
  registry.renew = renew;
  return lookedAt;
}

describe('a store of several servers', () => {
  it('S515: of which one is silent stops its own partitions alone, before others may claim them; they go on when it is back', async () => {
    const stage = new MembersStage(4);
    const a = stage.start('a');
    await stage.until(() => stage.hasAll(a.member));
    const before = workerAt(a.member, 2).items('one');
    await stage.pass(50);
    assert.equal(before.value.results.length, 1);
    const answeredAt = await renewedLater(stage, a);
    const end = silence(a.store, 2);
    await stage.pass(100);
    const late = workerAt(a.member, 2).items('late');
    const others = [0, 1, 3].map((partition) => workerAt(a.member, partition).enQueue());
    await stage.pass(50);
    for (const call of others) assert.equal(call.value.decision, 'accept');
    // From the last answer on, not from when the silence was noticed; a call looks at the clock.
    const until = answeredAt + TTL - MARGIN;
    await stage.pass(until - 50 - stage.clock.now());
    assert.equal(a.member.standing(2), 'open');
    await stage.pass(60);
    void workerAt(a.member, 2).enQueue();
    await stage.pass(10);
    assert.equal(a.member.standing(2), 'closed');
    assert.deepEqual(
      [0, 1, 3].map((partition) => a.member.standing(partition)),
      ['open', 'open', 'open'],
    );
    assert.ok(a.member.isLive);
    assert.ok(late.outcome === undefined || 'refusal' in late.outcome, 'nothing is taken that is not written');
    end();
    await stage.until(() => a.member.standing(2) === 'open');
    const again = workerAt(a.member, 2).acquire();
    await stage.pass(50);
    assert.ok(again.value.deliveries.length > 0);
    assert.equal(a.counts.numbers.claims.failover, 0);
  });

  it('S515: of which one is silent for less than a session stops nothing', async () => {
    const stage = new MembersStage(4);
    const a = stage.start('a');
    await stage.until(() => stage.hasAll(a.member));
    for (let times = 0; times < 3; times += 1) {
      const end = silence(a.store, 2);
      await stage.pass(TTL - 1_500);
      end();
      await stage.pass(2_000);
      const call = workerAt(a.member, 2).items(`${times}`);
      await stage.pass(50);
      assert.equal(call.value.results.length, 1);
      assert.equal(a.member.standing(2), 'open');
    }
    assert.equal(a.counts.numbers.claims.warm, 0);
  });

  it('S511: of which one failed over keeps claims of its partitions back, and of no other; only they are looked at', async () => {
    const stage = new MembersStage(4);
    const a = stage.start('a');
    await stage.until(() => stage.hasAll(a.member));
    const b = stage.start('b');
    await stage.pass(4_000);
    const looked = new Set<number>();
    const { fault } = a.store.wire;
    a.store.wire.fault = (call) => {
      if (call.does === 'look' && call.partition !== undefined) looked.add(call.partition);
      return fault(call);
    };
    a.store.onFailover?.((partition) => partition === 1);
    await stage.pass(200);
    assert.deepEqual([...looked], [1]);
    a.kill();
    // Again and again: nobody claims what that touches.
    const failing = { isOn: true };
    const failOver = () => {
      if (!failing.isOn) return;
      b.store.onFailover?.((partition) => partition === 1);
      stage.clock.after(500, failOver);
    };
    failOver();
    const took = await stage.until(() => [0, 2, 3].every((partition) => b.member.isHere(partition)));
    assert.ok(took <= TTL + 1_000, `${took} ms`);
    await stage.pass(TTL);
    assert.equal(b.member.isHere(1), false);
    failing.isOn = false;
    await stage.until(() => b.member.isHere(1));
  });

  it('S515: of which one is silent is not asked for what is there: what it has was not seen', async () => {
    const stage = new MembersStage(4);
    const a = stage.start('a');
    await stage.until(() => stage.hasAll(a.member));
    const b = stage.start('b');
    await stage.pass(4_000);
    const end = silence(b.store, 2);
    const { fault } = b.store.wire;
    let claims = 0;
    b.store.wire.fault = (call) => {
      if (call.does === 'claim' && call.partition === 2) claims += 1;
      return fault(call);
    };
    await stage.pass(500);
    a.kill();
    await stage.until(() => [0, 1, 3].every((partition) => b.member.isHere(partition)));
    await stage.pass(2_000);
    assert.equal(claims, 0);
    end();
    await stage.until(() => b.member.isHere(2));
  });
});
