import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { QueueNumbers } from '../../src/coordinator.js';
import { LocalCoordinator } from '../../src/local/coordinator.js';
import { acquireRequest, deQueueRequest, settings } from '../support/builders.js';
import { Call } from '../support/call.js';
import { FakeClock } from '../support/fake-clock.js';

/** Queues whose numbers may be put together in one go. */
const SLICE = 50;

async function coordinatorOf(queues: number): Promise<{ clock: FakeClock; coordinator: LocalCoordinator }> {
  const clock = new FakeClock();
  const coordinator = new LocalCoordinator(settings({}), { clock, seed: 1 });
  for (let at = 0; at < queues; at++) await coordinator.admin.ask('pauseQueue', { queue: `q${at}` });
  return { clock, coordinator };
}

function staleOf(queue: QueueNumbers): number | undefined {
  return queue.stats().staleTokens['dequeue'];
}

/** @returns in how many turns of the event loop */
async function turnsUntil(done: Promise<unknown>, clock: FakeClock): Promise<number> {
  let isOver = false;
  void done.then(() => {
    isOver = true;
  });
  let turns = 0;
  for (await nextTurn(); !isOver; turns++) {
    clock.turn();
    await nextTurn();
  }
  return turns;
}

test('the numbers of very many queues are put together in slices, each queue once', async (t) => {
  const { clock, coordinator } = await coordinatorOf(SLICE * 8);
  t.after(() => coordinator.close());
  const told: string[] = [];
  const turns = await turnsUntil(
    coordinator.statsInSlices(({ name }) => void told.push(name)),
    clock,
  );
  assert.ok(turns >= 8, `${turns} turns of the event loop`);
  assert.deepEqual(
    told.filter((name) => name !== 'q'),
    Array.from({ length: SLICE * 8 }, (_, at) => `q${at}`),
  );
});

test('a slice ends after a millisecond, however few queues were in it', async (t) => {
  const { clock, coordinator } = await coordinatorOf(20);
  t.after(() => coordinator.close());
  const turns = await turnsUntil(
    coordinator.statsInSlices(() => clock.advance(0.25)),
    clock,
  );
  assert.ok(turns >= 5, `${turns} turns of the event loop`);
});

test('a queue is the same one as long as it exists, and keeps what it counted when it is forgotten', async (t) => {
  const clock = new FakeClock();
  const coordinator = new LocalCoordinator(settings({ limits: { queues: 2 } }), { clock, seed: 1 });
  t.after(() => coordinator.close());
  const seen = async () => {
    const all: QueueNumbers[] = [];
    await turnsUntil(
      coordinator.statsInSlices((queue) => void all.push(queue)),
      clock,
    );
    return all.find(({ name }) => name === 'a') ?? assert.fail();
  };
  const use = (name: string) => coordinator.acquire(acquireRequest({ queues: [name], wait: 0 }), new Call());
  const stale = (queue: string) => coordinator.deQueue(deQueueRequest({ queue, holder: { token: 1 } }), new Call());
  use('a');
  stale('a');
  const first = await seen();
  assert.equal(await seen(), first);
  assert.deepEqual([first.name, first.isGone, staleOf(first)], ['a', false, 1]);
  clock.advance(1);
  use('b');
  assert.equal(first.isGone, true);
  clock.advance(1);
  use('a');
  assert.equal(first.isGone, false, 'there is one of its name');
  const second = await seen();
  assert.notEqual(second, first);
  assert.deepEqual([staleOf(second), staleOf(first)], [0, 1]);
});

test('it ends, though queues come and go meanwhile', async (t) => {
  const clock = new FakeClock();
  const coordinator = new LocalCoordinator(settings({ limits: { queues: 2 * SLICE } }), { clock, seed: 1 });
  t.after(() => coordinator.close());
  let made = 0;
  // Each is forgotten for the next ones as soon as nothing is in it.
  const use = () => {
    for (let left = SLICE; left > 0; left--)
      coordinator.acquire(acquireRequest({ queues: [`q${made++}`], wait: 0 }), new Call());
  };
  use();
  let told = 0;
  let isOver = false;
  const all = coordinator
    .statsInSlices(() => {
      told += 1;
    })
    .then(() => {
      isOver = true;
    });
  for (let turn = 0; turn < 50 && !isOver; turn++) {
    clock.advance(1);
    use();
    await nextTurn();
    clock.turn();
  }
  assert.ok(isOver && told <= 2 * SLICE, `${told} of ${made} queues`);
  await all;
});
