/** Acquire over queues of several homes. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { AcquireAnswer, AcquireRequest } from '../../../src/coordinator.js';
import { idsOf } from '../../contract/stage.js';
import { acquireRequest } from '../../support/builders.js';
import { Call } from '../../support/call.js';
import { RoutingStage } from './stage.js';

const TROUBLE = { kind: 'store_unavailable', description: 'no answer', retryAfter: 100 } as const;

/** A queue at each of four homes. */
function four(): { stage: RoutingStage; queues: readonly string[] } {
  const stage = new RoutingStage();
  return { stage, queues: stage.queues() };
}

function submit(stage: RoutingStage, queue: string | undefined, ...ids: string[]): void {
  const items = ids.map((itemId) => ({ itemId, key: itemId }));
  assert.ok(stage.submit(items, { queue: queue ?? assert.fail() }).value);
}

function ask(stage: RoutingStage, change: Partial<AcquireRequest>) {
  const reply = new Call<AcquireAnswer>();
  const pending = stage.coordinator.acquire(acquireRequest(change), reply);
  return { reply, pending };
}

/** The items that wait at this home, none of them with an attempt. */
function waiting(stage: RoutingStage, queue: string | undefined): string[] {
  const { deliveries } = stage.acquire({ queues: [queue ?? assert.fail()], maxTurns: 9 }).value;
  for (const { turn } of deliveries) assert.equal(turn.attempt, 1);
  return deliveries.flatMap(({ items }) => items.map(({ itemId }) => itemId));
}

