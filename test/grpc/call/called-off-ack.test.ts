/** S131: an Ack whose `next` waits has been carried out. Who calls it off has to learn that it was. */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { ExplainKeyRequest } from '../../../src/grpc/gen/keyturn/v1/admin.js';
import { AcquireRequest, NewItem } from '../../../src/grpc/gen/keyturn/v1/coordinator.js';
import { LocalCoordinator } from '../../../src/local/coordinator.js';
import { settings } from '../../support/builders.js';
import { deferred } from '../../support/deferred.js';
import { MemoryDisk } from '../../support/memory-journal.js';
import { commands, expecting, SessionClient, seconds } from '../../support/session-client.js';
import { call, message, type Sidecar, startSidecar } from '../../support/sidecar.js';
import { until } from '../../support/until.js';

interface Begun extends Sidecar {
  readonly session: SessionClient;
  readonly coordinator: LocalCoordinator;
  readonly disk: MemoryDisk;
  /** Of the item `i`. */
  readonly token: bigint;
}

/** The session has the item `i` of the queue `q`, and somebody holds the key `busy` of the queue `other`. */
async function begin(t: TestContext, durable = false): Promise<Begun> {
  const disk = new MemoryDisk();
  const base = settings({ queues: { q: { durable }, other: {} } });
  const coordinator = new LocalCoordinator(base, { journal: disk.open() });
  t.after(() => coordinator.close());
  await coordinator.recover();
  const sidecar = await startSidecar(t, coordinator);
  const session = new SessionClient(sidecar.raw);
  await session.ask('enqueue', commands.enqueue({ queue: 'other', key: 'busy' }));
  await session.ask('submit', commands.submit({ items: [message(NewItem, { key: 'k', itemId: 'i' })] }));
  const { deliveries } = await session.ask('acquire', commands.acquire());
  const token = deliveries[0]?.turn?.token;
  assert.ok(token);
  return { ...sidecar, session, coordinator, disk, token };
}

const NEXT = { queues: ['other'], wait: seconds(60) };

interface Case {
  readonly what: string;
  readonly next: Partial<AcquireRequest>;
  readonly leave: boolean;
  /** Places that are left in the line of the key `busy`. */
  readonly places: number;
}

const CASES: readonly Case[] = [
  { what: 'any turn', next: NEXT, leave: false, places: 0 },
  { what: 'a key', next: { ...NEXT, key: 'busy' }, leave: false, places: 0 },
  { what: 'a key, by a ticket', next: { ...NEXT, key: 'busy', ticket: 't' }, leave: false, places: 1 },
  { what: 'a key, by a ticket that is given up', next: { ...NEXT, key: 'busy', ticket: 't' }, leave: true, places: 0 },
];

for (const { what, next, leave, places } of CASES) {
  test(`an Ack that waits for ${what} next and is called off answers that it was carried out, with an empty next`, async (t) => {
    const { session, coordinator, rawAdmin, token } = await begin(t);
    const [ack = 0] = session.send(commands.ack(token, { next: message(AcquireRequest, next) }));
    await until(() => coordinator.stats().waitingCalls === 1);
    assert.deepEqual(await session.ask('cancel', commands.cancel(ack, leave)), { cancelled: false });
    assert.deepEqual(expecting('ack', await session.reply(ack)), { followUps: [], next: { deliveries: [] } });
    const { state } = await session.ask('awaitItem', commands.awaitItem('i'));
    assert.equal(state, 3, 'ITEM_STATE_DONE');
    const line = await call(rawAdmin, rawAdmin.explainKey, message(ExplainKeyRequest, { queue: 'other', key: 'busy' }));
    assert.equal(line.waitingCallers, places);
    assert.deepEqual(await session.ask('cancel', commands.cancel(ack)), { cancelled: false });
  });
}

test('what the Ack itself changed is on the disk before its answer is told, and a second Cancel changes nothing', async (t) => {
  const { session, coordinator, disk, token } = await begin(t, true);
  const gate = deferred();
  t.after(() => gate.resolve());
  const before = disk.writes;
  disk.fate = () => ({ does: 'wait', until: gate.promise });
  const [ack = 0] = session.send(commands.ack(token, { next: message(AcquireRequest, NEXT) }));
  await until(() => coordinator.stats().waitingCalls === 1 && disk.writes > before);
  assert.deepEqual(await session.ask('cancel', commands.cancel(ack)), { cancelled: false });
  assert.equal(coordinator.stats().waitingCalls, 0);
  assert.deepEqual(await session.ask('cancel', commands.cancel(ack)), { cancelled: false });
  assert.ok(!session.hasReply(ack));
  gate.resolve();
  assert.deepEqual(expecting('ack', await session.reply(ack)), { followUps: [], next: { deliveries: [] } });
});
