/** What members do, told as stories on one clock. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { MembersStage, TTL, workerAt } from './stage.js';

describe('a member of a cluster', () => {
  it('S235: alone in a new cluster it takes all partitions at once', async () => {
    const stage = new MembersStage(16);
    const { member } = stage.start('a');
    const took = await stage.until(() => stage.hasAll(member));
    assert.ok(took <= 600, `${took} ms`);
    const call = workerAt(member).enQueue();
    await stage.pass(50);
    assert.equal(call.value.decision, 'accept');
  });

  it('S303: stays the home with the shortest session that can be set, as long as registry and store answer', async () => {
    const stage = new MembersStage(4, {}, 1_000);
    const a = stage.start('a');
    await stage.until(() => stage.hasAll(a.member));
    for (let looks = 0; looks < 300; looks += 1) {
      await stage.pass(10);
      assert.ok(stage.hasAll(a.member), `not after ${looks * 10} ms`);
    }
    assert.equal(a.counts.numbers.claims.warm, 0);
  });

  it('S232, S235: shares what it has with those that come, when nobody came or went for 15 s, 4 at once', async () => {
    const stage = new MembersStage(16);
    const a = stage.start('a');
    await stage.until(() => stage.hasAll(a.member));
    const b = stage.start('b');
    const c = stage.start('c');
    await stage.pass(14_000);
    assert.deepEqual(stage.shares(a, b, c), [16, 0, 0]);
    a.store.wire.fault = () => ({ there: 15, back: 15 });
    let most = 0;
    await stage.until(() => {
      const standings = Array.from({ length: 16 }, (_, partition) => a.member.standing(partition));
      most = Math.max(most, standings.filter((at) => at === 'handing_over').length);
      return stage.shares(a, b, c).every((share) => share === 5 || share === 6);
    });
    assert.ok(most >= 1 && most <= 4, `${most} at once`);
    assert.ok(stage.handedOver.length >= 10 && stage.handedOver.every(([, to]) => to !== 'a'));
  });

  it('S475: lists members at once when the registry tells that they changed', async () => {
    const stage = new MembersStage(4);
    const { member, registry } = stage.start('a');
    await stage.until(() => stage.hasAll(member));
    const { members } = registry;
    let listed = 0;
    registry.members = () => {
      listed += 1;
      return members.call(registry);
    };
    await stage.until(() => listed === 1);
    await stage.pass(50);
    assert.equal(listed, 1, 'the next look is 250 ms after the last one');
    registry.onChange?.();
    await stage.pass(10);
    assert.equal(listed, 2);
  });

  it('S235: what a killed member had has homes a session and a second later, and lost nothing', async () => {
    const stage = new MembersStage(8);
    const a = stage.start('a');
    await stage.until(() => stage.hasAll(a.member));
    const call = workerAt(a.member, 3).items('one', 'two');
    await stage.pass(50);
    assert.equal(call.value.results.length, 2);
    const b = stage.start('b');
    const c = stage.start('c');
    await stage.pass(4_000);
    a.kill();
    const took = await stage.until(() => stage.homesOf(b.member).length + stage.homesOf(c.member).length === 8);
    assert.ok(took <= TTL + 1_000, `${took} ms`);
    const home = b.member.isHere(3) ? b : c;
    const again = workerAt(home.member, 3).acquire();
    await stage.pass(50);
    assert.deepEqual(
      again.value.deliveries.flatMap(({ items }) => items.map(({ itemId }) => itemId)),
      ['one'],
    );
  });

  it('S231: whose session ended goes on with the same core when nobody was there in between, and held answers leave', async () => {
    const stage = new MembersStage();
    const a = stage.start('a');
    await stage.until(() => stage.hasAll(a.member));
    const home = a.member.home(0);
    const holder = workerAt(a.member).enQueue();
    await stage.pass(50);
    const waits = workerAt(a.member).enQueue();
    stage.registry.endSession(a.ids[0] ?? '');
    await stage.until(() => a.member.standing(0) !== 'open');
    assert.equal(a.member.home(0), undefined);
    assert.match(a.member.whyNone(0), /partition 0 has no home: /);
    await stage.until(() => a.member.standing(0) === 'open');
    assert.equal(a.member.home(0), home);
    assert.equal(a.ids.length, 2);
    assert.equal(holder.value.decision, 'accept');
    assert.ok(waits.open);
    workerAt(a.member).end(holder.value.decision === 'accept' ? holder.value.turn : assert.fail());
    await stage.pass(50);
    assert.equal(waits.value.decision, 'accept');
  });

  it('S231: no write of a closed home meets its own claim, and is taken for that of a stranger', async () => {
    const stage = new MembersStage(1);
    const a = stage.start('a');
    await stage.until(() => stage.hasAll(a.member));
    const home = a.member.home(0);
    a.store.wire.fault = ({ does }) => (does === 'write' ? { lost: 'request' } : {});
    workerAt(a.member).items('one');
    await stage.pass(50);
    workerAt(a.member).items('two');
    stage.registry.endSession(a.ids[0] ?? '');
    await stage.until(() => a.member.standing(0) !== 'open');
    a.store.wire.fault = ({ does }) => (does === 'claim' ? { back: 900 } : {});
    await stage.until(() => a.member.standing(0) === 'open');
    assert.equal(a.member.home(0), home);
    const got = workerAt(a.member).acquire({ maxItemsPerTurn: 10 });
    await stage.pass(2_000);
    assert.deepEqual(
      got.value.deliveries.flatMap(({ items }) => items.map(({ itemId }) => itemId)),
      ['one', 'two'],
    );
  });

  it('S231: nothing is written while the home is closed, though something waits to be', async () => {
    const stage = new MembersStage(1);
    const a = stage.start('a');
    await stage.until(() => stage.hasAll(a.member));
    let writes = 0;
    a.store.wire.fault = ({ does }) => {
      if (does !== 'write') return {};
      writes += 1;
      return { lost: 'request' };
    };
    workerAt(a.member).items('one');
    await stage.pass(50);
    a.registry.wire.fault = () => ({ lost: 'request' });
    await stage.until(() => a.member.standing(0) === 'closed');
    await stage.pass(2_000);
    assert.ok(writes > 0, 'there is something to write');
    writes = 0;
    await stage.pass(10_000);
    assert.deepEqual([a.member.standing(0), writes], ['closed', 0]);
  });

  it('S231: a renewal alone opens nothing: what lapsed is claimed, though the session never ended', async () => {
    const stage = new MembersStage();
    const a = stage.start('a');
    await stage.until(() => stage.hasAll(a.member));
    const epoch = a.member.guardOf(0)?.epoch ?? 0;
    stage.registry.late = 60_000;
    await stage.pass(1_000);
    const thaw = a.freeze();
    await stage.pass(5_000);
    thaw();
    await stage.until(() => a.member.standing(0) === 'open' && (a.member.guardOf(0)?.epoch ?? 0) > epoch);
    assert.equal(a.ids.length, 1);
  });

  it('S231: who was stopped while another one took over is dropped: who waits is sent there, nothing else is told', async () => {
    const stage = new MembersStage(1);
    const a = stage.start('a');
    await stage.until(() => stage.hasAll(a.member));
    const b = stage.start('b');
    await stage.pass(4_000);
    workerAt(a.member).enQueue();
    await stage.pass(50);
    const waits = workerAt(a.member).enQueue();
    await stage.pass(50);
    const thaw = a.freeze();
    await stage.until(() => b.member.isHere(0));
    thaw();
    await stage.pass(1_000);
    assert.equal(waits.refusal.kind, 'no_home');
    assert.equal(a.member.isHere(0), false);
    assert.notEqual(a.member.home(0), undefined);
    assert.equal(b.member.isHere(0), true);
  });

  it('S230: closes when the store is silent for so long, though its session is renewed', async () => {
    const stage = new MembersStage();
    const a = stage.start('a');
    await stage.until(() => stage.hasAll(a.member));
    const home = workerAt(a.member);
    a.store.wire.cut = 'both';
    const took = await stage.until(() => !a.member.isHere(0));
    assert.ok(took <= TTL - 500, `${took} ms`);
    assert.equal(home.enQueue().refusal.kind, 'no_home');
    a.store.wire.cut = undefined;
    await stage.until(() => stage.hasAll(a.member));
    assert.equal(a.ids.length, 1);
  });

  it('S236: A is stopped, B takes over and answers, the store falls back to A: B keeps it, and what it answered', async () => {
    const stage = new MembersStage(1);
    const a = stage.start('a');
    await stage.until(() => stage.hasAll(a.member));
    workerAt(a.member).items('of-a');
    const b = stage.start('b');
    await stage.pass(4_000);
    const before = stage.store.changes;
    const thaw = a.freeze();
    await stage.until(() => b.member.isHere(0));
    const answered = workerAt(b.member).items('of-b');
    await stage.pass(50);
    assert.equal(answered.value.results[0]?.decision, 'accept');
    // B is slow to look at its guard: A, which comes back just then, must not be the first.
    b.store.wire.fault = ({ does }) => (does === 'look' ? { there: 900 } : {});
    stage.store.failOver(stage.store.changes - before);
    assert.equal(stage.store.guard(0).member, a.ids[0]);
    thaw();
    await stage.pass(2 * TTL);
    assert.equal(b.member.isHere(0), true);
    assert.equal(a.member.isHere(0), false);
    const got = workerAt(b.member).acquire({ maxItemsPerTurn: 10 });
    await stage.pass(50);
    assert.deepEqual(
      got.value.deliveries.flatMap(({ items }) => items.map(({ itemId }) => itemId)),
      ['of-a', 'of-b'],
    );
  });

  it('S353: writes again within half a second when its connections last once more, however often they were lost in a row', async () => {
    const stage = new MembersStage(1);
    const a = stage.start('a');
    await stage.until(() => stage.hasAll(a.member));
    a.store.wire.fault = ({ does }) => (does === 'write' ? { lost: 'request' } : {});
    const worker = workerAt(a.member);
    worker.items('first');
    await stage.pass(15_000);
    assert.ok(a.member.isHere(0), 'registry and store answer');
    a.store.wire.fault = () => ({});
    const calls: ReturnType<typeof worker.items>[] = [];
    const took = await stage.until(() => {
      calls.push(worker.items(`item ${calls.length}`));
      return calls.some(({ outcome }) => outcome !== undefined && 'answer' in outcome);
    });
    // What was sent last is waited for first.
    assert.ok(took <= 1_000 + 500 + 50, `${took} ms`);
  });

  it('S337: whose wall clock jumps an hour tells nothing until registry and store have answered, and loses nothing', async () => {
    for (const step of [3_600_000, -3_600_000]) {
      const stage = new MembersStage();
      const a = stage.start('a');
      await stage.until(() => stage.hasAll(a.member));
      // Until then nobody claims, because it has just begun.
      await stage.pass(TTL);
      const call = workerAt(a.member).enQueue();
      await stage.pass(50);
      assert.ok(call.value.decision === 'accept');
      a.stepWall(step);
      assert.equal(a.member.isLive, step < 0);
      const took = await stage.until(() => a.member.isLive && stage.hasAll(a.member), 1_500);
      assert.ok(took <= 1_200, `${took} ms`);
      assert.deepEqual(a.ids.length, 1, 'its session went on');
      assert.equal(a.counts.numbers.claims.warm, step > 0 ? 4 : 0);
      const end = workerAt(a.member).end(call.value.turn);
      await stage.pass(50);
      assert.ok(end.value, 'its core is the same');
    }
  });

  it('S236: a member that begins leaves what ever had a home alone for the time of a session', async () => {
    const stage = new MembersStage();
    const a = stage.start('a');
    await stage.until(() => stage.hasAll(a.member));
    let hasLeft = false;
    void a.member.leave(10_000).then(() => {
      hasLeft = true;
    });
    await stage.until(() => hasLeft);
    const b = stage.start('b');
    await stage.pass(TTL - 100);
    assert.equal(stage.homesOf(b.member).length, 0);
    assert.match(b.member.whyNone(0), /may come back until the time of a session has passed/);
    const took = await stage.until(() => stage.hasAll(b.member));
    assert.ok(took <= 1_000, `${took} ms`);
  });

  it('S236: a guard that is gone is claimed by nobody, and the reason names the command', async () => {
    const stage = new MembersStage(1);
    const a = stage.start('a');
    await stage.until(() => stage.hasAll(a.member));
    const b = stage.start('b');
    await stage.pass(1_000);
    a.kill();
    stage.store.empty();
    await stage.pass(3 * TTL);
    assert.equal(b.member.isHere(0), false);
    assert.match(b.member.whyNone(0), /guard is gone.*has nothing of it in memory.*keyturn cluster restore all/);
  });

  it('S232: who leaves hands all over, with what was answered and not written yet, and others know at once', async () => {
    const stage = new MembersStage(8, {
      queues: { q: { durable: true, durability: 'interval', flushInterval: 60_000 } },
    });
    const a = stage.start('a');
    await stage.until(() => stage.hasAll(a.member));
    const b = stage.start('b');
    await stage.pass(5_000);
    const call = workerAt(a.member, 5).items('one');
    assert.equal(call.value.results[0]?.decision, 'accept');
    let hasLeft = false;
    void a.member.leave(10_000).then(() => {
      hasLeft = true;
    });
    let most = 0;
    await stage.until(() => {
      const standings = Array.from({ length: 8 }, (_, partition) => a.member.standing(partition));
      most = Math.max(most, standings.filter((at) => at === 'handing_over').length);
      return hasLeft;
    });
    assert.ok(most <= 8);
    await stage.until(() => stage.hasAll(b.member), 1_000);
    assert.deepEqual(
      stage.registry.members.map(({ id }) => id),
      b.ids,
    );
    const got = workerAt(b.member, 5).acquire();
    await stage.pass(50);
    assert.equal(got.value.deliveries[0]?.items[0]?.itemId, 'one');
  });

  it('S232: a hand-over that the store keeps up is called off after 2 s at the latest, and the home goes on', async () => {
    const stage = new MembersStage(1);
    const a = stage.start('a');
    await stage.until(() => stage.hasAll(a.member));
    const b = stage.start('b', { weight: 1_000 });
    a.store.wire.fault = ({ does }) => (does === 'write' ? { lost: 'request' } : {});
    workerAt(a.member).items('one');
    await stage.until(() => a.member.standing(0) === 'handing_over', 30_000);
    const took = await stage.until(() => a.member.standing(0) !== 'handing_over');
    assert.ok(took <= 2_100, `${took} ms`);
    a.store.wire.fault = () => ({});
    await stage.pass(8_000);
    assert.equal(a.member.isHere(0), true);
    await stage.until(() => b.member.isHere(0), 30_000);
    const got = workerAt(b.member).acquire();
    await stage.pass(50);
    assert.equal(got.value.deliveries[0]?.items[0]?.itemId, 'one');
  });

  it('S235: claims in the format that is fixed, if all members read it, and never in an older one than the rows have', async () => {
    const stage = new MembersStage(1);
    stage.store.record({ id: 'staged', partitions: 1, secret: 's', version: 1, routes: {}, format: 2 });
    const old = stage.start('old', { format: 1, weight: 0.001 });
    await stage.until(() => stage.hasAll(old.member));
    const young = stage.start('young', { format: 2, weight: 1_000 });
    await stage.until(() => young.member.isHere(0), 30_000);
    assert.equal(stage.store.guard(0).format, 1);
    old.kill();
    await stage.pass(4_000);
    stage.registry.endAll();
    await stage.until(() => young.member.isHere(0) && stage.store.guard(0).format === 2, 30_000);
    young.kill();
    const again = stage.start('old-again', { format: 1 });
    await stage.pass(3 * TTL);
    assert.equal(again.member.isHere(0), false);
  });

  it('tells of homes that changed, also elsewhere, and knows the same object for as long as it is the same home', async () => {
    const stage = new MembersStage(2);
    const a = stage.start('a');
    const b = stage.start('b', { weight: 0 });
    const changed: number[] = [];
    const end = b.member.onChange((partitions) => changed.push(...partitions));
    await stage.until(() => stage.hasAll(a.member));
    await stage.pass(1_000);
    assert.deepEqual([...new Set(changed)].sort(), [0, 1]);
    const home = b.member.home(0);
    assert.notEqual(home, undefined);
    assert.equal(b.member.isHere(0), false);
    await stage.pass(2_000);
    assert.equal(b.member.home(0), home);
    stage.registry.endAll();
    await stage.pass(2_000);
    assert.notEqual(b.member.home(0), home);
    end();
  });
});
