/** Unary calls that are given up in the moment in which they are granted: what their clients never had, nobody holds. */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import {
  AckRequest,
  AcquireRequest,
  EnQueueRequest,
  NewItem,
  SubmitRequest,
} from '../../../src/grpc/gen/keyturn/v1/coordinator.js';
import type { LocalCoordinator } from '../../../src/local/coordinator.js';
import { FrameClient } from '../../support/frames.js';
import { localCoordinator } from '../../support/local-coordinator.js';
import { seconds } from '../../support/session-client.js';
import { call, message, rawClients, type Sidecar, startSidecar } from '../../support/sidecar.js';
import { until } from '../../support/until.js';

const ACCEPT = 1;
/** No turn ends by itself while a test waits. */
const LONG = { policy: { lease: 600_000 } };

interface Stage extends Sidecar {
  readonly coordinator: LocalCoordinator;
  live(): number;
}

async function stage(t: TestContext): Promise<Stage> {
  const coordinator = localCoordinator(t, LONG);
  return { ...(await startSidecar(t, coordinator)), coordinator, live: () => liveTurns(coordinator) };
}

const enQueue = (fields: Partial<EnQueueRequest> = {}) => message(EnQueueRequest, { queue: 'q', key: 'k', ...fields });
const acquire = message(AcquireRequest, { queues: ['q'] });

async function submit({ raw }: Sidecar, ...keys: string[]): Promise<void> {
  const items = keys.map((key) => message(NewItem, { key, itemId: key }));
  await call(raw, raw.submit, message(SubmitRequest, { queue: 'q', items }));
}

/** A call whose answer cannot leave, because its client lets nothing in. */
async function begun(t: TestContext, stage: Stage, method: string, request: Uint8Array): Promise<FrameClient> {
  const client = await FrameClient.open(t, stage.address, 0);
  client.begin(`/keyturn.v1.CoordinatorService/${method}`, request);
  client.end();
  await until(() => stage.live() === 1);
  return client;
}

const GIVEN_UP: Readonly<Record<string, (client: FrameClient) => void>> = {
  'is cancelled': (client) => client.cancel(),
  'loses its connection': (client) => client.break(),
};

for (const [how, giveUp] of Object.entries(GIVEN_UP)) {
  test(`a granted EnQueue that ${how} before its answer has left gives the turn back`, async (t) => {
    const now = await stage(t);
    giveUp(await begun(t, now, 'EnQueue', EnQueueRequest.encode(enQueue()).finish()));
    await until(() => now.live() === 0);
    assert.equal((await call(now.raw, now.raw.enQueue, enQueue())).decision, ACCEPT);
  });

  test(`a granted EnQueue with a ticket that ${how} before its answer has left keeps the turn for its ticket`, async (t) => {
    const now = await stage(t);
    giveUp(await begun(t, now, 'EnQueue', EnQueueRequest.encode(enQueue({ ticket: 't' })).finish()));
    await until(() => now.observed.length === 1);
    assert.notEqual((await call(now.raw, now.raw.enQueue, enQueue({ wait: seconds(0) }))).decision, ACCEPT);
    assert.equal((await call(now.raw, now.raw.enQueue, enQueue({ ticket: 't' }))).decision, ACCEPT);
  });

  test(`an Acquire that ${how} before its answer has left gives its items back, without an attempt`, async (t) => {
    const now = await stage(t);
    await submit(now, 'a');
    giveUp(await begun(t, now, 'Acquire', AcquireRequest.encode(acquire).finish()));
    await until(() => now.live() === 0);
    const [again] = (await call(now.raw, now.raw.acquire, acquire)).deliveries;
    assert.deepEqual([again?.items[0]?.itemId, again?.turn?.attempt], ['a', 1]);
  });

  test(`an Ack whose next turn was given, and that ${how} before its answer has left, gives that one back`, async (t) => {
    const now = await stage(t);
    await submit(now, 'a', 'b');
    const [first] = (await call(now.raw, now.raw.acquire, acquire)).deliveries;
    assert.ok(first?.turn);
    const ack = message(AckRequest, { queue: 'q', key: 'a', token: first.turn.token, next: acquire });
    giveUp(await begun(t, now, 'Ack', AckRequest.encode(ack).finish()));
    await until(() => now.live() === 0);
    const [again] = (await call(now.raw, now.raw.acquire, acquire)).deliveries;
    assert.deepEqual([again?.items[0]?.itemId, again?.turn?.attempt], ['b', 1]);
  });
}

test('a turn whose answer has arrived lives on when its connection is closed', async (t) => {
  const now = await stage(t);
  const { raw } = rawClients(t, now.address);
  await call(raw, raw.enQueue, enQueue());
  raw.close();
  const waits = call(now.raw, now.raw.enQueue, enQueue({ wait: seconds(0) }));
  assert.notEqual((await waits).decision, ACCEPT);
  assert.equal(now.live(), 1);
});

function liveTurns(coordinator: LocalCoordinator): number {
  return coordinator.stats().queues.reduce((sum, { view }) => sum + view.liveTurns, 0);
}