describe('Acquire over several homes', () => {
  it('S255: the first home that has something answers it, and none is asked behind it', () => {
    const { stage, queues } = four();
    submit(stage, queues[2], 'c');
    submit(stage, queues[3], 'd');
    assert.deepEqual(idsOf(stage.acquire({ queues, wait: 60_000, maxTurns: 9 })), [['c']]);
    assert.ok(!stage.at(3).asked.includes('acquire 0'));
  });

  it('S255: the next one begins behind the home that had something last, so that none starves', () => {
    const { stage, queues } = four();
    for (const queue of queues) submit(stage, queue, `${queue}-1`, `${queue}-2`);
    const ids = Array.from({ length: 8 }, () => idsOf(stage.acquire({ queues })).flat()[0]);
    assert.deepEqual(ids, [...queues.map((queue) => `${queue}-1`), ...queues.map((queue) => `${queue}-2`)]);
  });

  it('parked at all of them it is woken by any, and the others forget it', () => {
    const { stage, queues } = four();
    const call = stage.acquire({ queues, wait: 60_000 });
    stage.advance(1_000);
    submit(stage, queues[1], 'b');
    assert.deepEqual(idsOf(call), [['b']]);
    // A turn that crosses that would stand still for its ticket: a home behind a link takes it back by itself.
    for (const p of [0, 2, 3]) assert.equal(stage.at(p).asked.at(-1), 'call off, leave');
    assert.equal(stage.coordinator.stats().waitingCalls, 0);
    for (const queue of [queues[0], queues[3]]) submit(stage, queue, `later-${queue}`);
    assert.deepEqual(waiting(stage, queues[0]), [`later-${queues[0]}`]);
  });

  it('is empty when its wait is over, for all parts together', () => {
    const { stage, queues } = four();
    const call = stage.acquire({ queues, wait: 500 });
    stage.advance(499);
    assert.ok(call.open);
    stage.advance(1);
    assert.deepEqual(call.value.deliveries, []);
    assert.deepEqual(stage.acquire({ queues }).value.deliveries, [], 'a wait of zero waits for nothing');
  });

  for (const ticket of [undefined, 't']) {
    it(`S255: two homes answer at once: the sum is one answer, the later one is given back, ticket ${ticket}`, () => {
      const { stage, queues } = four();
      const call = stage.acquire({ queues, wait: 60_000, ticket, maxTurns: 2 });
      for (const p of [0, 1]) stage.at(p).isLate = true;
      submitLate(stage, queues[0], 'a1', 'a2', 'a3');
      submitLate(stage, queues[1], 'b1', 'b2', 'b3');
      for (const p of [1, 0]) stage.at(p).isLate = false;
      stage.at(1).deliver();
      stage.at(0).deliver();
      assert.deepEqual(idsOf(call), [['b1'], ['b2']]);
      assert.ok(stage.at(0).asked.includes('undeliverable 2 unwanted'));
      assert.deepEqual(waiting(stage, queues[0]).sort(), ['a1', 'a2', 'a3']);
    });

    it(`cancel × answer, both homes have decided, ticket ${ticket}: at most one answer is kept`, () => {
      const { stage, queues } = four();
      const call = stage.acquire({ queues, wait: 60_000, ticket });
      for (const p of [0, 1]) stage.at(p).isLate = true;
      submitLate(stage, queues[0], 'a');
      submitLate(stage, queues[1], 'b');
      call.cancel();
      for (const p of [0, 1]) {
        stage.at(p).isLate = false;
        stage.at(p).deliver();
      }
      const again = idsOf(stage.acquire({ queues, ticket, maxTurns: 9 })).flat();
      assert.equal(again.length, 1);
      assert.deepEqual([...again, ...waiting(stage, queues[0]), ...waiting(stage, queues[1])].sort(), ['a', 'b']);
    });
  }

  it('cancel before any answer: nothing is taken', () => {
    const { stage, queues } = four();
    stage.acquire({ queues, wait: 60_000 }).cancel();
    for (const queue of queues) submit(stage, queue, queue);
    for (const queue of queues) assert.deepEqual(waiting(stage, queue), [queue]);
  });

  it('callOff: true while nobody has decided; false when one has, and then its answer follows', () => {
    const { stage, queues } = four();
    const first = ask(stage, { queues, wait: 60_000 });
    assert.equal(first.pending?.callOff?.(), true);
    const second = ask(stage, { queues, wait: 60_000 });
    stage.at(2).isLate = true;
    submitLate(stage, queues[2], 'c');
    assert.equal(second.pending?.callOff?.(), false);
    assert.ok(second.reply.open);
    stage.at(2).deliver();
    assert.deepEqual(idsOf(second.reply), [['c']]);
    assert.ok(first.reply.open, 'no answer follows');
    submit(stage, queues[0], 'a');
    assert.deepEqual(waiting(stage, queues[0]), ['a']);
  });

  it('S15: a ticket brings the turns that it was given at every home, and takes none', () => {
    const { stage, queues } = four();
    submit(stage, queues[0], 'a');
    const first = stage.acquire({ queues, ticket: 't' }).value;
    submit(stage, queues[1], 'b');
    assert.deepEqual(stage.acquire({ queues, ticket: 't', wait: 60_000, maxTurns: 9 }).value, first);
    assert.deepEqual(waiting(stage, queues[1]), ['b']);
  });

  it('S255: max_turns binds an Acquire with a ticket too, over several homes and in a queue that is spread', () => {
    const stage = new RoutingStage({ routes: { wide: { group: 'wide', spread: 4 } } });
    const queues = stage.queues();
    for (const queue of [...queues, 'wide']) submit(stage, queue, ...'abcdefgh');
    const counts = [queues, ['wide']].flatMap((of) =>
      [1, 2].map((maxTurns) => stage.acquire({ queues: of, ticket: `${of.length} ${maxTurns}`, maxTurns }).value),
    );
    assert.deepEqual(
      counts.map(({ deliveries }) => deliveries.length),
      [1, 2, 1, 2],
    );
  });

  it('S15: of two open calls with one ticket the older gets an empty answer', () => {
    const { stage, queues } = four();
    const older = stage.acquire({ queues, ticket: 't', wait: 60_000 });
    const newer = stage.acquire({ queues, ticket: 't', wait: 60_000 });
    assert.deepEqual(older.value.deliveries, []);
    submit(stage, queues[3], 'd');
    assert.deepEqual(idsOf(newer), [['d']]);
  });

  it('an answer that reaches nobody is kept for its ticket', () => {
    const { stage, queues } = four();
    submit(stage, queues[2], 'c');
    stage.acquire({ queues, ticket: 't' }, false);
    assert.deepEqual(waiting(stage, queues[2]), []);
    assert.deepEqual(idsOf(stage.acquire({ queues, ticket: 't' })), [['c']]);
  });

  it('what a ticket was given and its homes did not tell in time does not hold it up', () => {
    const { stage, queues } = four();
    submit(stage, queues[1], 'b');
    stage.at(0).isLate = true;
    const call = stage.acquire({ queues, ticket: 't', wait: 60_000 });
    assert.ok(call.open);
    stage.advance(1_000);
    stage.at(0).isLate = false;
    stage.at(0).deliver();
    assert.deepEqual(idsOf(call), [['b']]);
  });
});

