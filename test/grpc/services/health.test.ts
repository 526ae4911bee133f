/** grpc.health.v1: the whole server and each service, in step with setServing, and no obstacle to a stop. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type TestContext, test } from 'node:test';
import { type Client, type ClientReadableStream, credentials, makeGenericClientConstructor } from '@grpc/grpc-js';
import { service } from 'grpc-health-check';
import { OWN_CONNECTION, startSidecar } from '../../support/sidecar.js';
import { errorOf } from '../errors.js';
import { FakeCoordinator } from '../fake-coordinator.js';

interface HealthClient extends Client {
  check(request: { service: string }, done: (error: Error | null, answer: { status: string }) => void): void;
  watch(request: { service: string }): ClientReadableStream<{ status: string }>;
}

const NAMES = ['', 'keyturn.v1.CoordinatorService', 'keyturn.v1.AdminService', 'keyturn.v1.LeaderService'];

async function healthOf(t: TestContext) {
  const sidecar = await startSidecar(t, new FakeCoordinator());
  const HealthClient = makeGenericClientConstructor(service, 'Health') as unknown as new (
    ...args: ConstructorParameters<typeof Client>
  ) => HealthClient;
  const client = new HealthClient(sidecar.address, credentials.createInsecure(), OWN_CONNECTION);
  t.after(() => client.close());
  const check = (name: string) =>
    new Promise<string>((resolve, reject) => {
      client.check({ service: name }, (error, answer) => (error ? reject(error) : resolve(answer.status)));
    });
  return { ...sidecar, client, check };
}

test('every name is SERVING from the start, and follows setServing', async (t) => {
  const { server, check } = await healthOf(t);
  for (const name of NAMES) assert.equal(await check(name), 'SERVING', name);
  server.setServing(false);
  for (const name of NAMES) assert.equal(await check(name), 'NOT_SERVING', name);
  server.setServing(true);
  for (const name of NAMES) assert.equal(await check(name), 'SERVING', name);
});

test('a name that is not served is NOT_FOUND', async (t) => {
  const { check } = await healthOf(t);
  assert.equal((await errorOf(check('keyturn.v1.Nothing'))).code, 5);
});

test('a Watch sees every change and ends when the server stops', async (t) => {
  const { client, server } = await healthOf(t);
  const stream = client.watch({ service: NAMES[1] ?? '' });
  const seen: string[] = [];
  stream.on('data', ({ status }: { status: string }) => seen.push(status));
  await once(stream, 'data');
  server.setServing(false);
  await once(stream, 'data');
  const ended = once(stream, 'end');
  await server.stop(10_000);
  await ended;
  assert.deepEqual(seen.slice(0, 2), ['SERVING', 'NOT_SERVING']);
});

test('a Watch of a name that is not served says so, and ends when the server stops', async (t) => {
  const { client, server } = await healthOf(t);
  const stream = client.watch({ service: 'nobody' });
  const [first] = await once(stream, 'data');
  assert.equal(first.status, 'SERVICE_UNKNOWN');
  const ended = once(stream, 'end');
  stream.resume();
  await server.stop(10_000);
  await ended;
});
