import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it, mock } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { systemClock } from '../../src/local/clock.js';

const DAY = 86_400_000;
/** What setTimeout takes; one more and it means "at once". */
const LONGEST_TIMEOUT = 2_147_483_647;

describe("the system's clock", () => {
  it('goes forward, in ms with fractions', async () => {
    const before = systemClock.now();
    await wait(2);
    const passed = systemClock.now() - before;
    assert.ok(passed >= 1 && passed < 60_000);
  });

  it('tells the wall clock in ms since 1970', () => {
    assert.ok(Math.abs(systemClock.wall() - Date.now()) < 60_000);
  });

  it('runs what is wanted soon in a later turn of the event loop', async () => {
    let ran = false;
    const done = new Promise<void>((resolve) => {
      systemClock.soon(() => {
        ran = true;
        resolve();
      });
    });
    assert.equal(ran, false);
    await done;
  });

  it('runs what is wanted later once, and not before', async () => {
    const start = systemClock.now();
    await new Promise<void>((resolve) => void systemClock.after(5, resolve));
    // Node counts in whole ms from the start of the turn of its loop.
    assert.ok(systemClock.now() - start >= 3);
  });
});

describe("the system's clock over long times", () => {
  let runs = 0;
  const task = () => {
    runs += 1;
  };

  beforeEach(() => {
    runs = 0;
    mock.timers.enable({ apis: ['setTimeout'] });
  });

  afterEach(() => mock.timers.reset());

  for (const ms of [LONGEST_TIMEOUT, LONGEST_TIMEOUT + 1, 2 ** 32, 100 * DAY]) {
    it(`runs a task after ${ms} ms, once, and not before`, () => {
      systemClock.after(ms, task);
      // Mocked time arrives at the end of a tick before it runs what is due in it: each tick ends where a part may.
      for (let left = ms - 1; left > 0; left -= LONGEST_TIMEOUT) mock.timers.tick(Math.min(left, LONGEST_TIMEOUT));
      assert.equal(runs, 0);
      mock.timers.tick(1);
      assert.equal(runs, 1);
      for (let day = 0; day < 60; day++) mock.timers.tick(DAY);
      assert.equal(runs, 1);
    });
  }

  it('does not run what was called off, at any moment of a long wait', () => {
    for (const days of [0, 1, 30, 99]) {
      const callOff = systemClock.after(100 * DAY, task);
      for (let day = 0; day < days; day++) mock.timers.tick(DAY);
      callOff();
      for (let day = 0; day < 101; day++) mock.timers.tick(DAY);
    }
    assert.equal(runs, 0);
  });
});
