/** The format of rows, fixed by a person after an upgrade. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { finalize } from '../../../src/cluster/member/finalizing.js';
import type { ClusterRecord } from '../../../src/cluster/store/cluster-store.js';
import { formatOf } from '../../../src/cluster/store/format.js';
import { MembersStage } from './stage.js';

const RECORD: ClusterRecord = { id: 'ours', partitions: 4, secret: 's', version: 1, routes: {} };

/** Members that read rows up to these formats. */
async function finalized(formats: readonly number[], format: number, cluster = 'ours') {
  const stage = new MembersStage();
  for (const [at, reads] of formats.entries()) {
    const { store } = stage.start(`m${at}`, { format: reads, cluster: 'ours' });
    void store.record(RECORD);
  }
  await stage.pass(2_000);
  const [store, registry] = [stage.store.open('asked'), stage.registry.open('asked')];
  let told: Awaited<ReturnType<typeof finalize>> | undefined;
  void finalize({ store, registry, cluster, format }).then((result) => {
    told = result;
  });
  await stage.until(() => told !== undefined);
  return { stage, told };
}

it('S345: what all members read becomes the format of rows, and partitions are written in it', async () => {
  const { stage, told } = await finalized([2, 2], 2);
  assert.deepEqual(told, { ok: true, value: { format: 2, isChanged: true } });
  assert.deepEqual(stage.store.recordNow, { ...RECORD, format: 2, revision: 2 });
  const formats = () => [0, 1, 2, 3].map((partition) => stage.store.guard(partition).format);
  assert.deepEqual(formats(), [1, 1, 1, 1], 'a version that cannot read the new one could have come back until now');
  stage.registry.endAll();
  await stage.until(() => formats().every((one) => one === 2), 60_000);
});

it('S345: a member that cannot read it is named, and nothing is changed', async () => {
  const { stage, told } = await finalized([2, 1], 2);
  assert.ok(told?.ok === false && told.refusal.kind === 'not_possible');
  assert.match(told.refusal.description, /^rows cannot be fixed in format 2: m1 \(version 1, up to format 1\) cannot/);
  assert.deepEqual(stage.store.recordNow, RECORD);
});

it('S345: nothing is to be finalized when rows have that format already', async () => {
  const { stage, told } = await finalized([1, 1], 1);
  assert.deepEqual(told, { ok: true, value: { format: 1, isChanged: false } });
  assert.deepEqual(stage.store.recordNow, RECORD);
  assert.equal(formatOf(RECORD), 1, 'the first member need not say so');
});

it('S345: the record of another cluster is not changed', async () => {
  const { stage, told } = await finalized([2], 2, 'another');
  assert.ok(told?.ok === false && told.refusal.kind === 'store_unavailable');
  assert.deepEqual(stage.store.recordNow, RECORD);
});
