/** `keyturn serve`: where it listens, what it logs and counts. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { yamlFile } from '../../config/yaml-file.js';
import { parseExposition, sampleValue } from '../../observability/exposition.js';
import { healthOf } from '../health.js';
import { command, serveHere } from '../in-process.js';
import { keyturn, ServeProcess } from '../serve-process.js';

test('it listens, says where with the real ports, and is ready', async (t) => {
  const sidecar = await ServeProcess.start(t);
  const [grpc, http] = [await sidecar.address('grpc'), await sidecar.address('http')];
  assert.match(grpc, /^127\.0\.0\.1:[1-9]\d*$/);
  assert.match(http, /^127\.0\.0\.1:[1-9]\d*$/);
  assert.deepEqual(await sidecar.get('/healthz'), { status: 200, body: 'ok\n' });
  assert.deepEqual(await sidecar.get('/readyz'), { status: 200, body: 'ready\n' });
  assert.equal(await healthOf(grpc), 'SERVING');
  assert.equal(await healthOf(grpc, 'keyturn.v1.CoordinatorService'), 'SERVING');
  assert.deepEqual(
    sidecar.lines.map(({ level, msg }) => [level, msg]),
    [
      ['info', 'memory budget'],
      ['info', 'listening'],
    ],
  );
});

test('the file reaches the coordinator: a named queue has its policy, an unnamed one is not made', async (t) => {
  const settings = 'auto_create: false\nlimits: { key_bytes: 10 }\nqueues: { orders: { lease: 7s } }';
  const { client } = await serveHere(t, settings);
  const answer = await client.enQueue({ queue: 'orders', key: 'a' });
  assert.equal(answer.decision === 'accept' && answer.turn.lease, 7_000);
  await assert.rejects(client.enQueue({ queue: 'other', key: 'a' }), { reason: 'NO_SUCH_QUEUE' });
  await assert.rejects(client.enQueue({ queue: 'orders', key: 'a'.repeat(11) }), { reason: 'BAD_REQUEST' });
});

test('what happens is counted, and the exposition is strict', async (t) => {
  const sidecar = await serveHere(t);
  const { client } = sidecar;
  const answer = await client.enQueue({ queue: 'orders', key: 'secret-key' });
  const token = answer.decision === 'accept' ? answer.turn.token : assert.fail(answer.decision);
  const during = parseExposition((await sidecar.get('/metrics')).body);
  assert.equal(sampleValue(during, 'keyturn_turns_live', { queue: 'orders' }), 1);
  assert.equal(sampleValue(during, 'keyturn_lanes', { queue: 'orders', state: 'PROCESS' }), 1);
  await client.deQueue({ queue: 'orders', key: 'secret-key', token });
  await assert.rejects(client.ack({ queue: 'orders', key: 'secret-key', token: 1 }), { reason: 'TURN_LOST' });

  const { status, body } = await sidecar.get('/metrics');
  assert.equal(status, 200);
  assert.doesNotMatch(body, /secret-key/);
  const after = parseExposition(body);
  assert.equal(sampleValue(after, 'keyturn_decisions_total', { queue: 'orders', decision: 'accept', reason: '' }), 1);
  assert.equal(sampleValue(after, 'keyturn_settlements_total', { queue: 'orders', how: 'dequeue' }), 1);
  assert.equal(sampleValue(after, 'keyturn_turns_live', { queue: 'orders' }), 0);
  assert.equal(sampleValue(after, 'keyturn_hold_seconds_count', { queue: 'orders' }), 1);
  assert.equal(sampleValue(after, 'keyturn_stale_tokens_total', { queue: 'orders', call: 'ack' }), 1);
  const calls = after.get('keyturn_grpc_server_call_duration_seconds')?.samples ?? [];
  const counted = calls
    .filter(({ name }) => name.endsWith('_count'))
    .map(({ labels: { method = '', code }, value }) => [method.split('/').at(-1), code, value]);
  assert.deepEqual(counted.toSorted(), [
    ['Ack', 'ABORTED', 1],
    ['DeQueue', 'OK', 1],
    ['EnQueue', 'OK', 1],
  ]);
  for (const name of ['keyturn_wait_seconds', 'keyturn_hold_seconds', 'keyturn_grpc_server_call_duration_seconds']) {
    const { le } = after.get(name)?.samples[0]?.labels ?? {};
    assert.equal(Number(le), 0.00005, name);
  }
});

test('it listens on a Unix socket', async (t) => {
  const path = join(dirname(yamlFile(t, '')), 'keyturn.sock');
  const { address, client } = await serveHere(t, '', { listen: `unix:${path}` });
  assert.equal(address, `unix:${path}`);
  const answer = await client.enQueue({ queue: 'orders', key: 'a' });
  assert.equal(answer.decision, 'accept');
});

test('beyond loopback it does not start where nobody is asked who they are', async () => {
  const { exitCode, stderr } = await command(['serve', '--listen', '0.0.0.0:0', '--http-listen', '127.0.0.1:0']);
  assert.equal(exitCode, 2);
  assert.match(stderr, /listen \(--listen\): is "0\.0\.0\.0:0", which others than this machine can reach/);
  assert.match(stderr, /KEYTURN_INSECURE=true/);
});

test('it warns when it listens beyond loopback without TLS, because somebody said so', async (t) => {
  const listen = ['--listen', '0.0.0.0:0', '--http-listen', '0.0.0.0:0'];
  const sidecar = await ServeProcess.start(t, [...listen, '--insecure', 'true']);
  const warnings = sidecar.lines.filter(({ level }) => level === 'warn');
  assert.deepEqual(
    warnings.map(({ listen, http_listen }) => ({ listen, http_listen })),
    [
      { listen: '0.0.0.0:0', http_listen: undefined },
      { listen: undefined, http_listen: '0.0.0.0:0' },
    ],
  );
  for (const { msg } of warnings) assert.match(String(msg), /^listens beyond loopback without TLS/);
});

for (const [flag, other] of [
  ['--listen', '--http-listen'],
  ['--http-listen', '--listen'],
] as const) {
  test(`a port in use (${flag}): a clear error, exit code 1, and nothing is left running`, async (t) => {
    const taken = createServer().listen(0, '127.0.0.1');
    t.after(() => taken.close());
    await once(taken, 'listening');
    const address = taken.address();
    const port = typeof address === 'object' && address !== null ? address.port : assert.fail();
    const { code, stderr } = await keyturn(['serve', flag, `127.0.0.1:${port}`, other, '127.0.0.1:0']);
    assert.equal(code, 1);
    assert.match(
      stderr,
      new RegExp(
        `^keyturn: ${flag.slice(2).replace('-', '_')}: 127\\.0\\.0\\.1:${port} is in use.*EADDRINUSE.*${flag}`,
        'm',
      ),
    );
    assert.doesNotMatch(stderr, /listening/);
    assert.doesNotMatch(stderr, /^\s+at /m);
  });
}

test('a socket path that cannot be used: a clear error, exit code 2', async () => {
  const socket = 'unix:/nonexistent/keyturn.sock';
  const { exitCode, stderr } = await command(['serve', '--listen', socket, '--http-listen', '127.0.0.1:0']);
  assert.equal(exitCode, 2);
  assert.match(stderr, /^keyturn: listen: .*\/nonexistent\/keyturn\.sock/m);
});

for (const [what, address, code, said] of [
  [
    'a socket in a directory that is not there',
    'unix:/nonexistent/k.sock',
    2,
    /directory that does not exist; make it first/,
  ],
  ['a socket below a file', 'unix:/etc/passwd/k.sock', 2, /below something that is no directory/],
  ['an address of another machine', '192.0.2.1:0', 2, /no address of this machine/],
] as const) {
  test(`${what}: it is said what is wrong with it, and how it is set`, async () => {
    const ended = await command(['serve', '--listen', address, '--http-listen', '127.0.0.1:0', '--insecure', 'true']);
    assert.equal(ended.exitCode, code);
    assert.match(ended.stderr, said);
    assert.match(ended.stderr, /^keyturn: listen: .*It is set by --listen, KEYTURN_LISTEN or listen in the file\.$/m);
  });
}
