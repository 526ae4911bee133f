/** How a session ends, by whom ever: what waits is given up, nothing is lost, nothing is left. */

import assert from 'node:assert/strict';
import { connect as connectHttp2 } from 'node:http2';
import { test } from 'node:test';
import { Server, ServerCredentials } from '@grpc/grpc-js';
import type { Coordinator, SessionListener } from '../../../src/coordinator.js';
import { DEFAULT_LIMITS } from '../../../src/core/contract/limits.js';
import { wholePort } from '../../../src/grpc/call/port.js';
import { OpenStreams } from '../../../src/grpc/call/streams.js';
import { serverOptions } from '../../../src/grpc/call/transport.js';
import { type EnQueueResponse, NewItem, SessionRequest } from '../../../src/grpc/gen/keyturn/v1/coordinator.js';
import { COORDINATOR_SERVICE, coordinatorService } from '../../../src/grpc/services/coordinator-service.js';
import { FrameClient } from '../../support/frames.js';
import { localCoordinator } from '../../support/local-coordinator.js';
import { beginSession, commands, expecting, SessionClient, seconds } from '../../support/session-client.js';
import { message, rawClients, startSidecar } from '../../support/sidecar.js';
import { until } from '../../support/until.js';
import { failureIn, failureOf } from '../errors.js';

const PATH = '/keyturn.v1.CoordinatorService/Session';
const ACCEPT = 1;
const BLOCK = 2;
const wholeMinute = { wait: seconds(60) };

function tokenOf({ decision, turn }: EnQueueResponse): bigint {
  assert.equal(decision, ACCEPT);
  assert.ok(turn);
  return turn.token;
}

const parked = (coordinator: Coordinator, count: number) => until(() => coordinator.stats().waitingCalls === count);
const opened = (coordinator: Coordinator, count: number) => until(() => coordinator.stats().sessions === count);

test('after the half-close of the client what waits is still answered, then the stream ends with OK', async (t) => {
  const coordinator = localCoordinator(t);
  const { raw } = await startSidecar(t, coordinator);
  const holder = new SessionClient(raw);
  const token = tokenOf(await holder.ask('enqueue', commands.enqueue()));
  const session = new SessionClient(raw);
  const [waiting = 0, atOnce = 0] = session.send(commands.enqueue(wholeMinute), commands.enqueue({ key: 'other' }));
  session.stream.end();
  tokenOf(expecting('enqueue', await session.reply(atOnce)));
  await holder.ask('dequeue', commands.dequeue(token));
  tokenOf(expecting('enqueue', await session.reply(waiting)));
  assert.equal(await session.ended, undefined);
  await opened(coordinator, 1);
});

test('a stream without a command that is half-closed ends with OK', async (t) => {
  const { raw } = await startSidecar(t, localCoordinator(t));
  const session = new SessionClient(raw);
  session.stream.end();
  assert.equal(await session.ended, undefined);
});

const BROKEN: Readonly<Record<string, (client: FrameClient) => void>> = {
  'is cancelled': (client) => client.cancel(),
  'loses its connection': (client) => client.break(),
};

for (const [what, breakOff] of Object.entries(BROKEN)) {
  test(`a stream that ${what} gives up what waits: without a ticket the place, with one only the wait`, async (t) => {
    const coordinator = localCoordinator(t, { policy: { waitingPerKey: 'unlimited' } });
    const { raw, address, client } = await startSidecar(t, coordinator);
    const holder = new SessionClient(raw);
    const token = tokenOf(await holder.ask('enqueue', commands.enqueue()));
    const session = await FrameClient.open(t, address);
    const waits = [
      commands.enqueue(wholeMinute),
      commands.enqueue({ ticket: 't', ...wholeMinute }),
      commands.acquire({ queues: ['other'], ...wholeMinute }),
    ];
    session.begin(PATH, SessionRequest.encode({ commands: waits.map((call, id) => ({ id, call })) }).finish());
    await parked(coordinator, 3);
    breakOff(session);
    // The ticket's place counts as one that waits.
    await parked(coordinator, 1);
    await opened(coordinator, 1);
    const { line } = await client.admin.explainKey('q', 'k');
    assert.deepEqual(
      line.map(({ id }) => id),
      ['t'],
    );
    await holder.ask('dequeue', commands.dequeue(token));
  });
}

test('a stream whose deadline comes ends so; waits are answered a little before', async (t) => {
  const coordinator = localCoordinator(t);
  const { raw } = await startSidecar(t, coordinator);
  const session = new SessionClient(raw, 2_000);
  tokenOf(await session.ask('enqueue', commands.enqueue()));
  const [waiting = 0] = session.send(commands.enqueue(wholeMinute));
  assert.equal(expecting('enqueue', await session.reply(waiting)).decision, BLOCK);
  assert.equal((await failureOf(session.failed())).code, 'DEADLINE_EXCEEDED');
  await opened(coordinator, 0);
});

