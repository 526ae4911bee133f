/** Answers that come later than the core gave them, because they wait for a disk, to calls and streams that may be gone. */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { Policy } from '../../../src/coordinator.js';
import { ListQueuesRequest } from '../../../src/grpc/gen/keyturn/v1/admin.js';
import {
  AcquireRequest,
  DeQueueRequest,
  EnQueueRequest,
  NewItem,
  SubmitRequest,
} from '../../../src/grpc/gen/keyturn/v1/coordinator.js';
import { LocalCoordinator } from '../../../src/local/coordinator.js';
import { settings } from '../../support/builders.js';
import { type Deferred, deferred } from '../../support/deferred.js';
import { MemoryDisk } from '../../support/memory-journal.js';
import { commands, expecting, SessionClient, seconds } from '../../support/session-client.js';
import { call, message, rawClients, type Sidecar, start, startSidecar } from '../../support/sidecar.js';
import { until } from '../../support/until.js';
import { failureIn, failureOf } from '../errors.js';

const ACCEPT = 1;

interface Durable extends Sidecar {
  readonly disk: MemoryDisk;
  readonly coordinator: LocalCoordinator;
  /** From now on nothing is flushed. @returns what lets all of it go */
  stop(): Deferred<void>;
  /** A write that does not end is under way. */
  isStuck(): Promise<void>;
}

interface Options {
  readonly disk?: MemoryDisk;
  readonly isReady?: boolean;
  /** Of the queue `q`. */
  readonly policy?: Partial<Policy>;
}

/** The queue `q` is durable; a real clock, a disk that can be stopped. */
async function durable(t: TestContext, options: Options = {}): Promise<Durable> {
  const { disk = new MemoryDisk(), isReady = true, policy } = options;
  const base = settings({ queues: { q: { durable: true, waitingPerKey: 'unlimited', ...policy }, m: {} } });
  const coordinator = new LocalCoordinator(base, { journal: disk.open() });
  t.after(() => coordinator.close());
  if (isReady) await coordinator.recover();
  let begun = 0;
  const stop = () => {
    const gate = deferred();
    begun = disk.writes;
    disk.fate = () => ({ does: 'wait', until: gate.promise });
    t.after(() => gate.resolve());
    return gate;
  };
  const isStuck = () => until(() => disk.writes > begun);
  return { ...(await startSidecar(t, coordinator)), disk, coordinator, stop, isStuck };
}

const enqueue = message(EnQueueRequest, { queue: 'q', key: 'k' });
const submit = message(SubmitRequest, { queue: 'q', items: [message(NewItem, { key: 'i' })] });

test('before it is ready every call is refused with UNAVAILABLE, STORE_UNAVAILABLE and when to try again', async (t) => {
  const disk = new MemoryDisk();
  disk.apply([{ put: { table: 'floor', token: 5 } }], 1);
  const { raw, rawAdmin, coordinator } = await durable(t, { disk, isReady: false });
  const refused = { code: 'UNAVAILABLE', reason: 'STORE_UNAVAILABLE', retryAfter: 1_000 };
  for (const ask of [
    () => call(raw, raw.enQueue, enqueue),
    () => call(raw, raw.enQueue, { ...enqueue, queue: 'm' }),
    () => call(raw, raw.submit, submit),
    () => call(rawAdmin, rawAdmin.listQueues, message(ListQueuesRequest)),
    () => call(rawAdmin, rawAdmin.pauseQueue, { queue: 'q', reason: '' }),
    () => new SessionClient(raw).failed(),
  ]) {
    const failure = await failureOf(ask());
    assert.deepEqual({ ...failure, ...refused }, failure);
    assert.match(failure.message, /^recovering: 0 %$/);
  }
  await coordinator.recover();
  assert.equal((await call(raw, raw.enQueue, enqueue)).decision, ACCEPT);
});

