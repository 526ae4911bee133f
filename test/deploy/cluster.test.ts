/** The chart's cluster form: what it renders, and that it refuses before what every pod would refuse at its start. */
import { deepEqual, equal, match, notEqual } from 'node:assert/strict';
import { describe, it } from 'node:test';
import { command } from '../cli/in-process.js';
import { yamlFile } from '../config/yaml-file.js';
import { needs } from '../support/needed-program.js';
import {
  at,
  CHART,
  containerOf,
  HELM,
  list,
  type Manifest,
  manifests,
  ofKind,
  podOf,
  run,
  template,
  valuesFile,
  variablesOf,
} from './tools.js';

const rendered = async (...args: readonly string[]) => manifests(await template('orders', ...args));
const some = (all: readonly Manifest[], kind: string) => all.filter((one) => one['kind'] === kind);

const REDIS = 'store=redis://redis';
const TLS = 'tls.existingSecret=b';
const AUTH = `${TLS},auth.tokensSecret=a,auth.rights.a[0].queues[0]=q,auth.rights.a[0].may[0]=view`;
const DISK = 'and a store too: what is kept is in the store, and no pod has a disk';

const REFUSED: readonly { readonly set: string; readonly says: RegExp }[] = [
  { set: 'replicaCount=0,store=redis://redis:6379', says: /at '\/replicaCount': minimum: got 0, want 1/ },
  { set: 'store=redis://redis:6379,storeSecret=a', says: /store and storeSecret are both said/ },
  { set: 'store=redis://:hunter2@redis:6379', says: /store has a password, which everybody could read in the release/ },
  { set: 'store=postgres://db', says: /at '\/store': 'postgres:\/\/db' does not match/ },
  { set: 'store=redis://h:65536', says: /store names the port 65536; a port is from 1 to 65535/ },
  { set: 'store=redis://h:0/1', says: /store names the port 0; a port is from 1 to 65535/ },
  { set: 'store=redis://h:99999/99999', says: /store names the port 99999; a port is from 1 to 65535/ },
  { set: 'store=redis://h/123456', says: /at '\/store': 'redis:\/\/h\/123456' does not match/ },
  { set: 'store=redis://h/1?tls=1', says: /at '\/store': 'redis:\/\/h\/1\?tls=1' does not match/ },
  ...['enabled=true', 'size=9Gi', 'accessMode=ReadWriteOnce', 'storageClass=a', 'existingClaim=a', 'whenDeleted=Delete']
    .concat('annotations.a=b')
    .map((said) => ({
      set: `${REDIS},persistence.${said}`,
      says: new RegExp(`persistence\\.${said.split(/[.=]/)[0]} is said, ${DISK}`),
    })),
  { set: `${REDIS},${AUTH}`, says: /cluster\.tlsSecret is empty: with auth and a store it names a Secret/ },
  { set: 'cluster.tlsSecret=a', says: /cluster\.tlsSecret is said, and neither store nor storeSecret/ },
  { set: 'storeCaSecret=a', says: /storeCaSecret is said, and neither store nor storeSecret/ },
  { set: `${REDIS},storeCaSecret=a`, says: /storeCaSecret is said, but store is redis:\/\/, which has no TLS/ },
  { set: `${REDIS},cluster.partitions=100`, says: /at '\/cluster\/partitions': value must be one of 'auto', 1, 2/ },
  { set: `${REDIS},cluster.session=3`, says: /at '\/cluster\/session': got number, want string/ },
  { set: `${REDIS},cluster.weight=0`, says: /at '\/cluster': additional properties 'weight' not allowed/ },
  ...['NAME', 'ADVERTISE', 'TLS_CA'].map((name) => ({
    set: `extraEnv[0].name=KEYTURN_CLUSTER_${name}`,
    says: new RegExp(`extraEnv: KEYTURN_CLUSTER_${name} is set by the chart`),
  })),
  ...['KEYTURN_CLUSTER_WEIGHT', 'KEYTURN_REGISTRY'].map((name) => ({
    set: `extraEnv[0].name=${name}`,
    says: new RegExp(`extraEnv: ${name} is not for these pods`),
  })),
  ...['KEYTURN_DRAIN_TIMEOUT', 'KEYTURN_STARTUP_HOLD'].map((name) => ({
    set: `extraEnv[0].name=${name}`,
    says: new RegExp(`extraEnv: ${name} belongs into config`),
  })),
  {
    set: 'store=rediss://redis,storeCaSecret=a,extraEnv[0].name=NODE_EXTRA_CA_CERTS',
    says: /extraEnv: NODE_EXTRA_CA_CERTS is set by the chart/,
  },
  {
    set: 'networkPolicy.store[0].podSelector.matchLabels.a=b',
    says: /networkPolicy\.store is said, and neither store/,
  },
  {
    set: `${REDIS},networkPolicy.enabled=false,networkPolicy.store[0].podSelector.matchLabels.a=b`,
    says: /networkPolicy\.store is said, and networkPolicy\.enabled is false/,
  },
  {
    set: `${REDIS},networkPolicy.storePort=1`,
    says: /networkPolicy\.storePort is said, and networkPolicy\.store is empty/,
  },
  {
    set: `${REDIS},networkPolicy.dns[0].podSelector.matchLabels.a=b`,
    says: /networkPolicy\.dns is said, and networkPolicy\.store is empty/,
  },
  {
    set: 'podDisruptionBudget.maxUnavailable=1',
    says: /podDisruptionBudget\.maxUnavailable is said, but there is no budget/,
  },
  { set: 'podDisruptionBudget.maxUnavailable=many', says: /at '\/podDisruptionBudget\/maxUnavailable'/ },
];

