import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { Timer, TimingWheel } from '../../../src/core/structures/timing-wheel.js';

const DAY = 86_400_000;
/** What the levels of the wheel span together. */
const ERA = 2 ** 30;
const ALL = 1_000_000;

/** A wheel beside the dumbest thing that does the same: a list, sorted by due time and then by order of scheduling. */
class Pair {
  readonly wheel: TimingWheel;
  readonly fired: Timer[] = [];
  #list: { timer: Timer; due: number }[] = [];
  /** Timers that schedule themselves again when they fire, and after how long. */
  readonly #again = new Map<Timer, number>();

  constructor(public now: number) {
    this.wheel = new TimingWheel(now);
  }

  schedule(timer: Timer, after: number): void {
    const due = Math.ceil(this.now + after);
    this.#forget(timer);
    const at = this.#list.findIndex((other) => other.due > due);
    this.#list.splice(at < 0 ? this.#list.length : at, 0, { timer, due });
    this.wheel.schedule(timer, due);
    this.#check();
  }

  scheduleOnFiring(timer: Timer, after: number): void {
    this.#again.set(timer, after);
  }

  cancel(timer: Timer): void {
    this.#forget(timer);
    this.wheel.cancel(timer);
    this.#check();
  }

  /** One call of the wheel. @returns whether something may be left */
  advance(budget: number): boolean {
    let left = budget;
    const more = this.wheel.advance(this.now, budget, (timer) => {
      left -= 1;
      this.#fire(timer);
    });
    assert.ok(left >= 0, 'the budget is kept');
    if (!more) assert.ok((this.#list[0]?.due ?? Infinity) > this.now, 'nothing due is left');
    this.#check();
    return more;
  }

  get waiting(): number {
    return this.#list.length;
  }

  get firstDue(): number {
    return this.#list[0]?.due ?? Number.POSITIVE_INFINITY;
  }

  #fire(timer: Timer): void {
    const first = this.#list.shift();
    assert.equal(timer, first?.timer, 'in order of due time, then of scheduling; never twice, none lost');
    assert.ok(timer.due <= this.now, 'never early');
    this.fired.push(timer);
    const after = this.#again.get(timer);
    this.#again.delete(timer);
    if (after !== undefined) this.schedule(timer, after);
  }

  #forget(timer: Timer): void {
    this.#list = this.#list.filter((other) => other.timer !== timer);
  }

  #check(): void {
    assert.ok(this.wheel.wakeAt <= this.firstDue, `woken at ${this.wheel.wakeAt}, but due at ${this.firstDue}`);
  }
}

