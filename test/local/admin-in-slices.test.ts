/** What people ask for walks over much: others get their say in between, and what was asked for is fixed at the beginning. */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type {
  AcquireAnswer,
  Changed,
  DeadLetterPage,
  ItemChoice,
  NackAnswer,
  Policy,
  SubmitAnswer,
} from '../../src/coordinator.js';
import { LocalCoordinator } from '../../src/local/coordinator.js';
import { ALL_QUEUES, acquireRequest, nackRequest, newItem, QUEUE, settings } from '../support/builders.js';
import { Call } from '../support/call.js';
import { deferred } from '../support/deferred.js';
import { FakeClock } from '../support/fake-clock.js';
import { MemoryDisk } from '../support/memory-journal.js';

/** Letters looked at in one go. */
const SLICE = 5_000;
const LETTERS = 3 * SLICE;
/** Letters put back or removed in one go. */
const CHANGED = 1_000;
const ALL: ItemChoice = { queue: QUEUE, key: undefined, itemIds: [] };

function submit(coordinator: LocalCoordinator, items: Parameters<typeof newItem>[0][]): void {
  const call = new Call<SubmitAnswer>();
  const request = { queue: QUEUE, items: items.map(newItem), waitForRoom: 0, durability: undefined };
  coordinator.submit(request, call);
}

class CountingClock extends FakeClock {
  turns = 0;

  override soon(task: () => void): void {
    this.turns += 1;
    super.soon(task);
  }
}

/** A coordinator with so many dead letters, each of a key of its own. */
async function withLetters(t: TestContext, count: number, policy: Partial<Policy>, disk?: MemoryDisk) {
  const clock = new CountingClock();
  const base = settings({ queues: { [QUEUE]: { maxDeadLetters: count, ...policy } } });
  const coordinator = new LocalCoordinator(base, { clock, seed: 1, ...(disk && { journal: disk.open() }) });
  t.after(() => {
    void coordinator.close();
    clock.turn();
  });
  await coordinator.recover();
  for (let n = 0; n < count; n++) submit(coordinator, [{ key: `k${n}`, itemId: `i${n}` }]);
  for (let left = count; left > 0; ) {
    const taken = new Call<AcquireAnswer>();
    coordinator.acquire(acquireRequest({ maxTurns: 1_000 }), taken);
    await settled(clock, () => taken.outcome !== undefined);
    for (const { turn } of taken.value.deliveries) {
      coordinator.nack(nackRequest({ key: turn.key, token: turn.token, kind: 'dead_letter' }), new Call<NackAnswer>());
      left -= 1;
    }
  }
  return { clock, coordinator };
}

async function settled(clock: FakeClock, isDone: () => boolean): Promise<void> {
  for (let turns = 0; !isDone() && turns < 1_000; turns++) {
    await nextTurn();
    clock.turn();
  }
  assert.ok(isDone());
}

for (const [what, ask] of [
  ['Redrive', ({ admin }: LocalCoordinator) => admin.ask('redrive', ALL)],
  ['Discard', ({ admin }: LocalCoordinator) => admin.ask('discard', { ...ALL, waiting: false })],
  [
    'ListDeadLetters',
    ({ admin }: LocalCoordinator) => admin.ask('listDeadLetters', { ...ALL, pageSize: 100, pageToken: '' }),
  ],
] as const) {
  test(`S174: ${what} of very many letters lets others get their say after each slice of them`, async (t) => {
    const { clock, coordinator } = await withLetters(t, LETTERS, {});
    let done: Changed | DeadLetterPage | undefined;
    const before = clock.turns;
    void ask(coordinator).then((result) => {
      done = result.ok ? result.value : assert.fail();
    });
    await settled(clock, () => done !== undefined);
    assert.ok(clock.turns - before >= LETTERS / SLICE - 1, `${clock.turns - before} turns of the event loop`);
    if (done !== undefined && 'done' in done) assert.equal(done.done, LETTERS);
    const listed = await coordinator.admin.ask('listQueues', ALL_QUEUES);
    assert.ok(listed.ok);
    const waiting = what === 'Redrive' ? LETTERS : 0;
    assert.equal(listed.value.queues.find(({ name }) => name === QUEUE)?.waitingItems, waiting);
  });
}

for (const [what, ask] of [
  ['Redrive', ({ admin }: LocalCoordinator) => admin.ask('redrive', ALL)],
  ['Discard', ({ admin }: LocalCoordinator) => admin.ask('discard', { ...ALL, waiting: false })],
] as const) {
  test(`S625: what a slice of a ${what} changed is written before the next one: no batch has many of them`, async (t) => {
    const count = 8_000;
    const disk = new MemoryDisk();
    const { clock, coordinator } = await withLetters(t, count, { durable: true }, disk);
    await settled(clock, () => coordinator.stats().journal?.unwritten === 0);
    let largest = 0;
    disk.fate = (_, { length }) => {
      largest = Math.max(largest, length);
      // Slower than a slice.
      const gate = deferred();
      clock.after(1, gate.resolve);
      return { does: 'wait', until: gate.promise };
    };
    let done: Changed | undefined;
    void ask(coordinator).then((result) => {
      done = result.ok ? result.value : assert.fail();
    });
    await settled(clock, () => {
      for (let i = 0; i < 5; i++) clock.turn();
      clock.advance(1);
      return done !== undefined;
    });
    assert.equal(done?.done, count);
    assert.ok(largest > 0 && largest <= 3 * CHANGED, `${largest} rows in one batch`);
  });
}

test('S88: what is submitted while a Discard waits for the disk stays', async (t) => {
  const disk = new MemoryDisk();
  const { clock, coordinator } = await withLetters(t, 1, { durable: true }, disk);
  await settled(clock, () => coordinator.stats().journal?.unwritten === 0);
  submit(coordinator, [{ key: 'old', itemId: 'old' }]);
  await settled(clock, () => coordinator.stats().journal?.unwritten === 0);
  const gate = deferred();
  disk.fate = () => ({ does: 'wait', until: gate.promise });
  let gone: number | undefined;
  void coordinator.admin.ask('discard', { ...ALL, waiting: true }).then((result) => {
    gone = result.ok ? result.value.done : -1;
  });
  clock.turn();
  submit(coordinator, [{ key: 'new', itemId: 'new' }]);
  gate.resolve();
  disk.fate = () => ({ does: 'succeed' });
  await settled(clock, () => gone !== undefined);
  assert.equal(gone, 2);
  const explained = await coordinator.admin.ask('explainKey', { queue: QUEUE, key: 'new' });
  assert.ok(explained.ok);
  assert.equal(explained.value.waitingItems, 1);
});
