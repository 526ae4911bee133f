/** Where a server listens: TCP on free and taken ports, Unix sockets with what an earlier process left behind. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, lstatSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { networkInterfaces, tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { EnQueueRequest } from '../../../src/grpc/gen/keyturn/v1/coordinator.js';
import { call, message, startSidecar } from '../../support/sidecar.js';
import { FakeCoordinator } from '../fake-coordinator.js';

function temporaryPath(t: TestContext, name: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'keyturn-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return join(folder, name);
}

function serving(): FakeCoordinator {
  const coordinator = new FakeCoordinator();
  coordinator.admin.answers.listQueues = () =>
    Promise.resolve({ ok: true, value: { queues: [], more: false, holdUntil: undefined } });
  return coordinator;
}

// Some containers have no IPv6 at all; there the fourth is no address of the machine.
const v6 = Object.values(networkInterfaces()).some((addresses) => addresses?.some(({ address }) => address === '::1'));

for (const listen of ['127.0.0.1:0', 'localhost:0', '0.0.0.0:0', ...(v6 ? ['[::1]:0'] : [])]) {
  test(`${listen} gives a real port that a client reaches`, async (t) => {
    const { address, client } = await startSidecar(t, serving(), { listen });
    assert.match(address, /:[1-9]\d*$/);
    assert.deepEqual((await client.admin.listQueues()).queues, []);
  });
}

test('a port in use is an error that names the address', async (t) => {
  const { address } = await startSidecar(t, serving());
  await assert.rejects(startSidecar(t, serving(), { listen: address }), {
    message: new RegExp(`cannot listen on ${address}: .*EADDRINUSE`),
  });
});

for (const listen of [
  '',
  'nonsense',
  '127.0.0.1',
  ':7420',
  '127.0.0.1:70000',
  '127.0.0.1:x',
  'unix:',
  '::1:80',
  'a b:1',
]) {
  test(`${JSON.stringify(listen)} is refused with what is allowed`, async (t) => {
    await assert.rejects(startSidecar(t, serving(), { listen }), /allowed: host:port, \[v6\]:port or unix:\/path/);
  });
}

test('a Unix socket is for the owner and the group, and gone after a stop', async (t) => {
  for (const stop of ['stop', 'forceStop'] as const) {
    const path = temporaryPath(t, 'k.sock');
    const { address, client, server } = await startSidecar(t, serving(), { listen: `unix:${path}` });
    assert.equal(address, `unix:${path}`);
    assert.equal(lstatSync(path).mode & 0o777, 0o660);
    assert.deepEqual((await client.admin.listQueues()).queues, []);
    if (stop === 'stop') await server.stop(1_000);
    else server.forceStop();
    assert.equal(existsSync(path), false, stop);
  }
});

test('who calls through a Unix socket has a name too', async (t) => {
  const coordinator = serving();
  let caller: string | undefined;
  coordinator.enQueue = ({ consumerId }, reply) => {
    caller = consumerId;
    reply.answer({ decision: 'block', ahead: 1, retryAfter: undefined, ticket: undefined });
    return undefined;
  };
  const { raw } = await startSidecar(t, coordinator, { listen: `unix:${temporaryPath(t, 'k.sock')}` });
  await call(raw, raw.enQueue, message(EnQueueRequest, { queue: 'q', key: 'k' }));
  assert.equal(caller, 'unix');
});

test('a socket file that a killed process left is replaced', async (t) => {
  const path = temporaryPath(t, 'k.sock');
  const script = `require('node:net').createServer().listen(${JSON.stringify(path)}, () => process.kill(process.pid, 'SIGKILL'))`;
  await once(spawn(process.execPath, ['-e', script]), 'exit');
  assert.ok(lstatSync(path).isSocket());
  const { client } = await startSidecar(t, serving(), { listen: `unix:${path}` });
  assert.deepEqual((await client.admin.listQueues()).queues, []);
});

test('a socket that somebody answers on is left alone', async (t) => {
  const path = temporaryPath(t, 'k.sock');
  const other = createServer().listen(path);
  await once(other, 'listening');
  t.after(() => other.close());
  await assert.rejects(startSidecar(t, serving(), { listen: `unix:${path}` }), /another process listens there/);
  assert.ok(lstatSync(path).isSocket());
});

test('a file that is not a socket is left alone', async (t) => {
  const path = temporaryPath(t, 'precious.txt');
  writeFileSync(path, 'precious');
  await assert.rejects(startSidecar(t, serving(), { listen: `unix:${path}` }), /exists and is not a socket/);
  assert.ok(existsSync(path));
});

test('a folder that does not exist is an error that names the path', async (t) => {
  const path = join(temporaryPath(t, 'missing'), 'k.sock');
  await assert.rejects(
    startSidecar(t, serving(), { listen: `unix:${path}` }),
    new RegExp(`cannot listen on unix:${path}`),
  );
});