test('a disk that fails: UNAVAILABLE on unary calls and as the reply to a command; the stream goes on', async (t) => {
  const { raw, disk } = await durable(t);
  disk.fate = () => ({ does: 'fail', problem: 'full' });
  const refused = { code: 'UNAVAILABLE', reason: 'STORE_UNAVAILABLE', retryAfter: 1_000 };
  const failure = await failureOf(call(raw, raw.submit, submit));
  assert.deepEqual({ ...failure, ...refused }, failure);
  const session = new SessionClient(raw);
  const reply = failureIn(expecting('error', await session.reply(session.send(commands.enqueue())[0] ?? 0)));
  assert.deepEqual({ ...reply, ...refused }, reply);
  const other = await session.ask('enqueue', commands.enqueue({ queue: 'm' }));
  assert.equal(other.decision, ACCEPT);
});

test('a unary call that is cancelled while its turn waits for the disk: the next one gets the turn', async (t) => {
  const { raw, coordinator, stop, isStuck } = await durable(t);
  const gate = stop();
  const first = start(raw, raw.enQueue, enqueue);
  await isStuck();
  const next = call(raw, raw.enQueue, { ...enqueue, wait: seconds(60) });
  await until(() => coordinator.stats().waitingCalls === 1);
  first.cancel();
  await failureOf(first.answer);
  // The server hears of it later than its client does.
  await call(raw, raw.enQueue, { ...enqueue, queue: 'm', key: 'after it' });
  gate.resolve();
  const { decision, turn } = await next;
  assert.equal(decision, ACCEPT);
  assert.ok(turn);
  const end = message(DeQueueRequest, { queue: 'q', key: 'k', holder: { $case: 'token', value: turn.token } });
  await call(raw, raw.deQueue, end);
});

test('one that ended at its deadline, too', async (t) => {
  const { raw, coordinator, observed, stop, isStuck } = await durable(t);
  const gate = stop();
  const first = failureOf(call(raw, raw.enQueue, enqueue, 300));
  await isStuck();
  const next = call(raw, raw.enQueue, { ...enqueue, wait: seconds(60) });
  assert.equal((await first).code, 'DEADLINE_EXCEEDED');
  await until(() => observed.length === 1 && coordinator.stats().waitingCalls === 1);
  gate.resolve();
  assert.equal((await next).decision, ACCEPT);
});

test('a stream that breaks while its turns wait for the disk: they go to the next at once', async (t) => {
  const { raw, address, coordinator, stop, isStuck } = await durable(t);
  const { raw: other } = rawClients(t, address);
  const session = new SessionClient(other);
  await session.ask('hello', commands.hello({ sessionId: 's', ttl: seconds(600) }));
  const gate = stop();
  session.send(commands.enqueue(), commands.submit({ items: [message(NewItem, { key: 'i' })] }), commands.acquire());
  await isStuck();
  const next = new SessionClient(raw);
  const [caller = 0, worker = 0] = next.send(
    commands.enqueue({ wait: seconds(60) }),
    commands.acquire({ wait: seconds(60) }),
  );
  await until(() => coordinator.stats().waitingCalls === 2);
  other.close();
  session.stream.cancel();
  await session.ended;
  await until(() => coordinator.stats().sessions === 1);
  gate.resolve();
  assert.equal(expecting('enqueue', await next.reply(caller)).decision, ACCEPT);
  assert.equal(expecting('acquire', await next.reply(worker)).deliveries.length, 1);
});

test('after the half-close of the client what waits for the disk is still answered', async (t) => {
  const { raw, stop, isStuck } = await durable(t);
  const gate = stop();
  const session = new SessionClient(raw);
  const ids = session.send(commands.submit({ items: [message(NewItem, { key: 'i' })] }), commands.enqueue());
  session.stream.end();
  await isStuck();
  assert.ok(ids.every((id) => !session.hasReply(id)));
  gate.resolve();
  const [submitted = 0, given = 0] = ids;
  assert.equal(expecting('submit', await session.reply(submitted)).results.length, 1);
  assert.equal(expecting('enqueue', await session.reply(given)).decision, ACCEPT);
  assert.equal(await session.ended, undefined);
});

test('a command that is cancelled while its turn waits for the disk has one reply, and the turn goes on', async (t) => {
  const { raw, coordinator, stop, isStuck } = await durable(t);
  const session = new SessionClient(raw);
  const gate = stop();
  const [first = 0] = session.send(commands.enqueue());
  await isStuck();
  const [next = 0] = session.send(commands.enqueue({ wait: seconds(60) }));
  await until(() => coordinator.stats().waitingCalls === 1);
  assert.ok((await session.ask('cancel', commands.cancel(first))).cancelled);
  assert.equal(failureIn(expecting('error', await session.reply(first))).code, 'CANCELLED');
  gate.resolve();
  assert.equal(expecting('enqueue', await session.reply(next)).decision, ACCEPT);
});

