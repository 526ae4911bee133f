/** WatchEvents: what the port's buffer gives, no faster than its reader reads, until one of the two ends. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type TestContext, test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { CoordinatorEvent, EventKind, Watcher } from '../../../src/coordinator.js';
import { deferred } from '../../support/deferred.js';
import { startSidecar } from '../../support/sidecar.js';
import { failureOf } from '../errors.js';
import { FakeCoordinator } from '../fake-coordinator.js';

const KINDS: Readonly<Record<EventKind, true>> = {
  arrival: true,
  turn: true,
  settlement: true,
  expiry: true,
  eviction: true,
  dead_letter: true,
  leaving: true,
  park: true,
  resume: true,
  redrive: true,
  discard: true,
  retry_now: true,
};

function event(fields: Partial<CoordinatorEvent>): CoordinatorEvent {
  return {
    kind: 'turn',
    at: 1_795_000_000_000,
    queue: 'q',
    key: 'k',
    token: undefined,
    itemId: undefined,
    consumerId: undefined,
    detail: undefined,
    ...fields,
  };
}

/** A sidecar whose port hands out one watch, with a buffer that the test fills. */
async function watched(t: TestContext) {
  const coordinator = new FakeCoordinator();
  const started = deferred<Watcher>();
  const stopped = deferred();
  const buffer = { events: [] as CoordinatorEvent[], missed: 0, takes: 0, asked: undefined as unknown };
  coordinator.admin.watch = (queue, key, watcher) => {
    buffer.asked = { queue, key };
    started.resolve(watcher);
    const take = () => {
      buffer.takes += 1;
      const taken = { events: buffer.events, missed: buffer.missed };
      buffer.events = [];
      buffer.missed = 0;
      return taken;
    };
    return { ok: true, value: { take, stop: () => stopped.resolve() } };
  };
  return { ...(await startSidecar(t, coordinator)), started, stopped, buffer };
}

test('events of every kind arrive in order, with what the reader missed', async (t) => {
  const { client, started, buffer, stopped } = await watched(t);
  const reader = client.admin.watchEvents('q', 'k');
  const first = reader.next();
  const watcher = await started.promise;
  assert.deepEqual(buffer.asked, { queue: 'q', key: 'k' });
  const kinds: EventKind[] = [];
  for (const kind in KINDS) kinds.push(kind as EventKind);
  buffer.events = kinds.map((kind) => event({ kind, token: 5, itemId: 'i', consumerId: 'c', detail: 'd' }));
  watcher.wake();
  const expected =
    buffer.asked && kinds.map((kind) => ({ ...event({ kind }), token: 5, itemId: 'i', consumerId: 'c', detail: 'd' }));
  assert.deepEqual((await first).value, { events: expected, missed: 0 });
  buffer.events = [event({})];
  buffer.missed = 7;
  watcher.wake();
  assert.deepEqual((await reader.next()).value, { events: [event({})], missed: 7 });
  await reader.return(undefined);
  await stopped.promise;
});

test('without a queue or a key the port is asked for all of them', async (t) => {
  const { client, started, buffer } = await watched(t);
  const reader = client.admin.watchEvents();
  const first = reader.next();
  const watcher = await started.promise;
  assert.deepEqual(buffer.asked, { queue: undefined, key: undefined });
  buffer.events = [event({ queue: 'mail' }), event({ queue: 'orders' })];
  watcher.wake();
  const { value } = await first;
  assert.deepEqual(
    value?.events.map(({ queue }: { queue: string }) => queue),
    ['mail', 'orders'],
  );
  await reader.return(undefined);
});

