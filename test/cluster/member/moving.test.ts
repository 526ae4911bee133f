/** A person moves a partition: the members follow the record, and the answer says what became of it. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Moving } from '../../../src/cluster/member/moving.js';
import type { ClusterRecord } from '../../../src/cluster/store/cluster-store.js';
import type { MoveView, Result } from '../../../src/coordinator.js';
import { MembersStage, TTL, workerAt } from './stage.js';

const RECORD: ClusterRecord = { id: 'c', partitions: 8, secret: 's', version: 1, routes: {} };
const HOUR = 3_600_000;

/** Members of whom `a` has everything, for longer than any of them is new. */
async function scene(...others: string[]) {
  const stage = new MembersStage(8);
  stage.store.record(RECORD);
  stage.isLinked = true;
  const a = stage.start('a');
  await stage.until(() => stage.hasAll(a.member));
  const members = others.map((name) => stage.start(name, { weight: 0.000_001 }));
  await stage.pass(5_000);
  // A gateway: it has the store and the registry, and nothing else.
  const { clock } = stage;
  const gateway = { store: stage.store.open('gateway'), registry: stage.registry.open('gateway') };
  let isEnded = false;
  const moving = new Moving({ clock, ...gateway, record: RECORD, isEnded: () => isEnded });
  const end = () => {
    isEnded = true;
  };
  return { stage, a, members, moving, gateway, end };
}

async function outcome(stage: MembersStage, call: Promise<Result<MoveView>>): Promise<Result<MoveView>> {
  let answer: Result<MoveView> | undefined;
  let failure: unknown;
  call.then(
    (result) => (answer = result),
    (error: unknown) => (failure = error),
  );
  await stage.until(() => answer !== undefined || failure !== undefined, 30_000);
  if (answer === undefined) throw failure;
  return answer;
}

async function moved(stage: MembersStage, call: Promise<Result<MoveView>>): Promise<MoveView> {
  const answer = await outcome(stage, call);
  assert.ok(answer.ok, JSON.stringify(answer));
  return answer.value;
}

function whyNot(answer: Result<MoveView>): string {
  const refusal = answer.ok ? undefined : answer.refusal;
  return refusal !== undefined && 'description' in refusal ? `${refusal.kind}: ${refusal.description}` : '';
}