const CARRIED_OUT = {
  DeQueue: ['dequeue', (token: bigint) => commands.dequeue(token, { key: 'i' })],
  Ack: ['ack', (token: bigint) => commands.ack(token, { key: 'i' })],
  'Ack that asks for the next turn': [
    'ack',
    (token: bigint) =>
      commands.ack(token, { key: 'i', next: message(AcquireRequest, { queues: ['q'], wait: seconds(0) }) }),
  ],
  Nack: ['nack', (token: bigint) => commands.nack(token, { key: 'i' })],
  Submit: ['submit', () => commands.submit({ items: [message(NewItem, { key: 'other' })] })],
  'Submit that may wait for room': [
    'submit',
    () => commands.submit({ items: [message(NewItem, { key: 'other' })], waitForRoom: seconds(60) }),
  ],
} as const;

for (const [what, [kind, command]] of Object.entries(CARRIED_OUT)) {
  test(`Cancel of a ${what} that only waits for the disk says that it was not cancelled, and its answer follows`, async (t) => {
    const { raw, stop, isStuck } = await durable(t);
    const session = new SessionClient(raw);
    const items = [message(NewItem, { key: 'i' })];
    if (kind !== 'dequeue') await session.ask('submit', commands.submit({ items }));
    const given = kind === 'dequeue' ? await session.ask('enqueue', commands.enqueue({ key: 'i' })) : undefined;
    const got = given === undefined ? await session.ask('acquire', commands.acquire()) : undefined;
    const turn = given?.turn ?? got?.deliveries[0]?.turn;
    assert.ok(turn);
    const gate = stop();
    const [asked = 0] = session.send(command(turn.token));
    await isStuck();
    assert.deepEqual(await session.ask('cancel', commands.cancel(asked)), { cancelled: false });
    assert.ok(!session.hasReply(asked));
    gate.resolve();
    expecting(kind, await session.reply(asked));
  });
}

test('a Submit that was let in while it waited for room, and waits for the disk, is not cancelled', async (t) => {
  const { raw, stop, isStuck } = await durable(t, { policy: { maxWaiting: 1 } });
  const session = new SessionClient(raw);
  await session.ask('submit', commands.submit({ items: [message(NewItem, { key: 'a', itemId: 'a' })] }));
  const items = [message(NewItem, { key: 'b', itemId: 'b' })];
  const [early = 0] = session.send(commands.submit({ items, waitForRoom: seconds(60) }));
  assert.deepEqual(await session.ask('cancel', commands.cancel(early)), { cancelled: true });
  assert.equal(failureIn(expecting('error', await session.reply(early))).code, 'CANCELLED');
  const [late = 0] = session.send(commands.submit({ items, waitForRoom: seconds(60) }));
  const gate = stop();
  session.send(commands.acquire());
  await isStuck();
  assert.deepEqual(await session.ask('cancel', commands.cancel(late)), { cancelled: false });
  gate.resolve();
  assert.equal(expecting('submit', await session.reply(late)).results[0]?.decision, ACCEPT);
});

test('many commands of many messages share a flush', async (t) => {
  const { raw, disk } = await durable(t);
  const session = new SessionClient(raw);
  const before = disk.writes;
  const items = [message(NewItem, { key: '' })];
  const ids = Array.from({ length: 50 }, () => session.send(...Array(20).fill(commands.submit({ items })))).flat();
  for (const id of ids) expecting('submit', await session.reply(id));
  assert.ok(disk.writes - before < 100, `${disk.writes - before} writes for 1,000 commands`);
});

test('the server stops while answers wait for the disk: they go out first', async (t) => {
  const { raw, coordinator, server, stop, isStuck } = await durable(t);
  const gate = stop();
  const unary = call(raw, raw.submit, submit);
  await isStuck();
  const drained = coordinator.drain(60_000);
  gate.resolve();
  await drained;
  await coordinator.close();
  await server.stop(5_000);
  assert.equal((await unary).results.length, 1);
});
