/** What a sidecar of a cluster agrees with before it joins. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CommandFailure } from '../../../src/cli/failure.js';
import { agree } from '../../../src/cli/serve/cluster/record.js';
import type { Member } from '../../../src/cluster/registry/registry.js';
import type { ClusterRecord } from '../../../src/cluster/store/cluster-store.js';
import { FORMAT } from '../../../src/cluster/store/format.js';
import { CLUSTER_DEFAULTS } from '../../../src/config/cluster-settings.js';

const SETTINGS = { queues: new Map() };
const ALPHA: Member = {
  id: 'a1',
  name: 'alpha',
  address: '10.0.0.1:7423',
  grpc: '10.0.0.1:7420',
  version: '1',
  format: 1,
  weight: 1,
  isLeaving: false,
  routes: 1,
};

function storeWith(found: ClusterRecord | undefined) {
  let record = found;
  return {
    name: 'redis://store:6379',
    get found() {
      return record;
    },
    hasRecord: async () => record !== undefined,
    importUnderWay: async () => undefined,
    record: async (wanted: ClusterRecord) => (record ??= wanted),
  };
}

test('the first sidecar writes the record, and the next one finds it beside the first', async () => {
  const store = storeWith(undefined);
  const first = await agree(store, [], CLUSTER_DEFAULTS, SETTINGS);
  assert.deepEqual(await agree(store, [ALPHA], CLUSTER_DEFAULTS, SETTINGS), first);
});

test('S310: beside members that live nobody begins with a record of its own in a store that was emptied', async () => {
  const store = storeWith(undefined);
  await assert.rejects(agree(store, [ALPHA], CLUSTER_DEFAULTS, SETTINGS), (error: unknown) => {
    assert.ok(error instanceof CommandFailure);
    assert.match(error.message, /no record of the cluster keyturn in redis:\/\/store:6379/);
    assert.match(error.message, /1 of its members live, alpha at 10\.0\.0\.1:7423/);
    return true;
  });
  assert.equal(store.found, undefined);
});

for (const said of [64, 16]) {
  test(`S355: a sidecar that says ${said} partitions beside a cluster of 8 does not join, and hears both numbers`, async () => {
    const store = storeWith(undefined);
    await agree(store, [], { ...CLUSTER_DEFAULTS, partitions: 8 }, SETTINGS);
    await assert.rejects(agree(store, [ALPHA], { ...CLUSTER_DEFAULTS, partitions: said }, SETTINGS), {
      name: 'CommandFailure',
      message: new RegExp(`^cluster\\.partitions: is ${said}, but the cluster keyturn has 8, and that never changes`),
    });
  });
}

test('S355: a sidecar that says nothing of partitions follows the cluster, and begins one of 64', async () => {
  const eight = storeWith(undefined);
  await agree(eight, [], { ...CLUSTER_DEFAULTS, partitions: 8 }, SETTINGS);
  assert.equal((await agree(eight, [ALPHA], CLUSTER_DEFAULTS, SETTINGS)).partitions, 8);
  assert.equal((await agree(storeWith(undefined), [], CLUSTER_DEFAULTS, SETTINGS)).partitions, 64);
});

test('S345: a cluster that is new begins in the newest format of rows', async () => {
  assert.equal((await agree(storeWith(undefined), [], CLUSTER_DEFAULTS, SETTINGS)).format, FORMAT);
});

test('S345: a sidecar that cannot read the format of rows that was fixed does not join', async () => {
  const first = await agree(storeWith(undefined), [], CLUSTER_DEFAULTS, SETTINGS);
  await assert.rejects(agree(storeWith({ ...first, format: FORMAT + 1 }), [ALPHA], CLUSTER_DEFAULTS, SETTINGS), {
    name: 'CommandFailure',
    message:
      /keeps rows in format 3 \("keyturn cluster finalize"\), and this version reads up to format 2; start a newer/,
  });
});
