import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { LocalCoordinator } from '../../src/local/coordinator.js';
import { acquireRequest, settings } from '../support/builders.js';
import { Call } from '../support/call.js';
import { FakeClock } from '../support/fake-clock.js';

/** Queues whose numbers may be put together in one go. */
const SLICE = 50;

test('the numbers of very many queues are put together in slices, each queue once', async (t) => {
  const clock = new FakeClock();
  const coordinator = new LocalCoordinator(settings({}), { clock, seed: 1 });
  t.after(() => coordinator.close());
  const names = Array.from({ length: SLICE * 8 }, (_, at) => `q${at}`);
  for (const name of names) await coordinator.admin.pauseQueue(name);
  let turns = 0;
  let told: string[] | undefined;
  const all = coordinator.statsInSlices().then(({ queues }) => {
    told = queues.map(({ view }) => view.name);
  });
  for (; told === undefined; turns++) {
    await nextTurn();
    clock.turn();
  }
  await all;
  assert.ok(turns >= 8, `${turns} turns of the event loop`);
  assert.deepEqual(
    told.filter((name) => name !== 'q'),
    names,
  );
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
  let told: number | undefined;
  const all = coordinator.statsInSlices().then(({ queues }) => {
    told = queues.length;
  });
  for (let turn = 0; turn < 50 && told === undefined; turn++) {
    clock.advance(1);
    use();
    await nextTurn();
    clock.turn();
  }
  assert.ok(told !== undefined && told <= 2 * SLICE, `${told} of ${made} queues`);
  await all;
});