/** A command that is right, then one whose bytes say that they go on after the end of the message. */
const HALF_GOOD = Buffer.concat([
  SessionRequest.encode({ commands: [{ id: 900, call: commands.enqueue() }] }).finish(),
  Buffer.from([0x0a, 0x05, 0x08]),
]);
/** A key that is not UTF-8. */
const BAD_TEXT = Buffer.from('0a0a08011206' + '0a0171' + '1201ff', 'hex');
const HUGE = SessionRequest.encode({
  commands: [
    {
      id: 1,
      call: commands.submit({
        items: Array.from({ length: 5 }, () => message(NewItem, { payload: Buffer.alloc(1_000_000) })),
      }),
    },
  ],
}).finish();

const UNREADABLE: Readonly<Record<string, { bytes: Uint8Array; code: string; field?: string }>> = {
  'that is cut off': { bytes: HALF_GOOD, code: 'INVALID_ARGUMENT', field: 'commands[1]' },
  'with text that is not UTF-8': { bytes: BAD_TEXT, code: 'INVALID_ARGUMENT', field: 'commands[0]' },
  'of random bytes': { bytes: Buffer.alloc(100, 0xff), code: 'INVALID_ARGUMENT', field: 'commands[0]' },
  'over limits.message_bytes': { bytes: HUGE, code: 'RESOURCE_EXHAUSTED' },
};

for (const [what, { bytes, code, field }] of Object.entries(UNREADABLE)) {
  test(`a message ${what} ends its stream with ${code}; what waits is given up, and other streams go on`, async (t) => {
    const coordinator = localCoordinator(t);
    const { raw, log } = await startSidecar(t, coordinator);
    const other = new SessionClient(raw);
    await other.ask('cancel', commands.cancel(0));
    const session = new SessionClient(raw);
    session.send(commands.acquire({ queues: ['x'], ...wholeMinute }));
    await parked(coordinator, 1);
    session.stream.write(bytes);
    const error = await failureOf(session.failed());
    assert.equal(error.code, code);
    assert.equal(error.fields[0]?.field, field);
    await parked(coordinator, 0);
    await opened(coordinator, 1);
    await other.ask('cancel', commands.cancel(0));
    assert.deepEqual(log, []);
  });
}

test('what came before a command that is malformed is done and answered', async (t) => {
  const { raw, client } = await startSidecar(t, localCoordinator(t));
  const session = new SessionClient(raw);
  session.stream.write(HALF_GOOD);
  tokenOf(expecting('enqueue', await session.reply(900)));
  assert.equal((await failureOf(session.failed())).reason, 'BAD_REQUEST');
  assert.equal((await client.admin.explainKey('q', 'k')).state, 'PROCESS');
});

test('while draining what waits is answered DRAINING and turns are ended; stop ends the stream with DRAINING', async (t) => {
  const coordinator = localCoordinator(t);
  const { raw, server } = await startSidecar(t, coordinator);
  const session = new SessionClient(raw);
  const token = tokenOf(await session.ask('enqueue', commands.enqueue()));
  await session.ask('submit', commands.submit({ queue: 'items', items: [message(NewItem, { itemId: 'i' })] }));
  const waits = session.send(commands.enqueue(wholeMinute), commands.acquire({ queues: ['x'], ...wholeMinute }));
  await parked(coordinator, 2);
  const drained = coordinator.drain(30_000);
  for (const id of waits) {
    assert.equal(failureIn(expecting('error', await session.reply(id))).reason, 'DRAINING');
  }
  const refused = failureIn(await session.ask('error', commands.enqueue({ key: 'new' })));
  assert.deepEqual([refused.code, refused.reason, refused.retryAfter], ['UNAVAILABLE', 'DRAINING', 1_000]);
  await session.ask('dequeue', commands.dequeue(token));
  assert.deepEqual(await drained, { liveTurns: 0, lostItems: 1 });
  const [awaiting = 0] = session.send(commands.awaitItem('i', { ...wholeMinute, queue: 'items' }));
  await parked(coordinator, 1);
  coordinator.close();
  const stopped = server.stop(30_000);
  assert.equal(failureIn(expecting('error', await session.reply(awaiting))).reason, 'DRAINING', 'before the end');
  const error = await failureOf(session.failed());
  assert.deepEqual([error.code, error.reason, error.retryAfter], ['UNAVAILABLE', 'DRAINING', 1_000]);
  await stopped;
});

