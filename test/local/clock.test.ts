import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it, mock } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { ReadOnce, systemClock } from '../../src/local/clock.js';

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

describe('a clock that is read once', () => {
  let time = 0;
  const clock = new ReadOnce(() => time);
  const nextGo = () => new Promise<void>((resolve) => setImmediate(resolve));

  beforeEach(async () => {
    time = 0;
    await nextGo();
  });

  it('tells one time for what happens in one go', () => {
    assert.equal(clock.now(), 0);
    time = 1;
    assert.equal(clock.now(), 0);
  });

  it('is read anew when the event loop has had its say', async () => {
    clock.now();
    time = 1;
    await nextGo();
    assert.equal(clock.now(), 1);
    time = 2;
    await nextGo();
    assert.equal(clock.now(), 2);
  });

  it('is read anew for what a promise let go on', async () => {
    clock.now();
    time = 1;
    await Promise.resolve();
    assert.equal(clock.now(), 1);
  });

  it('is behind by a few calls at most where nobody lets the event loop have its say', () => {
    const seen = Array.from({ length: 100 }, () => {
      time += 1;
      return clock.now();
    });
    for (const [index, now] of seen.entries()) assert.ok(index + 1 - now < 16, `call ${index + 1} was told ${now}`);
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
