/** The chart: what it renders, what it refuses, and that the sidecar takes the settings that it writes. */
import { deepEqual, equal, match, notEqual, ok } from 'node:assert/strict';
import { cpSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { command } from '../cli/in-process.js';
import { yamlFile } from '../config/yaml-file.js';
import { read } from '../project/repository.js';
import { needs } from '../support/needed-program.js';
import {
  at,
  CHART,
  complaints,
  containerOf,
  folderFor,
  golden,
  HELM,
  list,
  type Manifest,
  manifests,
  ofKind,
  output,
  podOf,
  run,
  template,
  VALIDATE,
  valuesFile,
  variablesOf,
} from './tools.js';

interface Variant {
  readonly name: string;
  readonly args: readonly string[];
}

const VARIANTS: readonly Variant[] = [
  { name: 'built-in', args: [] },
  { name: 'everything', args: ['--values', valuesFile('everything.yaml')] },
  { name: 'memory', args: ['--values', valuesFile('memory.yaml')] },
  { name: 'auth', args: ['--values', valuesFile('auth.yaml')] },
  { name: 'cluster', args: ['--values', valuesFile('cluster.yaml')] },
  { name: 'cluster-auth', args: ['--values', valuesFile('cluster-auth.yaml')] },
];

describe('the chart', needs([HELM, VALIDATE]), () => {
  for (const { name, args } of VARIANTS) {
    it(`has nothing that a strict helm lint complains of: ${name}`, async () => {
      match(await output(HELM, ['lint', '--strict', CHART, ...args]), /1 chart\(s\) linted, 0 chart\(s\) failed/);
    });

    it(`renders what somebody has looked at, and Kubernetes takes: ${name}`, async (t) => {
      const rendered = await template('orders', ...args);
      equal(rendered, golden(`${name}.yaml`, rendered));
      deepEqual(await complaints(t, rendered), []);
    });

    // Its files are in Secrets of the cluster: test/deploy/auth.test.ts has them.
    if (name.endsWith('auth')) continue;
    it(`writes settings that the sidecar takes: ${name}`, async (t) => {
      const all = manifests(await template('orders', ...args));
      const file = yamlFile(t, String(at(ofKind(all, 'ConfigMap'), 'data', 'keyturn.yaml')));
      const env = variablesOf(containerOf(all));
      // The files of TLS are in a Secret of the cluster.
      const own = Object.entries(env).filter(([variable]) => !/^KEYTURN_(CLUSTER_)?TLS_/.test(variable));
      // The image says that it serves strangers, unless the chart says otherwise.
      match(read('Dockerfile').text, /KEYTURN_INSECURE=true/);
      const inImage = { KEYTURN_INSECURE: 'true', ...Object.fromEntries(own) };
      const said = await command(['serve', '--config', file, '--check-config'], { env: inImage });
      equal(`${said.stdout}${said.stderr}`.replace(/^warning: listen .*\n/gm, ''), 'the configuration is fine\n');
    });
  }

  it('is refused by Kubernetes when a field has another name', async (t) => {
    const rendered = await template('orders');
    equal((await complaints(t, rendered.replace('serviceName:', 'servicename:'))).length, 3);
  });
});

const REFUSED: readonly { readonly set: string; readonly says: RegExp }[] = [
  { set: 'replicaCount=2', says: /replicaCount is 2; without store \(or storeSecret\) only 1 is allowed/ },
  { set: 'replicaCount=one', says: /at '\/replicaCount': got string, want integer/ },
  { set: 'persistance.size=1Gi', says: /additional properties 'persistance' not allowed/ },
  { set: 'persistence.size=big', says: /at '\/persistence\/size': 'big' does not match/ },
  { set: 'persistence.accessMode=ReadWriteMany', says: /must be one of 'ReadWriteOncePod', 'ReadWriteOnce'/ },
  { set: 'persistence.enabled=maybe', says: /at '\/persistence\/enabled': got string, want null or boolean/ },
  { set: 'tls.clientCa=true', says: /tls\.existingSecret is empty: name the Secret/ },
  { set: 'tls.cert=x', says: /at '\/tls': additional properties 'cert' not allowed/ },
  { set: 'auth.tokensSecret=a', says: /auth\.tokensSecret needs tls\.existingSecret: a token that others can read/ },
  { set: 'auth.tokensSecret=a,tls.existingSecret=b', says: /auth\.rights is empty: nobody may do anything/ },
  { set: 'auth.rights.a[0].queues[0]=q,auth.rights.a[0].may[0]=view', says: /nobody could show who they are/ },
  { set: 'auth.perClient.waiting=1', says: /nobody could show who they are: name auth\.tokensSecret, auth\.certif/ },
  {
    set: 'auth.certificates[0].san=a,auth.certificates[0].is=b,tls.existingSecret=c',
    says: /auth\.certificates needs tls\.clientCa/,
  },
  { set: 'auth.certificates[0].san=a', says: /at '\/auth\/certificates\/0': missing property 'is'/ },
  { set: 'auth.jwt.issuer=a', says: /properties 'audience', 'keysSecret' required, if 'issuer' exists/ },
  {
    set: 'auth.jwt.issuer=a,auth.jwt.audience=b,auth.jwt.keysSecret=c',
    says: /auth\.jwt needs tls\.existingSecret/,
  },
  {
    set: 'auth.tokensSecret=a,tls.existingSecret=b,existingConfigMap=c',
    says: /the chart writes auth into the settings of config; leave existingConfigMap out/,
  },
  { set: 'auth.rights.a[0].may[0]=view', says: /at '\/auth\/rights\/a\/0'/ },
  {
    set: 'auth.rights.a[0].queues[0]=q,auth.rights.a[0].may[0]=everything',
    says: /must be one of 'produce', 'consume', 'view', 'payload', 'operate'/,
  },
  { set: 'auth.token=x', says: /at '\/auth': additional properties 'token' not allowed/ },
  { set: 'config.auth.tokens=x', says: /at '\/config': additional properties 'auth' not allowed/ },
  { set: 'extraEnv[0].name=KEYTURN_INSECURE', says: /extraEnv: KEYTURN_INSECURE is set by the chart/ },
  { set: 'config.drain_timeot=1s', says: /at '\/config': additional properties 'drain_timeot' not allowed/ },
  { set: 'config.drain_timeout=20', says: /at '\/config\/drain_timeout': got number, want string/ },
  { set: 'config.listen=0.0.0.0:1', says: /at '\/config': additional properties 'listen' not allowed/ },
  { set: 'config.store=redis', says: /at '\/config': additional properties 'store' not allowed/ },
  { set: 'config.queues.orders.lease=5', says: /at '\/config\/queues\/orders\/lease': got number, want string/ },
  {
    set: 'persistence.enabled=false,config.queues.orders.durable=true',
    says: /durable is true for orders in config, and persistence\.enabled is false/,
  },
  { set: 'config=null', says: /missing property 'config'/ },
  { set: 'terminationGracePeriodSeconds=10', says: /with config\.drain_timeout 20s it must be 25 or more, or null/ },
  { set: 'extraEnv[0].name=KEYTURN_LISTEN', says: /extraEnv: KEYTURN_LISTEN is set by the chart/ },
  { set: 'image.digest=latest', says: /at '\/image\/digest': 'latest' does not match/ },
  { set: 'networkPolicy.clients=null', says: /at '\/networkPolicy': missing property 'clients'/ },
  { set: 'fullnameOverride=A_b', says: /at '\/fullnameOverride': 'A_b' does not match/ },
];

describe('values that are wrong', needs([HELM]), () => {
  for (const { set, says } of REFUSED) {
    it(`are refused with what is allowed: ${set}`, async () => {
      const { code, stderr } = await run(HELM, ['template', 'orders', CHART, '--set', set]);
      equal(code, 1, stderr);
      match(stderr, says);
    });
  }
});

/** Each name of a release, and those of its objects. */
const NAMES: readonly (readonly [release: string, name: RegExp])[] = [
  ['keyturn', /^keyturn$/],
  ['orders', /^orders-keyturn$/],
  ['keyturn-orders', /^keyturn-orders-keyturn$/],
  ['7.orders', /^k7-orders-keyturn-[0-9a-f]{8}$/],
  ['7-orders', /^k7-orders-keyturn-[0-9a-f]{8}$/],
  [`${'a'.repeat(52)}b`, /^a{43}-[0-9a-f]{8}$/],
  [`${'a'.repeat(52)}c`, /^a{43}-[0-9a-f]{8}$/],
];

describe('releases in one namespace', needs([HELM, VALIDATE]), () => {
  it('have names that Kubernetes takes, each its own', async (t) => {
    const seen = new Set<string>();
    for (const [release, name] of NAMES) {
      const rendered = await template(release);
      const all = manifests(rendered);
      const own = String(at(ofKind(all, 'StatefulSet'), 'metadata', 'name'));
      match(own, name);
      match(own, /^[a-z]([-a-z0-9]*[a-z0-9])?$/, 'a Service may be called so');
      // The label controller-revision-hash adds eleven.
      ok(own.length <= 52, own);
      for (const one of all) ok(String(at(one, 'metadata', 'name')).startsWith(own));
      seen.add(own);
      if (release.length === 53) deepEqual(await complaints(t, rendered), []);
    }
    equal(seen.size, NAMES.length);
  });

  it('select their own pods only', async () => {
    const [one, other] = await Promise.all(['a', 'b'].map(async (release) => manifests(await template(release))));
    const selector = (all: readonly Manifest[] = []) => at(ofKind(all, 'Service'), 'spec', 'selector');
    const labels = (all: readonly Manifest[] = []) =>
      at(ofKind(all, 'StatefulSet'), 'spec', 'template', 'metadata', 'labels', 'app.kubernetes.io/instance');
    equal(at(selector(one), 'app.kubernetes.io/instance'), labels(one));
    notEqual(at(selector(one), 'app.kubernetes.io/instance'), labels(other));
  });
});

describe('a release', needs([HELM]), () => {
  it('cannot be given labels or notes in place of its own', async () => {
    const all = manifests(await template('orders', '--values', valuesFile('everything.yaml')));
    const metadata = at(ofKind(all, 'StatefulSet'), 'spec', 'template', 'metadata');
    equal(at(metadata, 'labels', 'app.kubernetes.io/name'), 'keyturn');
    notEqual(at(metadata, 'annotations', 'checksum/settings'), 'mine');
  });

  it('keeps what is hard to quote as it is', async () => {
    const all = manifests(await template('orders', '--values', valuesFile('everything.yaml')));
    const claim = at(ofKind(all, 'StatefulSet'), 'spec', 'volumeClaimTemplates', 0);
    equal(at(claim, 'metadata', 'annotations', 'a'), `line\nbreak "q" 'x' {{ .Release.Name }}`);
    equal(at(claim, 'spec', 'storageClassName'), '');
    const last = list(at(containerOf(all), 'env')).at(-1);
    deepEqual(last, { name: 'X', value: '"q"\n- name: evil' });
  });

  it('starts anew when its settings change, and only then', async () => {
    const checksum = async (...args: readonly string[]) =>
      at(
        ofKind(manifests(await template('orders', ...args)), 'StatefulSet'),
        ...['spec', 'template', 'metadata', 'annotations', 'checksum/settings'],
      );
    const built = await checksum();
    equal(await checksum('--set', 'serviceMonitor.interval=10s'), built);
    notEqual(await checksum('--set', 'config.default.lease=30s'), built);
    equal(await checksum('--set', 'existingConfigMap=mine'), undefined);
  });

  for (const [drain, grace] of [
    ['20s', 25],
    ['250ms', 6],
    ['1.5s', 7],
    ['2m', 125],
    ['0s', 5],
    ['1h', 3_605],
  ] as const) {
    it(`is given time for its drain of ${drain} and 5 s`, async () => {
      const all = manifests(await template('orders', '--set', `config.drain_timeout=${drain}`));
      equal(at(podOf(all), 'terminationGracePeriodSeconds'), grace);
    });
  }

  it('never has two pods on one volume: one replica, a StatefulSet, ReadWriteOncePod', async () => {
    const all = manifests(await template('orders'));
    deepEqual(
      all.filter(({ kind }) => kind === 'Deployment'),
      [],
    );
    const set = ofKind(all, 'StatefulSet');
    equal(at(set, 'spec', 'replicas'), 1);
    deepEqual(at(set, 'spec', 'volumeClaimTemplates', 0, 'spec', 'accessModes'), ['ReadWriteOncePod']);
  });

  it('has its volume claim, image, settings and certificates from others if they are named', async () => {
    const set = 'persistence.existingClaim=disk,existingConfigMap=mine,tls.existingSecret=cert,image.tag=x';
    const all = manifests(await template('orders', '--set', set));
    deepEqual(list(at(podOf(all), 'volumes')), [
      { name: 'settings', configMap: { name: 'mine' } },
      { name: 'tls', secret: { secretName: 'cert', defaultMode: 0o440 } },
      { name: 'data', persistentVolumeClaim: { claimName: 'disk' } },
    ]);
    equal(at(containerOf(all), 'image'), 'keyturn:x');
    equal(at(ofKind(all, 'StatefulSet'), 'spec', 'volumeClaimTemplates'), undefined);
  });

  it('says so when it was packed without rules or dashboards', async (t) => {
    const bare = join(await folderFor(t), 'keyturn');
    const packed = /\/(prometheus|grafana)$/;
    cpSync(CHART, bare, { recursive: true, filter: (path) => !packed.test(path) });
    for (const option of ['prometheusRule', 'dashboards']) {
      const { code, stderr } = await run(HELM, ['template', 'orders', bare, '--set', `${option}.enabled=true`]);
      equal(code, 1);
      match(stderr, new RegExp(`${option}\\.enabled: this chart was packed without`));
    }
  });

  it('tells after its installation how it is reached, and what is open', async (t) => {
    const copy = join(await folderFor(t), 'keyturn');
    cpSync(CHART, copy, { recursive: true, filter: (path) => !/\/(prometheus|grafana)$/.test(path) });
    // Helm prints notes only with a cluster: here they are a manifest.
    const notes = read('deploy/helm/keyturn/templates/NOTES.txt').text;
    const field = `{{- define "notes" }}${notes}{{ end }}`;
    writeFileSync(join(copy, 'templates/notes.yaml'), `${field}\nnotes: {{ include "notes" . | quote }}\n`);
    const shown = async (...args: readonly string[]) => {
      const only = ['--show-only', 'templates/notes.yaml'];
      const [one] = manifests(
        await output(HELM, ['template', 'orders', copy, '--namespace', 'prod', ...only, ...args]),
      );
      return String(one?.['notes']);
    };
    match(await shown(), /connect\('orders-keyturn\.prod\.svc:7420'\)[\s\S]*Whoever reaches it may take and end turns/);
    match(await shown('--set', 'persistence.enabled=false'), /what waits is lost when the pod ends/);
    const cluster = await shown('--set', 'store=redis://redis');
    match(cluster, /rollout status deployment\/orders-keyturn/);
    match(cluster, /exec deployment\/orders-keyturn --[\s\S]*noeviction/);
    match(
      cluster,
      /told of its turn at a time[\s\S]*silent for 3s is over[\s\S]*can be read on the network: cluster\.tlsSecret/,
    );
    match(cluster, /There is one pod: nobody goes on when it ends/);
    const many = await shown('--set', 'storeSecret=a,replicaCount=3,cluster.tlsSecret=b,cluster.session=9s');
    match(many, /silent for 9s is over/);
    ok(!/There is one pod|can be read on the network/.test(many), many);
    const safe = await shown('--set', 'tls.existingSecret=a,tls.clientCa=true');
    match(safe, /It wants TLS/);
    ok(!safe.includes('Whoever reaches it'), safe);
    const asking = await shown('--values', valuesFile('auth.yaml'));
    match(asking, /It asks everybody who they are, and auth\.rights says what each may do/);
    ok(!asking.includes('Whoever reaches it'), asking);
  });
});
