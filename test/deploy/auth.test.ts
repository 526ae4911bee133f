/**
 * Rights in the chart, with what a cluster brings besides: the rendered settings, given to a real sidecar, with the files of their
 * Secrets, laid out as kubelet does it and replaced as kubelet replaces them.
 */
import { deepEqual, equal, fail, match, ok } from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { connect, type Keyturn } from '@keyturn/client';
import { parseAllDocuments } from 'yaml';
import { command } from '../cli/in-process.js';
import { ServeProcess } from '../cli/serve-process.js';
import { yamlFile } from '../config/yaml-file.js';
import { read } from '../project/repository.js';
import { MAIN } from '../support/main.js';
import { needs } from '../support/needed-program.js';
import { refusalOf, release, tokens } from './release.js';
import { at, complaints, folderFor, HELM, manifests, VALIDATE, valuesFile } from './tools.js';

/** As the page says it in the part with this heading. */
function blockOfThePage(heading: string, first: string): string {
  const part = read('docs/SECURITY.md').text.split(`### ${heading}\n`)[1] ?? '';
  const block = [...part.matchAll(/```\w+\n([\s\S]*?)```/g)].map(([, text = '']) => text);
  return block.find((text) => text.startsWith(first)) ?? fail(`no block begins with ${first}`);
}

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
    const said = await command(['serve', '--config', config, '--check-config'], { env });
    equal(`${said.stdout}${said.stderr}`, 'the configuration is fine\n');
  });

  it('in a cluster need TLS between the pods, which the sidecar asks for', async (t) => {
    const { config, env } = await release(t, valuesFile('cluster-auth.yaml'));
    // Who listens within the image, listens on every address of the pod.
    equal(env['KEYTURN_CLUSTER_PEER_LISTEN'], '0.0.0.0:7423');
    const check = (variables: Readonly<Record<string, string>>) =>
      command(['serve', '--config', config, '--check-config'], { env: variables });
    const { NODE_EXTRA_CA_CERTS: _, ...all } = env;
    const said = await check(all);
    equal(`${said.stdout}${said.stderr}`, 'the configuration is fine\n');
    const open = Object.entries(all).filter(([name]) => !name.startsWith('KEYTURN_CLUSTER_TLS_'));
    match((await check(Object.fromEntries(open))).stderr, /cluster\.peer_listen .*needs cluster\.tls/);
  });

  it('are switched on as SECURITY.md says, and tokens are replaced while it runs', async (t) => {
    const values = blockOfThePage('In Kubernetes', '# values.yaml\nimage');
    equal(parseAllDocuments(values).length, 1);
    const { config, env, certificates, secret } = await release(t, yamlFile(t, values));
    const made = filesOfThePage(await folderFor(t));
    secret.put({ 'tokens.yaml': made.tokens });
    const sidecar = await ServeProcess.start(t, ['--config', config], env);
    const address = await sidecar.address('grpc');
    const client = (token?: string): Keyturn => {
      const connected = connect(address, { transport: 'unary', tls: { ca: join(certificates, 'ca.pem') }, token });
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
    const said = await command(['serve', '--config', config, '--check-config'], { env });
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