describe('Acquire × move', () => {
  it('a home that is away does not hold the others up, and is waited for', () => {
    const { stage, queues } = four();
    stage.homes.set(0, undefined);
    submit(stage, queues[1], 'b');
    assert.deepEqual(idsOf(stage.acquire({ queues, wait: 60_000 })), [['b']]);
    const call = stage.acquire({ queues, wait: 60_000 });
    stage.begin(0);
    assert.ok(call.open);
    submit(stage, queues[0], 'a');
    assert.deepEqual(idsOf(call), [['a']]);
  });

  it('a part goes on at the next home for what is left of the wait', () => {
    const { stage, queues } = four();
    const call = stage.acquire({ queues, wait: 1_000 });
    stage.advance(400);
    const next = stage.moved(stage.at(3), 3);
    assert.deepEqual(next.asked, ['acquire 600']);
    submit(stage, queues[3], 'd');
    assert.deepEqual(idsOf(call), [['d']]);
  });

  it('moves while all homes move: its end is its own', () => {
    const { stage, queues } = four();
    const call = stage.acquire({ queues, wait: 1_000 });
    for (let p = 0; p < 4; p += 1) stage.at(p).shut();
    stage.advance(999);
    assert.ok(call.open);
    stage.advance(1);
    assert.equal(call.refusal.kind, 'no_home');
  });

  it('S255: refused when no home takes it, and by a home that never would', () => {
    const { stage, queues } = four();
    for (let p = 0; p < 4; p += 1) stage.homes.set(p, undefined);
    assert.equal(stage.acquire({ queues }).refusal.kind, 'no_home');
    const named = new RoutingStage({ change: { queues: {}, autoCreate: false } });
    assert.equal(named.acquire({ queues: named.queues(), wait: 60_000 }).refusal.kind, 'no_such_queue');
  });

  it('a home in trouble is asked again while the others are waited for', () => {
    const stage = new RoutingStage({ change: { queues: {}, limits: { waitingAcquires: 1 } } });
    const [a = '', b = ''] = stage.queues();
    const other = stage.acquire({ queues: [a], wait: 300 });
    const call = stage.acquire({ queues: [a, b], wait: 60_000 });
    stage.advance(300);
    assert.deepEqual(other.value.deliveries, []);
    stage.advance(1_000);
    submit(stage, a, 'a');
    assert.deepEqual(idsOf(call), [['a']]);
  });

  it('S580: what a home that refused had given to the ticket after all ends when another home answers', () => {
    const { stage, queues } = four();
    const call = stage.acquire({ queues, wait: 60_000, ticket: 't' });
    const home = stage.at(1);
    // Its write is lost, and the turn is held for the ticket.
    home.refuseAnswers = TROUBLE;
    submitLate(stage, queues[1], 'b');
    home.refuseAnswers = undefined;
    home.trouble = TROUBLE;
    submit(stage, queues[0], 'a');
    assert.deepEqual(idsOf(call), [['a']]);
    home.trouble = undefined;
    stage.advance(100);
    assert.deepEqual(waiting(stage, queues[1]), ['b']);
  });

  it('answer × shut: a home that ceases gives what it had decided', () => {
    const { stage, queues } = four();
    const call = stage.acquire({ queues, wait: 60_000 });
    stage.at(1).isLate = true;
    submitLate(stage, queues[1], 'b');
    stage.moved(stage.at(1), 1);
    assert.deepEqual(idsOf(call), [['b']]);
  });
});

/** To a home whose answers are on their way. */
function submitLate(stage: RoutingStage, queue: string | undefined, ...ids: string[]): void {
  stage.submit(
    ids.map((itemId) => ({ itemId, key: itemId })),
    { queue: queue ?? assert.fail() },
  );
}