describe('values that a cluster cannot have', needs([HELM]), () => {
  for (const { set, says } of REFUSED) {
    it(`are refused with what is allowed: ${set}`, async () => {
      const { code, stderr } = await run(HELM, ['template', 'orders', CHART, '--set', set]);
      equal(code, 1, stderr);
      match(stderr, says);
    });
  }
});

/** A pod with this would be started again and again. */
interface Unfit {
  readonly set: string;
  readonly says: RegExp;
  /** What the pod would be given, and what the sidecar says to it. */
  readonly file?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly sidecar: RegExp;
}

const UNFIT: readonly Unfit[] = [
  {
    set: 'config.startup_hold=5s',
    says: /config\.startup_hold is 5s, and a store is said/,
    file: 'startup_hold: 5s\n',
    sidecar: /startup_hold .*in a cluster all turns are stored/,
  },
  {
    set: 'config.default.durable=false',
    says: /config\.default\.durable is false, and a store is said/,
    file: 'default: { durable: false }\n',
    sidecar: /durable .*in a cluster every queue is durable/,
  },
  {
    set: 'config.queues.default.durable=false',
    says: /config\.queues\.default\.durable is false, and a store is said/,
    file: 'default: { durable: true }\nqueues: { default: { durable: false } }\n',
    sidecar: /durable .*in a cluster every queue is durable/,
  },
  {
    set: 'config.queues.orders.durability=memory',
    says: /config\.queues\.orders\.durability is memory, and a store is said/,
    file: 'queues: { orders: { durability: memory } }\n',
    sidecar: /durability .*in a cluster everything is stored/,
  },
  {
    set: 'cluster.session=90s',
    says: /cluster\.session is 90s; it is from 1s to 1m/,
    env: { KEYTURN_CLUSTER_SESSION: '90s' },
    sidecar: /cluster\.session .*90s/,
  },
  {
    set: 'cluster.session=999ms',
    says: /cluster\.session is 999ms; it is from 1s to 1m/,
    env: { KEYTURN_CLUSTER_SESSION: '999ms' },
    sidecar: /cluster\.session .*999ms/,
  },
  {
    set: 'store=redis://h:99999/99999',
    says: /store names the port 99999/,
    env: { KEYTURN_STORE: 'redis://h:99999/99999' },
    sidecar: /store .*which is no URL/,
  },
];

describe('what the sidecar refuses in a cluster', needs([HELM]), () => {
  for (const { set, says, file = '', env = {}, sidecar } of UNFIT) {
    it(`the chart refuses before: ${set}`, async (t) => {
      const { code, stderr } = await run(HELM, ['template', 'orders', CHART, '--set', `${REDIS},${set}`]);
      equal(code, 1, stderr);
      match(stderr, says);
      const store = { KEYTURN_STORE: 'redis://redis', ...env };
      const said = await command(['serve', '--config', yamlFile(t, file), '--check-config'], { env: store });
      notEqual(said.exitCode, 0);
      match(said.stderr, sidecar);
    });
  }

  for (const set of [
    'config.startup_hold=0s',
    'cluster.session=1s',
    'cluster.session=1m',
    'persistence.enabled=false',
  ]) {
    it(`and no more: ${set}`, async () => {
      ofKind(await rendered('--set', `${REDIS},${set}`), 'Deployment');
    });
  }
});

/** How many may be evicted at once; unset: there is no budget. */
const BUDGETS: readonly (readonly [set: string, maxUnavailable: number | string | undefined])[] = [
  ['replicaCount=1', undefined],
  ['podDisruptionBudget.enabled=true', 0],
  [REDIS, undefined],
  [`${REDIS},podDisruptionBudget.enabled=true`, 0],
  [`${REDIS},replicaCount=3`, 1],
  [`${REDIS},replicaCount=3,podDisruptionBudget.enabled=false`, undefined],
  [`${REDIS},replicaCount=3,podDisruptionBudget.maxUnavailable=2`, 2],
  [`${REDIS},replicaCount=3,podDisruptionBudget.maxUnavailable=0`, 0],
  [`${REDIS},replicaCount=3,podDisruptionBudget.maxUnavailable=34%`, '34%'],
];

