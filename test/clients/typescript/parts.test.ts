/** Parts of a session by themselves, where the whole would hide their edges. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { TurnRef } from '@keyturn/client';
import { Backlog } from '#client/produce/backlog';
import { BackOff } from '#client/retry/back-off';
import { OwnCommand } from '#client/session/command';
import { Liveness } from '#client/session/liveness';
import { OpenCommands } from '#client/session/open-commands';
import { Orphans } from '#client/session/orphans';
import { AcquireCommand, EnQueueCommand } from '#client/session/worker-commands';
import { Alarm } from '#client/time/alarm';
import { marginOf } from '#client/turns/margin';
import { FakeClock } from '../../support/fake-clock.js';

const command = () => new OwnCommand({ $case: 'cancel', value: { id: 0, leave: false } });

describe('open commands', () => {
  it('have ids from 1, none of them twice while it is open, and one that is free is used again', () => {
    const open = new OpenCommands({ commands: 10, bytes: 1_000 });
    const [first, second] = [added(open), added(open)];
    assert.deepEqual([first.id, second.id], [1, 2]);
    assert.equal(open.take(1), first);
    assert.deepEqual([open.has(first), open.take(1), added(open).id, added(open).id], [false, undefined, 1, 3]);
  });

  it('are told in the order in which they were asked, whatever their ids', () => {
    const open = new OpenCommands({ commands: 10, bytes: 1_000 });
    const [first, second] = [added(open), added(open)];
    open.remove(first);
    const third = added(open);
    assert.deepEqual([third.id, open.all()], [1, [second, third]]);
  });
});

function added(open: OpenCommands): OwnCommand {
  const one = command();
  open.add(one);
  return one;
}

describe('the pause between attempts', () => {
  it('is drawn evenly up to a bound that doubles, is never zero, and never exceeds the largest', () => {
    const draws = [0, 0.5, 0.999, 0.25];
    const backOff = new BackOff(() => draws.shift() ?? 1, { first: 100, max: 350 });
    assert.deepEqual(
      [backOff.next(), backOff.next(), backOff.next(), backOff.next()].map(Math.round),
      [1, 100, 350, 88],
    );
    for (let n = 0; n < 2_000; n++) assert.equal(backOff.next(), 350);
  });

  it('begins anew only after a stream that stood as long as the largest pause', () => {
    const backOff = new BackOff(() => 1, { first: 100, max: 1_000 });
    const pauses = [backOff.next(), backOff.next()];
    backOff.stood(999);
    pauses.push(backOff.next());
    backOff.stood(1_000);
    pauses.push(backOff.next());
    assert.deepEqual(pauses, [100, 200, 400, 100]);
  });
});

describe('the alarm', () => {
  it('wakes at the earliest moment, with one timer', () => {
    const clock = new FakeClock({ now: 0, wall: 0 });
    const woken: number[] = [];
    const alarm = new Alarm(clock, () => woken.push(clock.now()));
    alarm.by(100);
    alarm.by(50);
    alarm.by(70);
    assert.equal(clock.pending, 1);
    clock.advance(1_000);
    assert.deepEqual(woken, [50]);
    alarm.by(1_200);
    alarm.off();
    clock.advance(1_000);
    assert.deepEqual([woken.length, clock.pending], [1, 0]);
  });
});

describe('liveness', () => {
  it('silence before there was anything to lose is nobody’s fault', () => {
    const liveness = new Liveness(9_000, undefined);
    liveness.proved(0);
    liveness.busy(100_000);
    assert.deepEqual([liveness.proveAt, liveness.deadAt(0)], [103_000, 106_000]);
    liveness.busy(200_000);
    assert.equal(liveness.proveAt, 103_000, 'busy since the first time');
    liveness.idle();
    liveness.busy(300_000);
    assert.equal(liveness.deadAt(301_000), 307_000, 'a stream is given its time');
  });

  it('only a later proof counts', () => {
    const liveness = new Liveness(10_000, 500);
    liveness.proved(5_000);
    liveness.proved(3_000);
    assert.equal(liveness.stopAt, 14_500);
  });

  it('a margin is a tenth of a life, at most 2 s; or what is wanted, at most half of a life', () => {
    assert.deepEqual([marginOf(1_000, undefined), marginOf(60_000, undefined)], [100, 2_000]);
    assert.deepEqual([marginOf(1_000, 0), marginOf(1_000, 400), marginOf(1_000, 900)], [0, 400, 500]);
  });
});

describe('orphans', () => {
  const turn = (queue: string, key: string, token: number): TurnRef => ({ queue, key, token });
  const KEYED = new EnQueueCommand({ queue: 'q', key: 'k', ticket: 't' });
  const DISPATCH = new AcquireCommand({ queues: ['q', 'r'], ticket: 'u' });
  const LINE = new AcquireCommand({ queues: ['q'], key: 'k', ticket: 'v' });
  const PLAIN = new EnQueueCommand({ queue: 'q', key: 'k' });

  const CASES = [
    { name: 'nobody has a ticket', open: [PLAIN], turn: turn('q', 'k', 1), until: [] },
    { name: 'a caller of the key', open: [KEYED], turn: turn('q', 'k', 1), until: [KEYED] },
    { name: 'a caller of another key', open: [KEYED], turn: turn('q', 'x', 1), until: [] },
    { name: 'a caller of another queue', open: [KEYED], turn: turn('r', 'k', 1), until: [] },
    { name: 'one who takes any key', open: [DISPATCH], turn: turn('r', 'x', 1), until: [DISPATCH] },
    { name: 'all of these', open: [KEYED, DISPATCH, LINE], turn: turn('q', 'k', 1), until: [LINE, KEYED, DISPATCH] },
  ];

  for (const { name, open, turn: orphan, until } of CASES) {
    it(`a turn is given back when it cannot be claimed any more: ${name}`, () => {
      const back: TurnRef[] = [];
      const orphans = new Orphans([orphan], open, (one) => back.push(one));
      for (const claimant of until) {
        assert.equal(back.length, 0);
        orphans.done(claimant);
        orphans.done(claimant);
      }
      assert.deepEqual(back, [orphan]);
      for (const other of open) orphans.done(other);
      assert.equal(back.length, 1);
    });
  }

  it('a turn that was claimed stays', () => {
    const back: TurnRef[] = [];
    const orphans = new Orphans([turn('q', 'k', 1), turn('q', 'k', 2)], [KEYED], (one) => back.push(one));
    orphans.claimed(turn('q', 'k', 1));
    orphans.done(KEYED);
    assert.deepEqual(back, [turn('q', 'k', 2)]);
  });
});

describe('the backlog of a producer', () => {
  const entry = (size = 1, deadline = 1) => ({
    item: { itemId: 'i' },
    size,
    deadline,
    since: 0,
    resolve: () => undefined,
    reject: () => undefined,
  });

  it('gives batches in order, up to so many items and bytes, at least one', () => {
    const backlog = new Backlog({ maxItems: 10, maxBytes: 1_000, whenFull: 'wait' });
    const entries = [5, 500, 300, 1, 1, 1].map((size) => entry(size));
    for (const one of entries) backlog.add(one);
    const batches = [backlog.take(3, 100), backlog.take(2, 900), backlog.take(9, 900), backlog.take(9, 900)];
    assert.deepEqual(
      batches.map((batch) => batch.map(({ size }) => size)),
      [[5], [500, 300], [1, 1, 1], []],
    );
    assert.deepEqual([backlog.length, backlog.size, backlog.hasRoom], [0, 6, true]);
    for (const batch of batches) backlog.settled(batch);
    assert.deepEqual([backlog.size, backlog.bytes], [0, 0]);
  });

  it('takes out what is over, on its way or not, and admits what waited', () => {
    const backlog = new Backlog({ maxItems: 2, maxBytes: 1_000, whenFull: 'wait' });
    const [first, second, third, fourth] = [entry(1, 1), entry(1, 2), entry(1, 3), entry(1, 4)];
    for (const one of [first, second, third, fourth]) backlog.add(one);
    assert.deepEqual([backlog.length, backlog.size], [2, 4]);
    assert.deepEqual(backlog.expire(2), [first, second]);
    assert.deepEqual([backlog.length, backlog.take(9, 9)], [2, [third, fourth]]);
  });

  it('costs the same for each, however many there are', { timeout: 30_000 }, () => {
    const maxItems = 300_000;
    const backlog = new Backlog({ maxItems, maxBytes: 2 ** 30, whenFull: 'wait' });
    for (let n = 0; n < 2 * maxItems; n++) backlog.add(entry());
    let taken = 0;
    const started = performance.now();
    while (backlog.size > 0 && performance.now() - started < 20_000) {
      const batch = backlog.take(100, 1_000);
      taken += batch.length;
      backlog.settled(batch);
    }
    assert.equal(taken, 2 * maxItems);
  });
});