test('a connection that grew old takes no new calls, but its sessions go on', async (t) => {
  const coordinator = localCoordinator(t);
  const port = wholePort(coordinator, undefined);
  const context = {
    coordinator,
    limits: DEFAULT_LIMITS,
    parked: { count: 0 },
    log: { info() {}, warn() {}, error() {} },
    portOf: () => port,
  };
  const options = serverOptions({ limits: DEFAULT_LIMITS }, () => {});
  assert.ok(!('grpc.max_connection_age_grace_ms' in options), 'with it, grpc-js breaks the connection off');
  const aged = { ...options, 'grpc.max_connection_age_ms': 50 };
  const server = new Server(aged);
  t.after(() => server.forceShutdown());
  server.addService(COORDINATOR_SERVICE, coordinatorService(context, new OpenStreams()));
  const bound = await new Promise<number>((resolve, reject) => {
    server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, number) =>
      error ? reject(error) : resolve(number),
    );
  });
  const { raw } = rawClients(t, `127.0.0.1:${bound}`);
  const session = new SessionClient(raw);
  const token = tokenOf(await session.ask('enqueue', commands.enqueue()));
  const peerOf = async (key: string) => {
    const explained = await coordinator.admin.ask('explainKey', { queue: 'q', key });
    return explained.ok ? explained.value.holder?.consumerId : undefined;
  };
  const first = await peerOf('k');
  // New calls go elsewhere once the connection is old.
  for (let key = 0; ; key++) {
    const other = new SessionClient(raw);
    await other.ask('enqueue', commands.enqueue({ key: String(key) }));
    if ((await peerOf(String(key))) !== first) break;
    other.stream.cancel();
  }
  const [waiting = 0] = session.send(commands.enqueue(wholeMinute));
  await parked(coordinator, 1);
  await session.ask('dequeue', commands.dequeue(token));
  tokenOf(expecting('enqueue', await session.reply(waiting)));
});

test('10,000 sessions that are opened and dropped leave nothing', async (t) => {
  const coordinator = localCoordinator(t, { policy: { waitingPerKey: 'unlimited' } });
  const { raw, address } = await startSidecar(t, coordinator);
  tokenOf(await new SessionClient(raw).ask('enqueue', commands.enqueue({ lease: seconds(600) })));
  for (let round = 0; round < 20; round++) {
    const connection = connectHttp2(`http://${address}`);
    for (let index = 0; index < 500; index++) {
      const hello = commands.hello({ ttl: seconds(0.1) });
      beginSession(connection, hello, commands.enqueue({ key: `${round} ${index}` }), commands.enqueue(wholeMinute));
    }
    await parked(coordinator, 500);
    connection.destroy();
    await parked(coordinator, 0);
  }
  await opened(coordinator, 1);
  const turns = () => coordinator.stats().queues[0]?.view.liveTurns;
  await until(() => turns() === 1);
  const busy = { ...coordinator.stats().queues[0]?.view.states, INIT: 0 };
  assert.deepEqual(busy, { INIT: 0, PROCESS: 1, BLOCK: 0, READY: 0, DELAY: 0, PARK: 0 });
});

test('turns of which the client cannot know end with the stream, and others get them', async (t) => {
  const coordinator = localCoordinator(t);
  const { raw, address } = await startSidecar(t, coordinator);
  const worker = new SessionClient(raw);
  // More than a client takes that does not read.
  const item = message(NewItem, { key: 'k', payload: Buffer.alloc(200_000) });
  await worker.ask('submit', commands.submit({ queue: 'big', items: [item] }));
  const connection = connectHttp2(`http://${address}`);
  t.after(() => connection.destroy());
  const deaf = beginSession(connection, commands.acquire({ queues: ['big'] }), commands.hello(), commands.enqueue());
  await until(() => coordinator.stats().queues.filter(({ view }) => view.liveTurns === 1).length === 2);
  const [caller = 0, taker = 0] = worker.send(
    commands.enqueue(wholeMinute),
    commands.acquire({ queues: ['big'], ...wholeMinute }),
  );
  await parked(coordinator, 2);
  deaf.destroy();
  tokenOf(expecting('enqueue', await worker.reply(caller)));
  const [delivery] = expecting('acquire', await worker.reply(taker)).deliveries;
  assert.equal(delivery?.items[0]?.attempt, 1, 'it cost no attempt');
});

test('S359: a stream whose turns live where nobody tells of their end is ended, and the worker comes anew', async (t) => {
  const coordinator = localCoordinator(t);
  const openSession = coordinator.openSession.bind(coordinator);
  const listeners: SessionListener[] = [];
  coordinator.openSession = (listener) => {
    listeners.push(listener);
    return openSession(listener);
  };
  const { raw } = await startSidecar(t, coordinator);
  const session = new SessionClient(raw);
  await session.ask('hello', commands.hello({ sessionId: 's' }));
  await session.ask('enqueue', commands.enqueue());
  listeners[0]?.broken?.({
    kind: 'no_home',
    partition: 7,
    description: 'there is no link to its home',
    retryAfter: 50,
  });
  const error = await failureOf(session.failed());
  assert.deepEqual([error.code, error.reason], ['UNAVAILABLE', 'NO_HOME']);
  await opened(coordinator, 0);
  const again = new SessionClient(raw);
  assert.equal((await again.ask('hello', commands.hello({ sessionId: 's' }))).turnCount, 1);
});
