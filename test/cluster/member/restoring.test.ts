/** The store was emptied: what members keep, and what a person gets back. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Restoring } from '../../../src/cluster/member/restoring.js';
import type { ClusterRecord } from '../../../src/cluster/store/cluster-store.js';
import type {
  CandidateView,
  LeaderReport,
  ReportAnswer,
  RestoreRequest,
  RestoreView,
  Result,
} from '../../../src/coordinator.js';
import { leastToken } from '../../../src/core/structures/tokens.js';
import { Call } from '../../support/call.js';
import { MembersStage, TTL, workerAt } from './stage.js';

const RECORD: ClusterRecord = { id: 'ours', partitions: 4, secret: 's', version: 1, routes: {} };
const ALL: RestoreRequest = { partitions: [], acceptLoss: false };

type Staged = ReturnType<MembersStage['start']>;

class Scene {
  readonly stage = new MembersStage();

  async member(name: string, record = RECORD): Promise<Staged> {
    const { stage } = this;
    const started = stage.start(name, { cluster: record.id });
    const writing = started.store.record(record);
    await stage.pass(50);
    await writing;
    return started;
  }

  /** FLUSHALL of the one Redis that is store and registry. */
  flush(): void {
    this.stage.store.empty();
    this.stage.registry.empty();
  }

  /** Asks a sidecar that is itself no member. */
  async restore(change: Partial<RestoreRequest> = {}, record = RECORD): Promise<Result<RestoreView>> {
    const { stage } = this;
    const { clock } = stage;
    const [store, registry] = [stage.store.open('asked'), stage.registry.open('asked')];
    const restoring = new Restoring({ clock, store, registry, record: () => record, ttl: TTL, isEnded: () => false });
    let told: Result<RestoreView> | undefined;
    const asking = restoring.restore({ ...ALL, ...change }).then((result) => {
      told = result;
    });
    await stage.until(() => told !== undefined, 60_000);
    await asking;
    return told ?? assert.fail('nothing was told');
  }

  async submitted(at: Staged, partition: number, ...ids: string[]): Promise<void> {
    const call = workerAt(at.member, partition).items(...ids);
    await this.stage.pass(50);
    assert.equal(call.value.results.length, ids.length);
  }

  /** Ids of what is taken of a partition, one after the other, and the tokens. */
  async taken(at: Staged, partition: number): Promise<{ ids: string[]; tokens: number[] }> {
    const [ids, tokens]: [string[], number[]] = [[], []];
    for (;;) {
      const call = workerAt(at.member, partition).acquire({ wait: 0 });
      await this.stage.pass(50);
      const [delivery] = call.value.deliveries;
      if (delivery === undefined) return { ids, tokens };
      ids.push(...delivery.items.map(({ itemId }) => itemId));
      tokens.push(delivery.turn.token);
      workerAt(at.member, partition).ack(delivery.turn);
      await this.stage.pass(50);
    }
  }
}

function told(result: Result<RestoreView>): readonly string[] {
  if (!result.ok) assert.fail(JSON.stringify(result.refusal));
  return result.value.partitions.map(({ partition, outcome, member }) => `${partition} ${outcome} ${member}`.trim());
}

function refused(result: Result<RestoreView>): string {
  if (result.ok || result.refusal.kind !== 'not_possible') return assert.fail(JSON.stringify(result));
  return `${result.refusal.because}: ${result.refusal.description}`;
}

const PARTITION = 2;

async function inaugurated({ stage }: Scene, { member }: Staged, candidateId: string) {
  const call = new Call<CandidateView>();
  const times = { ttl: 60_000, inaugurateTimeout: 60_000, handOverTimeout: 60_000 };
  const stamp = { at: stage.clock.now(), by: `stream of ${candidateId}` };
  const said = { group: 'g', candidateId, stamp, metadata: new Map(), term: undefined, knows: undefined };
  workerAt(member, PARTITION);
  member.home(PARTITION)?.leaders.stand({ ...said, ...times }, call);
  await stage.pass(2_000);
  const { value } = call;
  return value.at === 'inaugurate' ? value : assert.fail(value.at);
}

