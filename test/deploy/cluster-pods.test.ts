/** A release of the cluster form as it runs: what the chart gives its pods, given to real sidecars and a real Redis over TLS. */
import { equal, match, notEqual } from 'node:assert/strict';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { connect, type Keyturn } from '@keyturn/client';
import { keyturn, ServeProcess } from '../cli/serve-process.js';
import { needs } from '../support/needed-program.js';
import { REDIS, TestRedis } from '../support/redis.js';
import { refusalOf, release } from './release.js';
import { HELM, valuesFile } from './tools.js';

describe('pods of the cluster form', needs([HELM, REDIS]), () => {
  it('know their Redis by its authority, share queues over TLS, and keep tenants apart, whichever is asked', async (t) => {
    const { config, env, certificates, renewPeers } = await release(t, valuesFile('cluster-auth.yaml'));
    const file = (name: string) => join(certificates, name);
    const redis = await TestRedis.start(t, (port) => [
      ...['--port', '0', '--tls-port', String(port), '--tls-auth-clients', 'no'],
      ...[
        '--tls-cert-file',
        file('server.pem'),
        '--tls-key-file',
        file('server.key'),
        '--tls-ca-cert-file',
        file('ca.pem'),
      ],
    ]);
    // Both are on one machine: a port of its own each. What a host alone stands for is the address of a pod.
    const here: Readonly<Record<string, string>> = {
      ...env,
      KEYTURN_STORE: `rediss://127.0.0.1:${redis.port}/2`,
      KEYTURN_CLUSTER_PEER_LISTEN: '0.0.0.0:0',
      KEYTURN_CLUSTER_ADVERTISE: '127.0.0.1',
    };
    const home = await ServeProcess.start(t, ['--config', config], here);
    // It has no partition for 15 s: what it is asked it asks the first one.
    const other = await ServeProcess.start(t, ['--config', config], here);
    const client = async (pod: ServeProcess, token?: string): Promise<Keyturn> => {
      const ca = file('ca.pem');
      const connected = connect(await pod.address('grpc'), { transport: 'unary', tls: { ca }, token });
      t.after(() => connected.close({ timeout: 0 }));
      return connected;
    };
    const [atHome, elsewhere] = await Promise.all([home, other].map((pod) => client(pod, 'token-of-orders-too')));
    equal((await elsewhere?.submit('orders', { key: 'k' }))?.decision, 'accept');
    equal((await atHome?.acquire({ queues: ['orders'], wait: 10_000 }))?.deliveries.length, 1);
    for (const pod of [home, other]) {
      const [stranger, worker] = [await client(pod), await client(pod, 'token-of-orders-too')];
      equal(await refusalOf(stranger.submit('orders', {})), 'UNAUTHENTICATED NO_CREDENTIALS');
      equal(await refusalOf(worker.submit('mails', {})), 'PERMISSION_DENIED NOT_ALLOWED');
    }
    await renewPeers('server');
    const refused = await other.logged('the certificates have changed and cannot be used');
    match(String(refused['reason']), /^cluster\.tls\.cert: .*lacks clientAuth/);
    await renewPeers('peer');
    await other.logged('new connections get the new certificate');
    equal((await elsewhere?.submit('orders', { key: 'k' }))?.decision, 'accept');
    const { NODE_EXTRA_CA_CERTS: authority, ...unknowing } = here;
    notEqual(authority, undefined);
    const said = await keyturn(['serve', '--config', config, '--listen', '127.0.0.1:0'], unknowing);
    notEqual(said.code, 0);
    match(`${said.stdout}${said.stderr}`, /TLS failed with .*NODE_EXTRA_CA_CERTS/);
  });
});
