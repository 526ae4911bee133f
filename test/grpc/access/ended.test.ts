/** S427: whatever was opened with a token ends when the token is taken away; nothing of another principal does. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type ServiceError, status } from '@grpc/grpc-js';
import * as admin from '../../../src/grpc/gen/keyturn/v1/admin.js';
import * as wire from '../../../src/grpc/gen/keyturn/v1/coordinator.js';
import * as leader from '../../../src/grpc/gen/keyturn/v1/leader.js';
import { commands } from '../../support/session-client.js';
import { message } from '../../support/sidecar.js';
import { until } from '../../support/until.js';
import { type Stage, stage, turnOf } from './two-principals.js';

const LONG = { seconds: 60n, nanos: 0 };
/** What does not end is named, and does not hold up the other files. */
const PATIENT = { timeout: 120_000 };
const V1 = '/keyturn.v1';

interface Encodes {
  readonly path: string;
  readonly first?: Uint8Array;
}

/** Each begins with what it is asked, if anything. */
const STREAMS: Readonly<Record<string, Encodes>> = {
  Session: { path: `${V1}.CoordinatorService/Session` },
  Lead: { path: `${V1}.LeaderService/Lead` },
  WatchLeader: {
    path: `${V1}.LeaderService/WatchLeader`,
    first: leader.WatchLeaderRequest.encode({ group: 'g' }).finish(),
  },
  WatchEvents: {
    path: `${V1}.AdminService/WatchEvents`,
    first: admin.WatchEventsRequest.encode(message(admin.WatchEventsRequest, { queue: 'q' })).finish(),
  },
  'health Watch': { path: '/grpc.health.v1.Health/Watch', first: new Uint8Array(0) },
  reflection: { path: '/grpc.reflection.v1.ServerReflection/ServerReflectionInfo' },
};

/** @returns how it ended */
function opened({ raw, metadata }: Stage, { path, first }: Encodes, name: string): Promise<number> {
  const same = (bytes: Buffer) => bytes;
  const stream = raw.makeBidiStreamRequest(path, same, same, metadata(name));
  stream.on('error', () => {});
  stream.on('data', () => {});
  const ended = new Promise<number>((resolve) => stream.on('status', ({ code }) => resolve(code)));
  if (first !== undefined) stream.end(Buffer.from(first));
  return ended;
}

for (const [what, stream] of Object.entries(STREAMS)) {
  test(`${what} ends with its token, and that of another principal goes on`, PATIENT, async (t) => {
    const on = await stage(t);
    const ended = opened(on, stream, 'ada');
    const other = opened(on, stream, 'bob');
    await again(on);
    on.keep('bob');
    assert.equal(await ended, status.UNAUTHENTICATED);
    // Whatever the first end has set off has had its time.
    await again(on);
    assert.equal(await Promise.race([other, Promise.resolve('goes on')]), 'goes on');
  });
}

/** What this connection began before has come to its handler when this is answered. */
function again({ raw, metadata }: Stage): Promise<void> {
  const same = (bytes: Buffer) => bytes;
  return new Promise((resolve, reject) => {
    raw.makeUnaryRequest(`${V1}.AdminService/ListQueues`, same, same, Buffer.alloc(0), metadata('bob'), (error) =>
      error ? reject(error) : resolve(),
    );
  });
}

type Done = (error: ServiceError | null) => void;

/** Calls that wait: on a key that bob holds, an empty queue, an item that nobody does, room that there is not. */
const WAITING: Readonly<Record<string, (on: Stage, token: bigint, done: Done) => unknown>> = {
  EnQueue: ({ raw, metadata }, _, done) =>
    raw.enQueue(message(wire.EnQueueRequest, { queue: 'q', key: 'k', wait: LONG }), metadata('ada'), done),
  Acquire: ({ raw, metadata }, _, done) =>
    raw.acquire(message(wire.AcquireRequest, { queues: ['q'], wait: LONG }), metadata('ada'), done),
  Await: ({ raw, metadata }, _, done) =>
    raw.await(message(wire.AwaitRequest, { queue: 'shared', itemId: 'i', wait: LONG }), metadata('ada'), done),
};

function isWaiting({ coordinator }: Stage): boolean {
  return coordinator.stats().waitingCalls > 0;
}

for (const [what, ask] of Object.entries(WAITING)) {
  test(`${what} that waits ends with its token`, PATIENT, async (t) => {
    const on = await stage(t);
    const bob = on.session('bob');
    turnOf(await bob.ask('enqueue', commands.enqueue()));
    const item = { ...message(wire.NewItem), key: 'k', itemId: 'i' };
    await bob.ask('submit', commands.submit({ queue: 'shared', items: [item] }));
    const code = new Promise<number | undefined>((resolve) => ask(on, 0n, (error) => resolve(error?.code)));
    await until(() => isWaiting(on));
    on.keep('bob');
    assert.equal(await code, status.UNAUTHENTICATED);
    assert.equal(isWaiting(on), false);
  });
}