async function said({ stage }: Scene, { member }: Staged, term: number, report: LeaderReport): Promise<ReportAnswer> {
  const call = new Call<ReportAnswer>();
  member.home(PARTITION)?.leaders.report({ group: 'g', term, report }, call);
  await stage.pass(50);
  return call.value;
}

describe('after the store was emptied', () => {
  it('S338: members keep their cores and begin nothing anew, however long it takes', async () => {
    const scene = new Scene();
    const { stage } = scene;
    const a = await scene.member('a');
    await stage.until(() => stage.hasAll(a.member));
    await scene.submitted(a, 1, 'one');
    scene.flush();
    await stage.pass(60_000);
    for (const partition of [0, 1, 2, 3]) {
      assert.equal(stage.store.guard(partition).epoch, 0);
      assert.equal(a.member.standing(partition), 'closed');
      assert.match(
        a.member.whyNone(partition),
        /record of the cluster is gone.*keeps it in memory.*keyturn cluster restore all/,
      );
    }
  });

  it('S339: all is written back from live members: items, their order, and tokens that grow', async () => {
    const scene = new Scene();
    const { stage } = scene;
    const a = await scene.member('a');
    await stage.until(() => stage.hasAll(a.member));
    for (const partition of [0, 1, 2, 3]) await scene.submitted(a, partition, 'one', 'two', 'three');
    const first = workerAt(a.member, 2).acquire();
    await stage.pass(50);
    const [held] = first.value.deliveries;
    assert.ok(held !== undefined);
    scene.flush();
    const result = await scene.restore();
    assert.deepEqual(told(result), ['0 written_back a', '1 written_back a', '2 written_back a', '3 written_back a']);
    assert.ok(result.ok && result.value.isRecordBack);
    assert.deepEqual(stage.store.recordNow, RECORD);
    await stage.until(() => stage.hasAll(a.member));
    assert.equal(stage.store.orders.size, 0);
    const ack = workerAt(a.member, 2).ack(held.turn);
    await stage.pass(50);
    assert.ok(ack.value, 'a turn that was held is held still');
    const { ids, tokens } = await scene.taken(a, 2);
    assert.deepEqual(ids, ['two', 'three']);
    assert.ok(tokens.every((token) => token > held.turn.token && token % 4 === 2));
    // And all of it is in the store: the next home has it.
    a.kill();
    const b = await scene.member('b');
    await stage.until(() => stage.hasAll(b.member));
    assert.deepEqual((await scene.taken(b, 3)).ids, ['one', 'two', 'three']);
    assert.match(refused(await scene.restore()), /^nothing_to_restore: .*every partition/);
    assert.match(refused(await scene.restore({ partitions: [3] })), /^nothing_to_restore: .*partition 3/);
  });

  it('S398: leaders keep their terms, and what was left for the next one', async () => {
    const scene = new Scene();
    const { stage } = scene;
    const a = await scene.member('a');
    await stage.until(() => stage.hasAll(a.member));
    const first = await inaugurated(scene, a, 'first');
    await said(scene, a, first.term, { kind: 'inaugurated' });
    await said(scene, a, first.term, { kind: 'handed_over', state: Buffer.from('offset 7') });
    const second = await inaugurated(scene, a, 'second');
    assert.equal(second.term % 4, PARTITION);
    scene.flush();
    assert.ok((await scene.restore()).ok);
    await stage.until(() => stage.hasAll(a.member));
    assert.deepEqual(await said(scene, a, second.term, { kind: 'alive' }), { counted: true, ttl: 60_000 });
    // And it is in the store: the next home has it.
    a.kill();
    const b = await scene.member('b');
    await stage.until(() => stage.hasAll(b.member));
    assert.deepEqual(await said(scene, b, second.term, { kind: 'alive' }), { counted: true, ttl: 60_000 });
    await said(scene, b, second.term, { kind: 'stopped' });
    const third = await inaugurated(scene, b, 'third');
    assert.ok(third.term > second.term);
    assert.equal(Buffer.from(third.state).toString(), 'offset 7');
  });

  it('S339: one partition alone: the others are kept, and claimed by nobody, not by one that joins either', async () => {
    const scene = new Scene();
    const { stage } = scene;
    const a = await scene.member('a');
    await stage.until(() => stage.hasAll(a.member));
    await scene.submitted(a, 3, 'one');
    scene.flush();
    assert.deepEqual(told(await scene.restore({ partitions: [1] })), ['1 written_back a']);
    const b = await scene.member('b');
    await stage.pass(30_000);
    assert.deepEqual(
      [0, 1, 2, 3].map((partition) => stage.store.guard(partition).epoch > 0),
      [false, true, false, false],
    );
    // Another sidecar goes on where the first one stopped.
    assert.deepEqual(told(await scene.restore()), ['0 written_back a', '2 written_back a', '3 written_back a']);
    await stage.until(() => a.member.isHere(3) || b.member.isHere(3));
    assert.deepEqual((await scene.taken(a.member.isHere(3) ? a : b, 3)).ids, ['one']);
  });

  it('S340: what no live member keeps begins empty only if the loss is accepted, with larger tokens', async () => {
    const scene = new Scene();
    const { stage } = scene;
    const a = await scene.member('a');
    await stage.until(() => stage.hasAll(a.member));
    await scene.submitted(a, 0, 'lost');
    const before = workerAt(a.member, 0).acquire();
    await stage.pass(50);
    const token = before.value.deliveries[0]?.turn.token ?? 0;
    const b = await scene.member('b');
    await stage.until(() => stage.shares(a, b).every((share) => share === 2), 60_000);
    const kept = stage.homesOf(b.member);
    await scene.submitted(b, kept[0] ?? 0, 'kept');
    a.kill();
    scene.flush();
    const first = await scene.restore();
    for (const line of told(first))
      assert.ok(line.endsWith(kept.includes(Number(line[0])) ? 'written_back b' : 'no_core'), line);
    await stage.pass(10_000);
    for (const one of [0, 1, 2, 3]) assert.equal(stage.store.guard(one).epoch > 0, kept.includes(one));
    const lost = [0, 1, 2, 3].filter((one) => !kept.includes(one));
    assert.deepEqual(
      told(await scene.restore({ acceptLoss: true })),
      lost.map((one) => `${one} begun_empty b`),
    );
    await stage.until(() => stage.hasAll(b.member));
    const [empty = 0] = lost;
    assert.deepEqual((await scene.taken(b, empty)).ids, []);
    await scene.submitted(b, empty, 'new');
    const { tokens } = await scene.taken(b, empty);
    assert.ok(tokens.length === 1 && tokens.every((one) => one > token && one > leastToken(stage.clock.wall())));
    assert.deepEqual((await scene.taken(b, kept[0] ?? 0)).ids.at(-1), 'kept');
  });

  // Members are listed by their ids.
  for (const [older, newer] of [
    ['a', 'b'],
    ['b', 'a'],
  ] as const)
    it(`S341: of two that keep a partition the one that claimed it last (${newer}) writes it back, and the other drops it`, async () => {
      const scene = new Scene();
      const { stage } = scene;
      const a = await scene.member(older);
      await stage.until(() => stage.hasAll(a.member));
      await scene.submitted(a, 0, 'old');
      const thaw = a.freeze();
      const b = await scene.member(newer);
      await stage.until(() => stage.hasAll(b.member));
      assert.deepEqual((await scene.taken(b, 0)).ids, ['old']);
      await scene.submitted(b, 0, 'new');
      scene.flush();
      thaw();
      await stage.pass(2_000);
      assert.deepEqual([a.member.standing(0), b.member.standing(0)], ['closed', 'closed']);
      assert.ok(told(await scene.restore()).includes(`0 written_back ${newer}`));
      await stage.until(() => b.member.isHere(0) && a.member.standing(0) === 'free');
      assert.deepEqual((await scene.taken(b, 0)).ids, ['new']);
    });

  it('S342: another cluster that began there drops nothing of what members keep; it is given up first, and then by consent', async () => {
    const scene = new Scene();
    const { stage } = scene;
    const a = await scene.member('a');
    await stage.until(() => stage.hasAll(a.member));
    await scene.submitted(a, 1, 'ours');
    scene.flush();
    const other = { ...RECORD, id: 'theirs', secret: 't' };
    const stranger = await scene.member('s', other);
    await stage.until(() => stage.hasAll(stranger.member));
    await scene.submitted(stranger, 1, 'theirs');
    await stage.pass(20_000);
    assert.equal(a.member.standing(1), 'closed');
    assert.match(a.member.whyNone(1), /another cluster began there/);
    assert.match(
      refused(await scene.restore({ acceptLoss: true })),
      /^not_restorable: .*sidecar s at s:1 lives; end it/,
    );
    stranger.kill();
    await stage.pass(TTL);
    assert.match(refused(await scene.restore()), /^other_cluster: .*--accept-loss/);
    assert.ok(told(await scene.restore({ acceptLoss: true })).includes('1 written_back a'));
    assert.deepEqual(stage.store.recordNow, RECORD);
    await stage.until(() => stage.hasAll(a.member));
    assert.deepEqual((await scene.taken(a, 1)).ids, ['ours']);
  });

  it('S338: a member that leaves then gives nothing away as handed over: it says that it is lost', async () => {
    const scene = new Scene();
    const { stage } = scene;
    const a = await scene.member('a');
    await stage.until(() => stage.hasAll(a.member));
    // The registry is another one, and still there.
    stage.store.empty();
    await stage.pass(500);
    const leaving = a.member.leave(5_000);
    await stage.pass(4_000);
    assert.ok(stage.troubles.some((text) => /there is no guard of partition 0/.test(text)));
    assert.equal(a.counts.numbers.moves, 0);
    await stage.pass(2_000);
    await leaving;
  });

  it('S339: it is asked again, by another sidecar, after the one that was asked ended halfway', async () => {
    const scene = new Scene();
    const { stage } = scene;
    const a = await scene.member('a');
    await stage.until(() => stage.hasAll(a.member));
    await scene.submitted(a, 2, 'one');
    scene.flush();
    await stage.pass(3_000);
    // It had come as far as this.
    const ended = stage.store.open('ended').restoreRecord(RECORD, '', [0, 1, 2, 3]);
    await stage.pass(10_000);
    assert.ok(await ended);
    assert.deepEqual([...stage.store.orders.keys()], [0, 1, 2, 3]);
    assert.deepEqual(told(await scene.restore()).length, 4);
    await stage.until(() => stage.hasAll(a.member));
    assert.deepEqual((await scene.taken(a, 2)).ids, ['one']);
  });

  const steps = ['restoreRecord', 'order', 'ordered'] as const;
  for (const step of steps)
    for (const lost of ['request', 'answer'] as const)
      it(`S339: the sidecar that was asked is killed at ${step}, ${lost} lost: another one ends it, and nothing is lost`, async () => {
        const scene = new Scene();
        const { stage } = scene;
        const a = await scene.member('a');
        await stage.until(() => stage.hasAll(a.member));
        for (const partition of [0, 1, 2, 3]) await scene.submitted(a, partition, 'one', 'two');
        scene.flush();
        const [store, registry] = [stage.store.open('killed'), stage.registry.open('killed')];
        let isKilled = false;
        store.wire.fault = ({ does }) => {
          if (does !== step) return {};
          isKilled = true;
          store.wire.crash();
          return lost === 'request' ? { lost } : {};
        };
        const { clock } = stage;
        const asked = { clock, store, registry, record: () => RECORD, ttl: TTL, isEnded: () => isKilled };
        void new Restoring(asked).restore(ALL);
        await stage.until(() => isKilled, 30_000);
        await stage.pass(1_000);
        // What was not ordered yet is claimed by nobody, by one that joins neither; without a record none does.
        const joins = stage.store.recordNow === undefined ? a : await scene.member('b');
        await stage.pass(5_000);
        const result = await scene.restore();
        const isThere = !result.ok && refused(result).startsWith('nothing_to_restore');
        assert.ok(
          isThere || told(result).every((line) => / (written_back|not_lost)/.test(line)),
          JSON.stringify(result),
        );
        const homeOf = (one: number) => [a, joins].find(({ member }) => member.isHere(one));
        await stage.until(() => [0, 1, 2, 3].every((one) => homeOf(one) !== undefined), 60_000);
        await stage.pass(1_000);
        assert.equal(stage.store.orders.size, 0, 'nothing is left of it');
        for (const one of [0, 1, 2, 3])
          assert.deepEqual((await scene.taken(homeOf(one) ?? a, one)).ids, ['one', 'two'], `partition ${one}`);
      });

  for (const step of ['stage', 'switch'] as const)
    for (const lost of ['request', 'answer'] as const)
      it(`S339: the member that keeps it is killed at ${step}, ${lost} lost: it is whole, or told as lost`, async () => {
        const scene = new Scene();
        const { stage } = scene;
        const a = await scene.member('a');
        await stage.until(() => stage.hasAll(a.member));
        for (const partition of [0, 1, 2, 3]) await scene.submitted(a, partition, 'one', 'two');
        scene.flush();
        let isKilled = false;
        a.store.wire.fault = ({ does, partition }) => {
          if (does !== step || partition !== 2 || isKilled) return {};
          isKilled = true;
          a.kill();
          return lost === 'request' ? { lost } : {};
        };
        const result = await scene.restore({ partitions: [2] });
        assert.ok(isKilled);
        const b = await scene.member('b');
        await stage.pass(3 * TTL);
        const isWhole = step === 'switch' && lost === 'answer';
        assert.deepEqual(told(result), [isWhole ? '2 written_back a' : '2 under_way a']);
        assert.equal(stage.store.guard(2).epoch > 0, isWhole);
        assert.equal(b.member.isHere(2), isWhole);
        if (isWhole) assert.deepEqual((await scene.taken(b, 2)).ids, ['one', 'two']);
        else assert.deepEqual(told(await scene.restore({ partitions: [2] })), ['2 no_core']);
      });

  it('S339: of a record that alone is gone only that is put back: partitions go on, and are ordered nothing', async () => {
    const scene = new Scene();
    const { stage } = scene;
    const a = await scene.member('a');
    await stage.until(() => stage.hasAll(a.member));
    await scene.submitted(a, 1, 'one');
    const before = [0, 1, 2, 3].map((one) => stage.store.guard(one).epoch);
    stage.store.dropRecord();
    await stage.pass(1_000);
    const restoring = scene.restore();
    await stage.until(() => stage.store.recordNow !== undefined, 30_000);
    assert.equal(stage.store.orders.size, 0);
    const result = await restoring;
    assert.deepEqual(told(result), []);
    assert.ok(result.ok && result.value.isRecordBack);
    await stage.until(() => stage.hasAll(a.member));
    assert.deepEqual(
      [0, 1, 2, 3].map((one) => stage.store.guard(one).epoch),
      before,
    );
    assert.deepEqual((await scene.taken(a, 1)).ids, ['one']);
  });

  it('S339: a sidecar that knows older routes than a member puts no record back, and names who does', async () => {
    const scene = new Scene();
    const { stage } = scene;
    const a = stage.start('a', { cluster: RECORD.id, routes: 2 });
    const writing = a.store.record(RECORD);
    await stage.until(() => stage.hasAll(a.member));
    await writing;
    scene.flush();
    assert.match(refused(await scene.restore()), /^not_restorable: a knows a newer record .*ask that one, at a:2/);
    assert.equal(stage.store.recordNow, undefined);
  });

  for (const emptied of ['store', 'store and registry'])
    it(`S404: what else than routes was changed is not lost to an older record (${emptied}): the member to ask is named`, async () => {
      const scene = new Scene();
      const { stage } = scene;
      const first = stage.store.open('first').record(RECORD);
      await stage.pass(50);
      await first;
      const a = await scene.member('a');
      await stage.until(() => stage.hasAll(a.member));
      const b = await scene.member('b');
      const pinned: ClusterRecord = { ...RECORD, revision: 2, pins: { 1: { name: 'a', at: 2 } } };
      const fixed: ClusterRecord = { ...pinned, revision: 3, format: 2 };
      for (const [before, record] of [
        [1, pinned],
        [2, fixed],
      ] as const) {
        const writing = a.store.changeRecord(before, record);
        await stage.until(() => [a, b].every(({ routes }) => routes.revision === record.revision));
        assert.ok(await writing);
      }
      stage.store.empty();
      if (emptied !== 'store') stage.registry.empty();
      // The versions of their routes are the same.
      for (const behind of [RECORD, pinned])
        assert.match(
          refused(await scene.restore({}, behind)),
          /^not_restorable: [ab] knows a newer record .*ask that one, at [ab]:2/,
        );
      assert.equal(stage.store.recordNow, undefined);
      assert.equal(stage.store.guard(0).epoch, 0);
      assert.ok((await scene.restore({}, fixed)).ok);
      assert.deepEqual(stage.store.recordNow, fixed);
      await stage.pass(1_000);
      assert.deepEqual(stage.store.recordNow, fixed);
    });

  it('S339: a member that lives, and does not say what it keeps, is waited for, then named: nothing is put back', async () => {
    const scene = new Scene();
    const { stage } = scene;
    const a = await scene.member('a');
    await stage.until(() => stage.hasAll(a.member));
    await scene.submitted(a, 1, 'one');
    a.store.wire.cut = 'requests';
    scene.flush();
    assert.match(
      refused(await scene.restore({ acceptLoss: true })),
      /^not_restorable: a at a:1 lives and does not say what it keeps in memory; look at its log/,
    );
    assert.equal(stage.store.recordNow, undefined);
    a.store.wire.cut = undefined;
    assert.equal(told(await scene.restore()).length, 4);
    await stage.until(() => stage.hasAll(a.member));
    assert.deepEqual((await scene.taken(a, 1)).ids, ['one']);
  });

  it('S339: one call at a time, and a record that others change as often as it is put back is told', async () => {
    const scene = new Scene();
    const { stage } = scene;
    const a = await scene.member('a');
    await stage.until(() => stage.hasAll(a.member));
    scene.flush();
    const [store, registry] = [stage.store.open('asked'), stage.registry.open('asked')];
    store.restoreRecord = async () => false;
    const { clock } = stage;
    const asked = { clock, store, registry, record: () => RECORD, ttl: TTL, isEnded: () => false };
    const restoring = new Restoring(asked);
    const both = Promise.all([restoring.restore(ALL), restoring.restore(ALL)]);
    let results: Awaited<typeof both> | undefined;
    void both.then((all) => {
      results = all;
    });
    await stage.until(() => results !== undefined, 30_000);
    const [first, second] = await both;
    assert.match(refused(first), /^not_restorable: the record of the cluster changes while it is put back/);
    assert.match(refused(second), /^not_restorable: this sidecar restores already/);
    assert.equal(stage.store.recordNow, undefined);
  });

  it('S338: where the record is that of another cluster nothing is claimed, not by who never saw a guard either', async () => {
    const scene = new Scene();
    const { stage } = scene;
    stage.store.record({ ...RECORD, id: 'theirs' });
    const a = stage.start('a', { cluster: RECORD.id });
    await stage.pass(5 * TTL);
    assert.deepEqual([stage.store.guard(0).epoch, a.member.standing(0)], [0, 'free']);
  });

  it('S339: a home that is open still, for its registry is another one, waits for the order too', async () => {
    const scene = new Scene();
    const { stage } = scene;
    const a = await scene.member('a');
    await stage.until(() => stage.hasAll(a.member));
    await scene.submitted(a, 2, 'one');
    stage.store.empty();
    await stage.pass(1_000);
    assert.deepEqual(told(await scene.restore({ partitions: [1] })), ['1 written_back a']);
    await stage.pass(3_000);
    assert.deepEqual(
      [0, 1, 2, 3].map((partition) => stage.store.guard(partition).epoch > 0),
      [false, true, false, false],
    );
    assert.equal(told(await scene.restore()).length, 3);
    await stage.until(() => stage.hasAll(a.member));
    assert.deepEqual((await scene.taken(a, 2)).ids, ['one']);
  });

  it('S339: a partition that there is not is refused', async () => {
    const result = await new Scene().restore({ partitions: [0, 4] });
    assert.ok(!result.ok && result.refusal.kind === 'bad_request');
    assert.deepEqual(result.refusal.violations, [
      { field: 'partitions[1]', description: '4 is not allowed; allowed: 0 to 3' },
    ]);
  });
});
