/** Which registry a sidecar of a cluster may use. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CommandFailure } from '../../../../src/cli/failure.js';
import { agreeOnRegistry } from '../../../../src/cli/serve/cluster/agreed-registry.js';
import { isSameRegistry, registryIdentity } from '../../../../src/cluster/engines/registry-identity.js';
import type { Member } from '../../../../src/cluster/registry/registry.js';
import type { ClusterRecord } from '../../../../src/cluster/store/cluster-store.js';
import { CLUSTER_DEFAULTS } from '../../../../src/config/cluster-settings.js';
import { StoreAddress } from '../../../../src/config/store-address.js';
import { MembersStage, TTL } from '../../../cluster/member/stage.js';
import { FakeRegistryEngine } from '../../../support/cluster/fake-registry.js';

const STORE = 'redis://store:6379';
const HERE = 'etcd://e1,e2,e3';
const ELSEWHERE = 'zookeeper://z1/apps';
const RECORD: ClusterRecord = { id: 'ours', partitions: 4, secret: 's', version: 1, routes: {} };

/** Starts a sidecar as far as its registry. */
function starting(stage: MembersStage, url: string, registry = stage.registry, weight = 1) {
  const seen: { registry?: string; failure?: string } = {};
  const store = stage.store.open('x');
  const cluster = {
    ...CLUSTER_DEFAULTS,
    store: new StoreAddress(STORE, STORE),
    registry: new StoreAddress(url, url),
    weight,
  };
  const record = stage.store.record(RECORD);
  agreeOnRegistry({ store, registry: registry.open('x'), cluster, record, clock: stage.clock }).then(
    (agreed) => {
      seen.registry = agreed.registry ?? 'unset';
    },
    (error: unknown) => {
      assert.ok(error instanceof CommandFailure, String(error));
      seen.failure = error.message;
    },
  );
  return seen;
}

async function running(named: Partial<ClusterRecord> = {}, member: Partial<Member> = { cluster: RECORD.id }) {
  const stage = new MembersStage();
  stage.store.record({ ...RECORD, ...named });
  const a = stage.start('a', member);
  await stage.until(() => stage.hasAll(a.member));
  return { stage, a };
}

const other = (stage: MembersStage) => new FakeRegistryEngine(stage.clock);
const IDENTITY = 'etcd://e1:2379,e2:2379,e3:2379/';

test('S610: the first member names its registry in the record, and the next one finds it', async () => {
  const stage = new MembersStage();
  const first = starting(stage, HERE);
  await stage.pass(100);
  assert.deepEqual(first, { registry: IDENTITY });
  assert.equal(stage.store.recordNow?.registry, IDENTITY);
  const next = starting(stage, 'etcds://user:password@E3,e4');
  await stage.pass(100);
  assert.deepEqual(next, { registry: IDENTITY });
});

for (const weight of [1, 0])
  test(`S610: beside members that live nobody starts with another registry, with weight ${weight}`, async () => {
    const { stage } = await running({ registry: IDENTITY });
    const started = starting(stage, ELSEWHERE, other(stage), weight);
    await stage.pass(100);
    assert.match(
      started.failure ?? '',
      /^registry: this sidecar uses zookeeper:\/\/z1:2181\/apps, but the cluster keyturn in .* uses etcd:\/\/e1:2379,/,
    );
    assert.equal(stage.store.recordNow?.registry, IDENTITY);
  });

test('S610: the same registry by another address is the same: it lists members of this cluster', async () => {
  const { stage } = await running({ registry: IDENTITY });
  const started = starting(stage, 'etcd://alias');
  await stage.pass(100);
  assert.deepEqual(started, { registry: 'etcd://alias:2379/' });
});

test('S610: members of another cluster of the same name prove nothing', async () => {
  const { stage } = await running({ registry: IDENTITY });
  const registry = other(stage);
  const [ours] = stage.registry.members;
  registry.join({ ...(ours ?? assert.fail('nobody has joined')), cluster: 'theirs' }, TTL);
  const started = starting(stage, ELSEWHERE, registry);
  await stage.pass(100);
  assert.match(started.failure ?? '', /^registry: this sidecar uses/);
});

test('S610: a record of a version that named none is completed beside its members', async () => {
  const { stage } = await running({}, {});
  const started = starting(stage, HERE);
  await stage.pass(100);
  assert.deepEqual(started, { registry: IDENTITY });
  assert.deepEqual(stage.store.recordNow, { ...RECORD, registry: IDENTITY, revision: 2 });
});

test('S610: after all members were stopped the registry may be another one', async () => {
  const { stage, a } = await running({ registry: IDENTITY });
  void a.member.leave(1_000);
  await stage.until(() => stage.registry.members.length === 0);
  const started = starting(stage, ELSEWHERE, other(stage));
  await stage.pass(5_000 + TTL - 200);
  assert.deepEqual(started, {});
  await stage.pass(500);
  assert.deepEqual(started, { registry: 'zookeeper://z1:2181/apps' });
});

test('S610: two that start with different registries at the same moment do not both start', async () => {
  const { stage, a } = await running({ registry: IDENTITY });
  void a.member.leave(1_000);
  await stage.until(() => stage.registry.members.length === 0);
  const second = other(stage);
  const starts = [starting(stage, ELSEWHERE, other(stage)), starting(stage, 'etcd://new', second)];
  await stage.until(() => starts.some(({ registry }) => registry !== undefined));
  const b = stage.start('b', { cluster: RECORD.id });
  await stage.until(() => stage.hasAll(b.member));
  await stage.pass(10_000);
  const ends = starts.map(({ registry, failure }) => [registry !== undefined, failure !== undefined]);
  assert.deepEqual(ends.sort(), [
    [false, true],
    [true, false],
  ]);
});

test('S610: a gateway names no registry', async () => {
  const stage = new MembersStage();
  const started = starting(stage, HERE, stage.registry, 0);
  await stage.pass(100);
  assert.deepEqual(started, { registry: 'unset' });
  assert.equal(stage.store.recordNow?.registry, undefined);
});

const SAME: readonly (readonly [registry: string, store: string, identity: string])[] = [
  [STORE, STORE, 'store'],
  ['redis://user:password@STORE', STORE, 'store'],
  ['redis://store:6379/1', STORE, 'redis://store:6379/1'],
  ['rediss://store:6380', STORE, 'redis://store:6380/0'],
  ['redis+sentinel://s2,s1/main/2', STORE, 'redis+sentinel://s1:26379,s2:26379/main/2'],
  ['postgresql://u:p@h2,H1/db?sslmode=require', STORE, 'postgres://h1:5432,h2:5432/db'],
  ['postgres://h1,h2/db', 'postgresql://h2/db', 'store'],
  ['zookeeper://u:p@[::1]:2182/apps', STORE, 'zookeeper://[::1]:2182/apps'],
];
for (const [registry, store, identity] of SAME)
  test(`S610: ${identity} is what a record says of a registry`, () => {
    assert.equal(registryIdentity(registry, store), identity);
    assert.ok(isSameRegistry(identity, identity));
    assert.ok(!isSameRegistry(identity, 'etcd://h1:5432/db'));
  });