describe('a cluster', needs([HELM]), () => {
  it('has no disk, is spread, and ends one pod only when the next is ready', async () => {
    const all = await rendered('--set', 'store=redis://redis:6379/2,replicaCount=3');
    deepEqual([...some(all, 'StatefulSet'), ...some(all, 'PersistentVolumeClaim')], []);
    const { spec } = ofKind(all, 'Deployment');
    equal(at(spec, 'replicas'), 3);
    deepEqual(at(spec, 'strategy', 'rollingUpdate'), { maxSurge: 1, maxUnavailable: 0 });
    const spread = list(at(podOf(all), 'topologySpreadConstraints'));
    deepEqual(
      spread.map((one) => [at(one, 'topologyKey'), at(one, 'whenUnsatisfiable')]),
      ['kubernetes.io/hostname', 'topology.kubernetes.io/zone'].map((key) => [key, 'ScheduleAnyway']),
    );
    const variables = variablesOf(containerOf(all));
    equal(variables['KEYTURN_STORE'], 'redis://redis:6379/2');
    equal(variables['KEYTURN_DATA_DIR'], undefined);
    // A drain of 20 s, and what it takes to hand partitions over.
    equal(at(podOf(all), 'terminationGracePeriodSeconds'), 35);
    // A pod that drains has others beside it.
    equal(at(ofKind(all, 'Service'), 'spec', 'publishNotReadyAddresses'), undefined);
  });

  it('tells the other members the address of the pod, whatever way leads to the store', async () => {
    const env = list(at(containerOf(await rendered('--set', REDIS)), 'env'));
    deepEqual(
      env.find((one) => at(one, 'name') === 'KEYTURN_CLUSTER_ADVERTISE'),
      { name: 'KEYTURN_CLUSTER_ADVERTISE', valueFrom: { fieldRef: { fieldPath: 'status.podIP' } } },
    );
  });

  for (const [set, expected] of BUDGETS) {
    it(`lets so many be evicted at once: ${set}`, async () => {
      const budgets = some(await rendered('--set', set), 'PodDisruptionBudget');
      deepEqual(
        budgets.map((one) => at(one, 'spec', 'maxUnavailable')),
        expected === undefined ? [] : [expected],
      );
    });
  }

  it('lets only its own pods reach the links between them', async () => {
    const all = await rendered('--set', `${REDIS},replicaCount=2`);
    const policy = at(ofKind(all, 'NetworkPolicy'), 'spec');
    const toPeers = list(at(policy, 'ingress')).filter((rule) => at(rule, 'ports', 0, 'port') === 'peers');
    const selector = at(ofKind(all, 'Service'), 'spec', 'selector');
    deepEqual(
      toPeers.map((rule) => at(rule, 'from')),
      [[{ podSelector: { matchLabels: selector } }]],
    );
    deepEqual(at(policy, 'policyTypes'), ['Ingress']);
    equal(at(policy, 'egress'), undefined);
  });

  for (const [set, port] of [
    [REDIS, 6_379],
    ['storeSecret=a', 6_379],
    ['store=redis://redis:7000/3', 7_000],
    ['store=redis://[fd00::6380]', 6_379],
    ['store=redis://[fd00::1]:6380', 6_380],
    ['store=redis://redis:7000,networkPolicy.storePort=6379', 6_379],
  ] as const) {
    it(`calls its Redis, the other members and who knows names, and nobody else, if that is said: ${set}`, async () => {
      const where = 'networkPolicy.store[0].podSelector.matchLabels.app=redis';
      const all = await rendered('--set', `${set},${where}`);
      const policy = at(ofKind(all, 'NetworkPolicy'), 'spec');
      const selector = at(ofKind(all, 'Service'), 'spec', 'selector');
      deepEqual(at(policy, 'policyTypes'), ['Ingress', 'Egress']);
      deepEqual(at(policy, 'egress'), [
        { to: [{ podSelector: { matchLabels: { app: 'redis' } } }], ports: [{ port, protocol: 'TCP' }] },
        { to: [{ podSelector: { matchLabels: selector } }], ports: [{ port: 7_423, protocol: 'TCP' }] },
        { ports: ['UDP', 'TCP'].map((protocol) => ({ port: 53, protocol })) },
      ]);
    });
  }

  it('knows the authority of its Redis from a Secret, of which nothing else comes into the pod', async () => {
    const all = await rendered('--values', valuesFile('cluster-auth.yaml'));
    equal(variablesOf(containerOf(all))['NODE_EXTRA_CA_CERTS'], '/etc/keyturn-store-ca/ca.crt');
    const volume = list(at(podOf(all), 'volumes')).find((one) => at(one, 'name') === 'store-ca');
    deepEqual(at(volume, 'secret'), {
      secretName: 'redis-ca',
      defaultMode: 0o440,
      items: [{ key: 'ca.crt', path: 'ca.crt' }],
    });
  });
});
