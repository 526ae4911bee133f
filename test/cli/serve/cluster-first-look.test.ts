/** A sidecar that starts in a store that was emptied a moment ago, while the members of its cluster are on their way back. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CommandFailure } from '../../../src/cli/failure.js';
import { agreeAfterLook } from '../../../src/cli/serve/cluster/first-look.js';
import type { ClusterRecord } from '../../../src/cluster/store/cluster-store.js';
import { CLUSTER_DEFAULTS } from '../../../src/config/cluster-settings.js';
import { MembersStage, TTL } from '../../cluster/member/stage.js';

const OURS: ClusterRecord = { id: 'ours', partitions: 4, secret: 's', version: 1, routes: {} };

/** Starts a sidecar as far as its record. */
function starting(stage: MembersStage, name: string) {
  const seen: { record?: ClusterRecord; failure?: string } = {};
  const [store, registry] = [stage.store.open(name), stage.registry.open(name)];
  const { clock } = stage;
  const cluster = { ...CLUSTER_DEFAULTS, partitions: 4 };
  agreeAfterLook({ store, registry, cluster, settings: { queues: new Map() }, clock }).then(
    (record) => {
      seen.record = record;
    },
    (error: unknown) => {
      assert.ok(error instanceof CommandFailure, String(error));
      seen.failure = error.message;
    },
  );
  return seen;
}

async function ours(): Promise<MembersStage> {
  const stage = new MembersStage();
  stage.store.record(OURS);
  const a = stage.start('a', { cluster: OURS.id });
  const writing = a.store.record(OURS);
  await stage.until(() => stage.hasAll(a.member));
  await writing;
  return stage;
}

const MOMENTS = [0, 100, 500, 1_500];
for (const later of MOMENTS)
  test(`S349: that starts ${later} ms before a member is back begins no cluster: its record goes, and it says S310`, async () => {
    const stage = await ours();
    const a = stage.only;
    // Its Redis comes back empty, and it needs so long to reach it.
    a.registry.wire.cut = 'both';
    stage.store.empty();
    stage.registry.empty();
    const [first, second] = [starting(stage, 'x'), starting(stage, 'y')];
    await stage.pass(later);
    a.registry.wire.cut = undefined;
    await stage.pass(4_000);
    for (const { record, failure } of [first, second]) {
      assert.equal(record, undefined);
      assert.match(failure ?? '', /no record of the cluster keyturn .* 1 of its members live, a at a:1 among them/);
    }
    assert.equal(stage.store.recordNow, undefined);
    assert.equal(a.member.standing(0), 'closed');
  });

test('S349: in a store that is new it begins after 2 s, those that start beside it follow it, and later ones need not wait', async () => {
  const stage = new MembersStage();
  const first = starting(stage, 'x');
  await stage.pass(1_000);
  const second = starting(stage, 'y');
  await stage.pass(900);
  assert.deepEqual([first, second], [{}, {}]);
  await stage.pass(300);
  assert.ok(first.record !== undefined);
  stage.start('x', { cluster: first.record.id });
  await stage.pass(1_200);
  assert.deepEqual(second.record, first.record);
  const third = starting(stage, 'z');
  await stage.pass(100);
  assert.deepEqual(third.record, first.record);
});

test('S349: beside members of a cluster that was put back, and has not claimed anything yet, it takes nothing back', async () => {
  const stage = await ours();
  const a = stage.only;
  stage.store.empty();
  await stage.pass(500);
  const restored = stage.store.open('asked').restoreRecord(OURS, '', [0, 1, 2, 3]);
  await stage.pass(50);
  assert.ok(await restored);
  stage.start('stranger', { cluster: 'theirs' });
  await stage.pass(50);
  const started = starting(stage, 'x');
  await stage.pass(TTL);
  assert.deepEqual(started.record, OURS);
  assert.deepEqual(stage.store.recordNow, OURS);
  assert.equal(a.member.view.standing, 'own');
});

test('S349: a record that is taken back again and again is not gone on with: it says so', async () => {
  const stage = new MembersStage();
  const started = starting(stage, 'x');
  for (let ms = 0; ms < 20_000; ms += 100) {
    await stage.pass(100);
    const { recordNow } = stage.store;
    if (recordNow !== undefined) stage.store.empty();
  }
  assert.equal(started.record, undefined);
  assert.match(
    started.failure ?? '',
    /record of the cluster keyturn in .* was taken back 6 times while this sidecar began/,
  );
});