describe('a partition that a person moves', () => {
  it('S332: is at the member that was named when the answer comes, with all that it had, and the answer says how long it paused', async () => {
    const { stage, a, members, moving } = await scene('b', 'c');
    workerAt(a.member, 3).items('one');
    await stage.pass(50);
    const begun = stage.clock.now();
    const view = await moved(stage, moving.move({ partition: 3, member: 'c' }));
    const c = members[1];
    assert.equal(c?.member.isHere(3), true);
    assert.deepEqual(
      { ...view, paused: 0 },
      { state: 'moved', member: 'c-0', name: 'c', previous: 'a', paused: 0, why: '' },
    );
    assert.ok(view.paused !== undefined && view.paused > 0 && view.paused <= 100, `${view.paused} ms`);
    assert.ok(stage.clock.now() - begun < 1_000, `after ${stage.clock.now() - begun} ms`);
    const got = workerAt(c?.member ?? assert.fail(), 3).acquire();
    await stage.pass(50);
    assert.equal(got.value.deliveries[0]?.items[0]?.itemId, 'one');
    assert.equal(stage.homesOf(a.member).length, 7);
  });

  it('S330: stays there, though even shares would have it elsewhere, until it is released', async () => {
    const { stage, a, members, moving } = await scene('b');
    const b = members[0] ?? assert.fail();
    await moved(stage, moving.move({ partition: 3, member: 'b' }));
    await stage.pass(60_000);
    assert.deepEqual(stage.homesOf(b.member), [3]);
    const released = await moved(stage, moving.move({ partition: 3, member: undefined }));
    assert.deepEqual([released.state, released.name], ['released', 'b']);
    await stage.pass(60_000);
    assert.ok(stage.hasAll(a.member));
    assert.equal((await moved(stage, moving.move({ partition: 3, member: undefined }))).state, 'released');
  });

  it('S330: has another home when its member dies, and is back 15 s after that one is back under its name', async () => {
    const { stage, a, members, moving } = await scene('b');
    await moved(stage, moving.move({ partition: 3, member: 'b' }));
    members[0]?.kill();
    const took = await stage.until(() => stage.hasAll(a.member));
    assert.ok(took <= TTL + 1_000, `${took} ms`);
    const again = stage.start('b', { id: 'another-incarnation', weight: 0.000_001 });
    await stage.pass(14_000);
    assert.ok(!again.member.isHere(3));
    await stage.until(() => again.member.isHere(3), 5_000);
  });

  it('S330: is not kept for a member that was not seen for an hour', async () => {
    const { stage, members, moving, gateway } = await scene('b');
    await moved(stage, moving.move({ partition: 3, member: 'b' }));
    members[0]?.kill();
    await stage.pass(5_000);
    const pins = async () => {
      const sight = gateway.store.look(0);
      await stage.pass(50);
      return Object.keys((await sight).record?.pins ?? {});
    };
    stage.clock.advance(HOUR - 60_000);
    await stage.pass(1_000);
    assert.deepEqual(await pins(), ['3']);
    stage.clock.advance(61_000);
    await stage.pass(1_000);
    assert.deepEqual(await pins(), []);
  });

  it('S332: is there already: that is said, and it is kept there from now on', async () => {
    const { stage, a, moving } = await scene('b');
    const view = await moved(stage, moving.move({ partition: 3, member: 'a' }));
    assert.deepEqual([view.state, view.name, view.paused], ['already_there', 'a', undefined]);
    assert.equal(a.member.view.pins.size, 0);
    await stage.pass(500);
    assert.equal(a.member.view.pins.get(3)?.name, 'a');
  });

  it('S332: goes to a member that has just begun when that one may claim, and pauses no longer', async () => {
    const { stage, moving } = await scene();
    const b = stage.start('b', { weight: 0.000_001 });
    await stage.pass(500);
    const view = await moved(stage, moving.move({ partition: 3, member: 'b' }));
    assert.ok(b.member.isHere(3));
    assert.deepEqual(stage.handedOver, [[3, 'b']], 'once');
    assert.ok(view.paused !== undefined && view.paused <= 100, `${view.paused} ms`);
  });

  it('S332: of a home that is dead it goes to that member when the session is over', async () => {
    const { stage, a, members, moving } = await scene('b', 'c', 'd');
    a.kill();
    const view = await moved(stage, moving.move({ partition: 3, member: 'd' }));
    assert.deepEqual([view.state, view.name, view.paused], ['moved', 'd', undefined]);
    assert.ok(members[2]?.member.isHere(3));
  });

  it('S332: that was asked for twice goes where the last call says, and the first one is told', async () => {
    const { stage, a, members, moving } = await scene('b', 'c');
    // Neither is done before both are written.
    a.store.wire.cut = 'requests';
    a.registry.wire.fault = () => ({});
    const first = moving.move({ partition: 3, member: 'b' });
    await stage.pass(100);
    const second = moving.move({ partition: 3, member: 'c' });
    await stage.pass(100);
    a.store.wire.cut = undefined;
    const [one, two] = [outcome(stage, first), outcome(stage, second)];
    assert.match(whyNot(await one), /not_possible: partition 3: another call moved it to c meanwhile/);
    const view = await two;
    assert.ok(view.ok);
    assert.ok(members[1]?.member.isHere(3));
  });

  it('S332: goes on, and is waited for, though store and registry do not answer for a while', async () => {
    const { stage, members, moving, gateway } = await scene('b');
    const call = moving.move({ partition: 3, member: 'b' });
    await stage.pass(20);
    gateway.registry.wire.cut = 'answers';
    gateway.store.wire.cut = 'answers';
    await stage.pass(3_000);
    assert.ok(members[0]?.member.isHere(3));
    gateway.registry.wire.cut = undefined;
    gateway.store.wire.cut = undefined;
    assert.equal((await moved(stage, call)).state, 'moved');
    const again = moving.move({ partition: 3, member: 'a' });
    await stage.pass(20);
    gateway.registry.wire.cut = 'answers';
    const view = await moved(stage, again);
    assert.deepEqual([view.state, view.name], ['under_way', 'a']);
    assert.match(view.why, /^not known after 20 s: .*fake registry of gateway/);
  });

  it('S332: whose member dies before it has it is told after 20 s, and goes on as if nobody had moved it', async () => {
    const { stage, a, members, moving } = await scene('b');
    members[0]?.kill();
    const view = await moved(stage, moving.move({ partition: 3, member: 'b' }));
    assert.equal(view.state, 'under_way');
    assert.match(view.why, /^not done after 20 s: b is not a member now; it gets the partition when it is one again/);
    await stage.until(() => a.member.isHere(3), 5_000);
  });

  it('S332: that cannot be written down is told what its home is in the way with, after 20 s', async () => {
    const { stage, a, moving } = await scene('b');
    a.store.wire.fault = ({ does }) => (does === 'write' ? { lost: 'request' } : {});
    workerAt(a.member, 3).items('one');
    const view = await moved(stage, moving.move({ partition: 3, member: 'b' }));
    assert.deepEqual([view.state, view.previous], ['under_way', 'a']);
    assert.match(view.why, /a has not handed it over; one that takes longer than 2 s is called off/);
  });

  const refused: readonly [what: string, partition: number, member: string, why: RegExp][] = [
    ['of a member that there is not', 3, 'nobody', /not_possible: there is no member "nobody"; there are /],
    ['to one that owns nothing', 3, 'gate', /gate gate-0 is a gateway \(weight 0\)/],
    ['to one that reads older rows', 3, 'old', /old old-0 \(version 1\) reads rows up to format 0/],
    ['to one that leaves', 3, 'away', /away away-0 is leaving/],
  ];
  for (const [what, partition, member, why] of refused)
    it(`S331: a move ${what} is refused, and changes nothing`, async () => {
      const { stage, moving, gateway } = await scene();
      stage.start('gate', { weight: 0 });
      stage.start('old', { format: 0, weight: 0.1 });
      stage.start('away', { isLeaving: true });
      await stage.pass(500);
      assert.match(whyNot(await outcome(stage, moving.move({ partition, member }))), why);
      const sight = gateway.store.look(0);
      await stage.pass(50);
      assert.equal((await sight).record?.pins, undefined);
    });

  for (const partition of [8, -1, 0.5])
    it(`S331: there is no partition ${partition}`, async () => {
      const { stage, moving } = await scene();
      const answer = await outcome(stage, moving.move({ partition, member: 'a' }));
      assert.ok(!answer.ok && answer.refusal.kind === 'bad_request');
      assert.deepEqual(answer.refusal.violations[0]?.description, `${partition} is not allowed; allowed: 0 to 7`);
    });

  it('S332: more than 16 moves at once by way of one sidecar are refused, and one ends with its sidecar', async () => {
    const { stage, members, moving, end } = await scene('b');
    members[0]?.kill();
    const waiting = Array.from({ length: 16 }, () => moving.move({ partition: 3, member: 'b' }));
    await stage.pass(50);
    assert.match(whyNot(await outcome(stage, moving.move({ partition: 4, member: 'b' }))), /^limit: no more than 16 /);
    end();
    const answers: Result<MoveView>[] = [];
    for (const call of waiting) answers.push(await outcome(stage, call));
    assert.ok(answers.some((answer) => !answer.ok && answer.refusal.kind === 'draining'));
    const next = await outcome(stage, moving.move({ partition: 4, member: 'x' }));
    assert.match(whyNot(next), /there is no member "x"/);
  });

  it('S332: without a record, as after FLUSHALL, nothing is moved and nothing is written', async () => {
    const { stage, moving } = await scene('b');
    stage.store.empty();
    assert.match(
      whyNot(await outcome(stage, moving.move({ partition: 3, member: 'b' }))),
      /the record of this cluster is not in its store.*keyturn cluster restore all/,
    );
    assert.equal(stage.store.recordNow, undefined);
    const other = { ...RECORD, id: 'another one' };
    stage.store.record(other);
    assert.match(
      whyNot(await outcome(stage, moving.move({ partition: 3, member: 'b' }))),
      /the record of this cluster is not in its store.*keyturn cluster restore all/,
    );
    assert.deepEqual(stage.store.recordNow, other);
  });

  for (const after of ['nothing', 'another cluster'])
    it(`S332: of a store that is emptied meanwhile, and has ${after} then, says that, and not that somebody took it back`, async () => {
      const { stage, a, moving } = await scene('b');
      a.store.wire.cut = 'requests';
      const call = moving.move({ partition: 3, member: 'b' });
      await stage.pass(200);
      stage.store.empty();
      if (after !== 'nothing')
        stage.store.record({ ...RECORD, id: 'another one', pins: { 3: { name: 'x', at: 2 } }, revision: 2 });
      assert.match(whyNot(await outcome(stage, call)), /the record of this cluster is not in its store.*restore all/);
    });

  it('S333: takes no more than its looks when the next home cannot be told, and then nobody says how long it paused', async () => {
    const { stage, moving } = await scene('b');
    stage.isLinked = false;
    const begun = stage.clock.now();
    const view = await moved(stage, moving.move({ partition: 3, member: 'b' }));
    assert.ok(stage.clock.now() - begun < 1_000, `after ${stage.clock.now() - begun} ms`);
    // Who was not told does not know when it began.
    assert.deepEqual([view.state, view.paused], ['moved', undefined]);
  });
});
