/** The end of a coordinator crosses what is in flight: everybody is answered, and the end comes. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { AwaitAnswer, SubmitAnswer } from '../../src/coordinator.js';
import { LocalCoordinator } from '../../src/local/coordinator.js';
import type { StoreState } from '../../src/local/durable/state.js';
import { newItem, QUEUE, settings } from '../support/builders.js';
import { Call } from '../support/call.js';
import { FakeClock } from '../support/fake-clock.js';
import { MemoryDisk } from '../support/memory-journal.js';

test('I7: who waits for an item from then on is refused, also from within the refusal of the one before', async () => {
  const coordinator = new LocalCoordinator(settings(), { clock: new FakeClock(), seed: 1 });
  const item = newItem({ itemId: 'i' });
  coordinator.submit({ queue: QUEUE, items: [item], waitForRoom: 0, durability: undefined }, new Call<SubmitAnswer>());
  const request = { queue: QUEUE, itemId: 'i', wait: 60_000 };
  const again = new Call<AwaitAnswer>();
  coordinator.awaitItem(request, {
    answer: () => assert.fail('it is not done'),
    refuse: () => void coordinator.awaitItem(request, again),
  });
  await coordinator.close();
  assert.equal(again.refusal.kind, 'draining');
  const later = new Call<AwaitAnswer>();
  coordinator.awaitItem(request, later);
  assert.equal(later.refusal.kind, 'draining');
  const look = new Call<AwaitAnswer>();
  coordinator.awaitItem({ ...request, wait: 0 }, look);
  assert.equal(look.value.state, 'waiting', 'who only looks is told');
});

test('a disk that never answers the first write does not keep the coordinator from its end', async () => {
  const clock = new FakeClock();
  const disk = new MemoryDisk();
  disk.fate = () => ({ does: 'wait', until: new Promise(() => undefined) });
  const told: StoreState[] = [];
  const onStore = (state: StoreState) => told.push(state);
  const coordinator = new LocalCoordinator(settings(), { clock, seed: 1, journal: disk.open(), onStore });
  void coordinator.recover();
  await nextTurn();
  assert.equal(disk.writes, 1);
  let isClosed = false;
  void coordinator.close().then(() => {
    isClosed = true;
  });
  for (let turns = 0; turns < 20 && !isClosed; turns++) {
    await nextTurn();
    clock.advance(1_000);
  }
  assert.ok(isClosed);
  const end = told.at(-1);
  assert.ok(end?.at === 'closed');
  assert.match(end.problem ?? '', /has not ended/, 'the directory may not be free');
});

test('S177: who wants to watch from then on is refused, also from within the end of the one before', async () => {
  const coordinator = new LocalCoordinator(settings(), { clock: new FakeClock(), seed: 1 });
  const watch = (end = (): void => assert.fail('it does not watch')) =>
    coordinator.admin.watch(undefined, undefined, { wake: () => undefined, end });
  const again: ReturnType<typeof watch>[] = [];
  const first = watch(() => {
    again.push(watch());
  });
  assert.ok(first.ok);
  await coordinator.close();
  for (const watched of [again[0], watch()]) {
    assert.ok(watched?.ok === false);
    assert.equal(watched.refusal.kind, 'draining');
  }
});