describe('the timing wheel', () => {
  const dues = [0, 1, 63, 64, 65, 4_095, 4_096, 262_144, 2 ** 24, 2 ** 29, ERA - 1, ERA, ERA + 1, 2 ** 31, 2 ** 32];
  for (const after of [...dues, 30 * DAY, 40 * DAY]) {
    it(`fires what is due after ${after} ms then, and not one ms earlier`, () => {
      const pair = new Pair(1_000);
      pair.schedule(new Timer(), after);
      pair.now += after - 1;
      if (after > 0) while (pair.advance(ALL));
      assert.equal(pair.fired.length, 0);
      pair.now += 1;
      while (pair.advance(ALL));
      assert.equal(pair.fired.length, 1);
    });
  }

  it('wakes up a few times for what is far away, not once a slot', () => {
    const pair = new Pair(0);
    pair.schedule(new Timer(), 40 * DAY);
    let wakes = 0;
    for (; pair.fired.length === 0; wakes++) {
      pair.now = Math.max(pair.now, pair.wheel.wakeAt);
      pair.advance(ALL);
    }
    assert.equal(pair.now, 40 * DAY);
    // Once an era, then once a level.
    assert.ok(wakes <= 3 + 5, `${wakes} wake-ups`);
  });

  it('a timer that is scheduled again fires once, at its last moment', () => {
    const pair = new Pair(0);
    const timer = new Timer();
    for (const after of [5, 500_000, ERA * 2, 70, 0, 90]) pair.schedule(timer, after);
    pair.now = ERA * 3;
    while (pair.advance(1));
    assert.deepEqual(pair.fired, [timer]);
  });

  it('a cancelled timer does not fire, and does not keep the wheel awake for ever', () => {
    const pair = new Pair(0);
    const timers = [3, 300, 30_000, ERA * 2].map((after) => {
      const timer = new Timer();
      pair.schedule(timer, after);
      return timer;
    });
    for (const timer of timers) pair.cancel(timer);
    for (let wakes = 0; pair.wheel.wakeAt < Infinity; wakes++) {
      assert.ok(wakes < 10, 'at most one wake-up a slot');
      pair.now = Math.max(pair.now, pair.wheel.wakeAt);
      pair.advance(ALL);
    }
    assert.deepEqual(pair.fired, []);
  });

  it('those of one moment fire in the order of scheduling, also when one of them schedules another for then', () => {
    const pair = new Pair(0);
    const [first, second] = [new Timer(), new Timer()];
    // Both come down from a level above at 64; the first fires there and is scheduled anew before the second is placed.
    pair.schedule(first, 64);
    pair.scheduleOnFiring(first, 6);
    pair.schedule(second, 70);
    for (pair.now = 64; pair.now <= 70; pair.now++) pair.advance(ALL);
    assert.deepEqual(pair.fired, [first, second, first]);
  });

  it('what belongs into the slot of the timer before fires when it is due, however far the wheel has come', () => {
    const pair = new Pair(0);
    for (pair.now = 0; pair.now < 20_000; pair.now += 7) {
      pair.advance(ALL);
      pair.schedule(new Timer(), 5_000);
      pair.schedule(new Timer(), 5_001);
    }
    pair.now = 30_000;
    while (pair.advance(ALL));
    assert.equal(pair.waiting, 0);
  });

  it('nothing is lost when the process slept through eras', () => {
    const pair = new Pair(7);
    for (const after of [0, 1, 100, 5_000, ERA, ERA * 2 + 1, 40 * DAY]) pair.schedule(new Timer(), after);
    pair.now += 100 * DAY;
    while (pair.advance(2));
    assert.equal(pair.fired.length, 7);
    assert.equal(pair.wheel.wakeAt, Infinity);
  });

  it('a mass of timers in one ms is worked off in as many calls as the budget says', () => {
    const [count, budget] = [200_000, 1_000];
    const wheel = new TimingWheel(0);
    for (let i = 0; i < count; i++) wheel.schedule(new Timer(), 20_000);
    let fired = 0;
    const countOne = () => {
      fired += 1;
    };
    let calls = 1;
    while (wheel.advance(20_000, budget, countOne)) calls += 1;
    assert.equal(fired, count);
    // Each is taken in hand once to be fired, and once a level to be moved down: 20 s lie on the third.
    const most = (3 * count) / budget;
    assert.ok(calls >= count / budget && calls <= most + 1, `${calls} calls`);
  });

  it('does what a sorted list does, whatever is asked of it', () => {
    const timers = 12;
    const after = fc.oneof(
      fc.integer({ min: 0, max: 70 }),
      fc.integer({ min: 0, max: 5_000 }),
      fc.constantFrom(63, 64, 4_095, 4_096, 262_143, 262_144, 2 ** 24, 2 ** 29, ERA - 1, ERA, ERA + 1, 2 ** 31),
      fc.integer({ min: 0, max: 40 * DAY }),
    );
    const index = fc.nat(timers - 1);
    const step = fc.oneof(
      { weight: 5, arbitrary: fc.record({ op: fc.constant('schedule' as const), index, after }) },
      { weight: 1, arbitrary: fc.record({ op: fc.constant('again' as const), index, after }) },
      { weight: 1, arbitrary: fc.record({ op: fc.constant('cancel' as const), index, after: fc.constant(0) }) },
      { weight: 3, arbitrary: fc.record({ op: fc.constant('pass' as const), index, after }) },
      { weight: 1, arbitrary: fc.record({ op: fc.constant('late' as const), index, after }) },
      { weight: 2, arbitrary: fc.record({ op: fc.constant('wake' as const), index, after: fc.constant(0) }) },
    );
    const starts = fc.oneof(
      fc.constantFrom(0, ERA - 5, 3 * ERA - 64, 2 ** 31 - 3),
      fc.integer({ min: 0, max: DAY * 50 }),
    );
    const fraction = fc.constantFrom(0, 0.25, 0.999);
    const steps = fc.array(step, { maxLength: 80, size: 'max' });
    fc.assert(
      fc.property(starts, fraction, fc.integer({ min: 1, max: 4 }), steps, (start, part, budget, todo) => {
        const pair = new Pair(start + part);
        const all = Array.from({ length: timers }, () => new Timer());
        for (const { op, index: at, after: ms } of todo) {
          const timer = all[at];
          assert.ok(timer);
          if (op === 'schedule') pair.schedule(timer, ms);
          else if (op === 'again') pair.scheduleOnFiring(timer, ms);
          else if (op === 'cancel') pair.cancel(timer);
          else if (op === 'late') pair.now += ms;
          else if (op === 'wake') {
            if (pair.wheel.wakeAt < Infinity) pair.now = Math.max(pair.now, pair.wheel.wakeAt);
            pair.advance(budget);
          } else {
            pair.now += ms;
            pair.advance(budget);
          }
        }
        pair.now += 50 * DAY;
        for (let calls = 0; pair.waiting > 0; calls++) {
          assert.ok(calls < 1_000, 'it comes to an end');
          if (!pair.advance(budget)) pair.now += 50 * DAY;
        }
      }),
      { numRuns: 2_000 },
    );
  });
});