test('many events at once come in messages that a client accepts', async (t) => {
  const { rawAdmin, started, buffer } = await watched(t);
  const stream = rawAdmin.watchEvents({ queue: 'q' });
  stream.on('error', () => {}); // It is cancelled below.
  const sizes: number[] = [];
  const all = deferred();
  stream.on('data', ({ events }: { events: unknown[] }) => {
    sizes.push(events.length);
    if (sizes.length === 3) all.resolve();
  });
  const watcher = await started.promise;
  buffer.events = Array.from({ length: 1_200 }, () => event({ key: 'k'.repeat(1_024), itemId: 'i'.repeat(256) }));
  watcher.wake();
  await all.promise;
  assert.deepEqual(sizes, [500, 500, 200]);
  stream.cancel();
});

test('a reader that does not read is not written to without end', async (t) => {
  const { rawAdmin, started, buffer } = await watched(t);
  const stream = rawAdmin.watchEvents({ queue: 'q' });
  stream.on('error', () => {}); // It is cancelled below.
  stream.pause();
  const watcher = await started.promise;
  const large = Array.from({ length: 400 }, () => event({ key: 'k'.repeat(1_024) }));
  // Far more than the windows and buffers between the two ends hold.
  for (let wakes = 0; wakes < 200; wakes += 1) {
    buffer.events = large;
    watcher.wake();
    await nextTurn();
  }
  const before = buffer.takes;
  assert.ok(before < 100, `taken ${before} times`);
  buffer.events = [];
  buffer.missed = 12_345;
  const told = deferred<number>();
  stream.on('data', ({ missed }: { missed: bigint }) => {
    if (missed > 0n) told.resolve(Number(missed));
  });
  stream.resume();
  assert.equal(await told.promise, 12_345);
  stream.cancel();
});

test('the stream ends with its client, and the port hears it', async (t) => {
  const { rawAdmin, started, stopped, observed } = await watched(t);
  const stream = rawAdmin.watchEvents({ queue: 'q' });
  stream.on('error', () => {}); // Our own cancel.
  const watcher = await started.promise;
  stream.cancel();
  await stopped.promise;
  watcher.wake();
  assert.deepEqual(
    observed.map(({ method, code }) => [method, code]),
    [['/keyturn.v1.AdminService/WatchEvents', 'CANCELLED']],
  );
});

test('the stream ends with the port, and with the server', async (t) => {
  for (const end of ['port', 'server'] as const) {
    const { rawAdmin, started, stopped, server, observed } = await watched(t);
    const stream = rawAdmin.watchEvents({ queue: 'q' });
    stream.resume();
    const ended = once(stream, 'end');
    const watcher = await started.promise;
    if (end === 'port') watcher.end();
    else await server.stop(10_000);
    await ended;
    await stopped.promise;
    watcher.wake();
    watcher.end();
    assert.deepEqual(
      observed.map(({ code }) => code),
      ['OK'],
    );
  }
});

test('S357: the stream ends with the reason for which the port cannot be watched any more', async (t) => {
  const { rawAdmin, started, stopped } = await watched(t);
  const stream = rawAdmin.watchEvents({ queue: 'q' });
  stream.resume();
  const failed = once(stream, 'error');
  const full = { subject: 'watchers', limit: 100, description: '100 watch already', retryAfter: 1_000 };
  (await started.promise).end({ kind: 'limit', ...full });
  const [error] = await failed;
  const failure = await failureOf(Promise.reject(error));
  assert.deepEqual([failure.code, failure.reason], ['RESOURCE_EXHAUSTED', 'LIMIT']);
  await stopped.promise;
});

test('a watch that the port refuses is an error of the stream', async (t) => {
  const coordinator = new FakeCoordinator();
  const full = { subject: 'watchers', limit: 100, description: '100 watch already', retryAfter: 1_000 };
  coordinator.admin.watch = () => ({ ok: false, refusal: { kind: 'limit', ...full } });
  const { rawAdmin } = await startSidecar(t, coordinator);
  const [error] = await once(rawAdmin.watchEvents({ queue: 'q' }), 'error');
  const failure = await failureOf(Promise.reject(error));
  assert.deepEqual([failure.code, failure.reason, failure.retryAfter], ['RESOURCE_EXHAUSTED', 'LIMIT', 1_000]);
});
