/**
 * Rights in the chart, with what a cluster brings besides: the rendered settings, given to a real sidecar, with the files of their
 * Secrets, laid out as kubelet does it and replaced as kubelet replaces them.
 */
import { deepEqual, equal, fail, match, ok } from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { connect, type Keyturn, KeyturnError } from '@keyturn/client';
import { parseAllDocuments } from 'yaml';
import { keyturn, ServeProcess } from '../cli/serve-process.js';
import { yamlFile } from '../config/yaml-file.js';
import { ROOT, read } from '../project/repository.js';
import { writeCertificates } from '../support/certificate-files.js';
import { needs } from '../support/needed-program.js';
import {
  at,
  CHART,
  complaints,
  containerOf,
  folderFor,
  HELM,
  list,
  manifests,
  ofKind,
  output,
  VALIDATE,
  valuesFile,
  variablesOf,
} from './tools.js';

const KEY = { kty: 'OKP', crv: 'Ed25519', kid: 'k', x: '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo' };

/** A folder as kubelet makes it of a Secret: links into `..data`, which is a link to what counts. */
class Volume {
  #version = 0;

  constructor(private readonly folder: string) {
    mkdirSync(folder);
  }

  put(files: Readonly<Record<string, string>>): void {
    this.#version += 1;
    const version = `..version-${this.#version}`;
    mkdirSync(join(this.folder, version));
    for (const [name, text] of Object.entries(files)) {
      writeFileSync(join(this.folder, version, name), text);
      if (this.#version === 1) symlinkSync(join('..data', name), join(this.folder, name));
    }
    symlinkSync(version, join(this.folder, '..next'));
    renameSync(join(this.folder, '..next'), join(this.folder, '..data'));
  }
}

function tokens(names: Readonly<Record<string, string>>): string {
  const line = ([name, token]: [string, string]) =>
    `${JSON.stringify(name)}: { sha256: ${createHash('sha256').update(token).digest('hex')} }`;
  return Object.entries(names).map(line).join('\n');
}

interface Release {
  /** The settings file, its paths in the folder. */
  readonly config: string;
  /** Of the container, its paths too. */
  readonly env: Readonly<Record<string, string>>;
  readonly ca: string;
  /** The Secret with tokens. */
  readonly secret: Volume;
}

/** What a release with these values brings into its pod. */
async function release(t: TestContext, values: string): Promise<Release> {
  const folder = await folderFor(t);
  const all = manifests(await output(HELM, ['template', 'keyturn', CHART, '--namespace', 'prod', '--values', values]));
  const container = containerOf(all);
  const mounts = list(at(container, 'volumeMounts')).map((one) => String(at(one, 'mountPath')));
  const own = (text: string) => {
    let placed = text;
    for (const path of mounts) placed = placed.replaceAll(`${path}/`, `${join(folder, path.replaceAll('/', '-'))}/`);
    return placed;
  };
  const certificates = join(folder, 'certificates');
  await writeCertificates(certificates);
  const secret = new Volume(join(folder, '-etc-keyturn-tokens'));
  secret.put({
    'tokens.yaml': tokens({
      'orders: worker': 'token-of-orders',
      'orders-worker': 'token-of-orders-too',
      ops: 'token-of-ops',
    }),
  });
  new Volume(join(folder, '-etc-keyturn-keys')).put({ 'jwks.json': JSON.stringify({ keys: [KEY] }) });
  const files = { 'server.pem': 'tls.crt', 'server.key': 'tls.key', 'ca.pem': 'ca.crt' };
  for (const secretOf of ['-etc-keyturn-tls', '-etc-keyturn-peer-tls']) {
    mkdirSync(join(folder, secretOf));
    for (const [from, to] of Object.entries(files)) symlinkSync(join(certificates, from), join(folder, secretOf, to));
  }
  mkdirSync(join(folder, '-var-lib-keyturn'));
  const env = Object.entries(variablesOf(container)).map(([name, value]) => [name, own(value)] as const);
  const config = yamlFile(t, own(String(at(ofKind(all, 'ConfigMap'), 'data', 'keyturn.yaml'))));
  return { config, env: Object.fromEntries(env), ca: join(certificates, 'ca.pem'), secret };
}

async function refusalOf(answer: Promise<unknown>): Promise<string> {
  const error: unknown = await answer.then(
    () => 'it was answered',
    (caught: unknown) => caught,
  );
  return error instanceof KeyturnError ? `${error.code} ${error.reason}` : String(error);
}

/** As the page says it in the part with this heading. */
function blockOfThePage(heading: string, first: string): string {
  const part = read('docs/SECURITY.md').text.split(`### ${heading}\n`)[1] ?? '';
  const block = [...part.matchAll(/```\w+\n([\s\S]*?)```/g)].map(([, text = '']) => text);
  return block.find((text) => text.startsWith(first)) ?? fail(`no block begins with ${first}`);
}

const MAIN = join(ROOT, 'dist/src/main.js');
/** Its commands are ours; those of a cluster do nothing here. */
const COMMANDS = `set -e; keyturn() { '${process.execPath}' '${MAIN}' "$@"; }; kubectl() { :; }; helm() { :; }`;

/** The files that the commands of the page leave for a Secret and for a tenant; those that it removes included. */
function filesOfThePage(folder: string): Readonly<Record<'tokens' | 'worker' | 'ops', string>> {
  const commands = blockOfThePage('In Kubernetes', 'for name in').replace(/^rm /m, ': ');
  execFileSync('bash', ['-c', `${COMMANDS}\n${commands}`], { cwd: folder });
  const file = (name: string) => readFileSync(join(folder, name), 'utf8');
  return {
    tokens: file('tokens.yaml'),
    worker: file('token').trim(),
    ops: file('ops.txt').split('\n')[0] ?? '',
  };
}

describe('rights in the chart', needs([HELM, VALIDATE]), () => {
  it('are settings that the sidecar takes, with all ways to show who one is', async (t) => {
    const { config, env } = await release(t, valuesFile('auth.yaml'));
    equal(env['KEYTURN_LISTEN'], '0.0.0.0:7420');
    equal(env['KEYTURN_INSECURE'], 'false', 'strangers are not served');
    const said = await keyturn(['serve', '--config', config, '--check-config'], env);
    equal(`${said.stdout}${said.stderr}`, 'the configuration is fine\n');
  });

  it('in a cluster need TLS between the pods, which the sidecar asks for', async (t) => {
    const { config, env } = await release(t, valuesFile('cluster-auth.yaml'));
    // Who listens within the image, listens on every address of the pod.
    equal(env['KEYTURN_CLUSTER_PEER_LISTEN'], '0.0.0.0:7423');
    const check = (variables: Readonly<Record<string, string>>) =>
      keyturn(['serve', '--config', config, '--check-config'], variables);
    const { NODE_EXTRA_CA_CERTS: _, ...all } = env;
    const said = await check(all);
    equal(`${said.stdout}${said.stderr}`, 'the configuration is fine\n');
    const open = Object.entries(all).filter(([name]) => !name.startsWith('KEYTURN_CLUSTER_TLS_'));
    match((await check(Object.fromEntries(open))).stderr, /cluster\.peer_listen .*needs cluster\.tls/);
  });

  it('are switched on as SECURITY.md says, and tokens are replaced while it runs', async (t) => {
    const values = blockOfThePage('In Kubernetes', '# values.yaml\nimage');
    equal(parseAllDocuments(values).length, 1);
    const { config, env, ca, secret } = await release(t, yamlFile(t, values));
    const made = filesOfThePage(await folderFor(t));
    secret.put({ 'tokens.yaml': made.tokens });
    const sidecar = await ServeProcess.start(t, ['--config', config], env);
    const address = await sidecar.address('grpc');
    const client = (token?: string): Keyturn => {
      const connected = connect(address, { transport: 'unary', tls: { ca }, token });
      t.after(() => connected.close({ timeout: 0 }));
      return connected;
    };
    const [stranger, worker, ops] = [client(), client(made.worker), client(made.ops)];
    equal(await refusalOf(stranger.submit('orders', {})), 'UNAUTHENTICATED NO_CREDENTIALS');
    equal((await worker.submit('orders', { key: 'k' })).decision, 'accept');
    equal((await worker.submit('orders.eu', { key: 'k' })).decision, 'accept');
    equal(await refusalOf(worker.submit('mails', {})), 'PERMISSION_DENIED NOT_ALLOWED');
    equal(await refusalOf(worker.admin.pauseQueue('orders')), 'PERMISSION_DENIED NOT_ALLOWED');
    await ops.admin.pauseQueue('orders');
    // Kubelet brings the next version of the Secret. The queue is paused: nothing else ends this call.
    const waiting = refusalOf(worker.acquire({ queues: ['orders'], wait: 250_000 }));
    secret.put({ 'tokens.yaml': tokens({ 'orders-worker': 'the-next-one', ops: made.ops }) });
    const next = client('the-next-one');
    equal(await waiting, 'UNAUTHENTICATED NO_CREDENTIALS', 'what waits ends with its token');
    equal((await next.submit('orders', { key: 'k' })).decision, 'accept');
    equal(await refusalOf(worker.submit('orders', {})), 'UNAUTHENTICATED NO_CREDENTIALS');
    sidecar.signal('SIGTERM');
    await sidecar.exited;
    const line = sidecar.lines.find(({ audit, outcome }) => audit === 'call' && outcome === 'OK');
    match(JSON.stringify(line), /"who":"ops".*AdminService\/PauseQueue/);
    for (const token of [made.worker, made.ops, 'the-next-one'])
      ok(!JSON.stringify(sidecar.lines).includes(token), 'no token is in the log');
  });

  it('know tokens that Kubernetes projects into pods, as SECURITY.md says', async (t) => {
    const values = blockOfThePage('In Kubernetes', '# values.yaml\nauth');
    const { config, env } = await release(t, yamlFile(t, values));
    const said = await keyturn(['serve', '--config', config, '--check-config'], env);
    equal(`${said.stdout}${said.stderr}`, 'the configuration is fine\n');
    const pod = blockOfThePage('In Kubernetes', '# worker.yaml');
    deepEqual(await complaints(t, pod), []);
    const source = at(manifests(pod)[0], 'spec', 'volumes', 0, 'projected', 'sources', 0, 'serviceAccountToken');
    equal(at(source, 'audience'), at(manifests(values)[0], 'auth', 'jwt', 'audience'));
  });

  it('between tenants leave no queues to be made, and nothing of others to be seen, as SECURITY.md says', async (t) => {
    const file = yamlFile(t, tokens({ 'orders-worker': 'a', 'mails-worker': 'b', ops: 'c' }));
    const settings = blockOfThePage('Between tenants that do not trust each other', '# keyturn.yaml');
    const config = yamlFile(t, settings.replace('/etc/keyturn/tokens.yaml', file));
    const sidecar = await ServeProcess.start(t, ['--config', config]);
    const client = connect(await sidecar.address('grpc'), { transport: 'unary', token: 'a' });
    t.after(() => client.close({ timeout: 0 }));
    equal((await client.submit('orders.eu', { key: 'k' })).decision, 'accept');
    equal(await refusalOf(client.submit('orders.us', {})), 'NOT_FOUND NO_SUCH_QUEUE');
    equal(await refusalOf(client.submit('mails', {})), 'PERMISSION_DENIED NOT_ALLOWED');
    deepEqual((await client.admin.listQueues()).queues, [], 'it may not view');
  });
});
