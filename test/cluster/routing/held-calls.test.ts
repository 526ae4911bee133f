/** Calls whose partition has no home, or another one than they were sent to. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { EnQueueAnswer } from '../../../src/coordinator.js';
import { open } from '../../contract/stream.js';
import { enQueueRequest } from '../../support/builders.js';
import { Call } from '../../support/call.js';
import { RoutingStage } from './stage.js';

const Q = 'q0';

function away(): { stage: RoutingStage; partition: number } {
  const stage = new RoutingStage();
  const partition = stage.map.of(Q, '');
  stage.homes.set(partition, undefined);
  return { stage, partition };
}

describe('a partition without a home', () => {
  it('S250: its calls are held, and answered as soon as there is one', () => {
    const { stage, partition } = away();
    const calls = [
      stage.enQueue({ queue: Q, wait: 0 }),
      stage.submit([{ itemId: 'i', key: 'x' }], { queue: Q }),
      stage.acquire({ queues: [Q] }),
      stage.await('i', 0, Q),
    ];
    const renewed = new Call();
    stage.coordinator.renew({ turns: [{ queue: Q, key: 'k', token: 1 }], lease: undefined }, renewed);
    stage.advance(1_000);
    assert.ok([...calls, renewed].every((call) => call.open));
    stage.begin(partition);
    assert.deepEqual(
      [...calls, renewed].map((call) => call.open),
      [false, false, false, false, false],
    );
    assert.ok([...calls, renewed].every((call) => 'answer' in (call.outcome ?? {})));
    assert.deepEqual(stage.clock.pending > 0, true);
  });

  it('other partitions do not notice', () => {
    const { stage, partition } = away();
    assert.ok(stage.enQueue({ queue: Q, wait: 0 }).open);
    assert.equal(stage.hold({ queue: stage.queueAt((partition + 1) % 4) }).key, 'k');
  });

  it('a home that nobody told of is found within 50 ms', () => {
    const { stage, partition } = away();
    const call = stage.enQueue({ queue: Q, wait: 0 });
    stage.begin(partition, false);
    stage.advance(50);
    assert.equal(call.value.decision, 'accept');
  });

  it('S250: it is refused NO_HOME when its wait is over, after 2 s if that is shorter; the refusal says why', () => {
    for (const [wait, until] of [
      [0, 2_000],
      [300, 2_000],
      [2_001, 2_001],
      [60_000, 60_000],
    ] as const) {
      const { stage, partition } = away();
      const call = stage.enQueue({ queue: Q, wait });
      stage.advance(until - 1);
      assert.ok(call.open);
      stage.advance(1);
      const { refusal } = call;
      assert.ok(refusal.kind === 'no_home' && refusal.partition === partition);
      assert.match(refusal.description, /partition \d.*nobody has claimed/);
    }
  });

  it('S250: one whose wait is over by then is decided by the next home, without waiting there', () => {
    for (const wait of [20, undefined]) {
      const stage = new RoutingStage({ policy: { wait: 20 } });
      stage.hold({ queue: Q });
      const home = stage.homeOf(Q);
      stage.homes.set(stage.map.of(Q, ''), undefined);
      const call = stage.enQueue({ queue: Q, wait });
      stage.advance(1_900);
      stage.moved(home, stage.map.of(Q, ''));
      assert.equal(call.value.decision, 'block');
    }
  });

  it('the deadline of the call itself comes first', () => {
    const { stage } = away();
    const call = stage.enQueue({ queue: Q, wait: 60_000, maxWait: 100 });
    stage.advance(100);
    assert.equal(call.refusal.kind, 'no_home');
  });

  it('an EnQueue that says no wait has that of its queue', () => {
    const stage = new RoutingStage({ policy: { wait: 7_000 } });
    const partition = stage.map.of(Q, '');
    stage.homes.set(partition, undefined);
    const call = stage.enQueue({ queue: Q });
    stage.advance(6_999);
    assert.ok(call.open);
    stage.advance(1);
    assert.equal(call.refusal.kind, 'no_home');
  });

  it('S250: 10,000 calls of a partition are held, a further one is refused at once; room comes with the end of one', () => {
    const { stage } = away();
    const calls = Array.from({ length: 10_000 }, (_, at) =>
      stage.enQueue({ queue: Q, wait: 60_000, maxWait: at === 0 ? 100 : undefined }),
    );
    const more = stage.enQueue({ queue: Q, wait: 60_000 }).refusal;
    assert.ok(more.kind === 'no_home' && /10000 calls/.test(more.description));
    assert.equal(stage.coordinator.stats().waitingCalls, 10_000);
    stage.advance(100);
    assert.equal(calls[0]?.refusal.kind, 'no_home');
    assert.ok(stage.enQueue({ queue: Q, wait: 60_000 }).open);
    assert.equal(stage.enQueue({ queue: Q, wait: 60_000 }).refusal.kind, 'no_home');
  });

  it('one that is cancelled is asked nowhere', () => {
    const { stage, partition } = away();
    const call = stage.enQueue({ queue: Q, wait: 60_000 });
    call.cancel();
    assert.deepEqual(stage.begin(partition).asked, []);
    const other = away();
    const reply = new Call<EnQueueAnswer>();
    const pending = other.stage.coordinator.enQueue(enQueueRequest({ queue: Q, wait: 60_000 }), reply);
    assert.equal(pending?.callOff?.(), true);
    assert.equal(pending?.callOff?.(), false, 'it is over');
    assert.deepEqual(other.stage.begin(other.partition).asked, []);
  });

  it('S251: calls of one session keep their order, newer ones line up behind', () => {
    const { stage, partition } = away();
    const stream = open(stage.coordinator);
    const submit = (itemId: string) => stream.submit([{ itemId, key: 'k' }], { queue: Q });
    const calls = [submit('a'), submit('b')];
    // It is there, and nobody has asked it yet.
    stage.begin(partition, false);
    calls.push(submit('c'));
    assert.ok(calls.every((call) => call.open));
    stage.advance(50);
    for (const call of calls) assert.ok(call.value);
    assert.deepEqual(stage.drainIds({ queues: [Q] }), ['a', 'b', 'c']);
  });

  it('close refuses what is held, and leaves no timer and no listener', async () => {
    const stage = new RoutingStage();
    const partition = stage.map.of(Q, '');
    await stage.at(partition).close();
    stage.homes.set(partition, undefined);
    const calls = [stage.enQueue({ queue: Q, wait: 0 }), stage.await('i', 60_000, Q)];
    const dequeue = stage.deQueue({ queue: Q, holder: { token: 1 } });
    const stream = open(stage.coordinator);
    assert.ok(stream.hello().value);
    const closed = stage.coordinator.close();
    for (const call of [...calls, dequeue]) assert.equal(call.refusal.kind, 'draining');
    stage.clock.turn();
    await closed;
    assert.equal(stage.homes.listeners, 0);
    assert.equal(stage.clock.pending, 0);
  });
});

describe('a home that is not the home any more', () => {
  it('S250: a call that it does not take goes to the one that is', () => {
    const stage = new RoutingStage();
    const partition = stage.map.of(Q, '');
    const old = stage.at(partition);
    old.isShut = true;
    const call = stage.enQueue({ queue: Q, wait: 0 });
    assert.ok(call.open);
    const next = stage.begin(partition);
    assert.equal(call.value.decision, 'accept');
    assert.deepEqual([old.asked, next.asked], [['enqueue'], ['enqueue']]);
  });

  it('a call that waited there waits at the next one for what is left of its wait', () => {
    const stage = new RoutingStage();
    const home = stage.homeOf(Q);
    stage.hold({ queue: Q });
    const call = stage.enQueue({ queue: Q, wait: 1_000 });
    const acquire = stage.acquire({ queues: [Q], wait: 1_000 });
    const awaiting = stage.await('i', 1_000, Q);
    assert.equal(awaiting.value.state, 'unknown');
    stage.advance(400);
    const next = stage.moved(home, stage.map.of(Q, ''));
    assert.ok(call.open && acquire.open);
    assert.deepEqual(next.asked, ['enqueue', 'acquire 600']);
    stage.advance(599);
    assert.ok(call.open && acquire.open);
    stage.advance(1);
    assert.equal(call.value.decision, 'block');
    assert.deepEqual(acquire.value.deliveries, []);
  });

  it('an EnQueue that says no wait waits for what is left of the wait of its queue, whatever its deadline', () => {
    for (const maxWait of [undefined, 60_000]) {
      const stage = new RoutingStage({ policy: { wait: 1_000 } });
      stage.hold({ queue: Q });
      const call = stage.enQueue({ queue: Q, maxWait });
      stage.advance(700);
      stage.moved(stage.homeOf(Q), stage.map.of(Q, ''));
      stage.advance(299);
      assert.ok(call.open);
      stage.advance(1);
      assert.equal(call.value.decision, 'block');
    }
  });

  it('it is asked again, not more often than every 50 ms, while nobody tells of another', () => {
    const stage = new RoutingStage();
    const home = stage.homeOf(Q);
    home.isShut = true;
    const calls = [stage.enQueue({ queue: Q, wait: 0 }), stage.enQueue({ queue: Q, wait: 0 })];
    stage.advance(1_000);
    assert.ok(home.asked.length <= 22 && home.asked.length >= 18, `${home.asked.length}`);
    home.isShut = false;
    stage.advance(50);
    assert.deepEqual(
      calls.map(({ value }) => value.decision),
      ['accept', 'block'],
    );
  });

  it('cancel × answer, the answer on its way: its turn goes back, and no answer follows', () => {
    const stage = new RoutingStage();
    const home = stage.homeOf(Q);
    home.isLate = true;
    const call = stage.enQueue({ queue: Q, wait: 60_000 });
    call.cancel();
    home.deliver();
    home.isLate = false;
    assert.equal(stage.enQueue({ queue: Q, wait: 0 }).value.decision, 'accept');
  });

  it('callOff × answer, the answer on its way: it is not called off, and the answer follows', () => {
    const stage = new RoutingStage();
    const home = stage.homeOf(Q);
    home.isLate = true;
    const reply = new Call<EnQueueAnswer>();
    const pending = stage.coordinator.enQueue(enQueueRequest({ queue: Q, wait: 60_000 }), reply);
    assert.equal(pending?.callOff?.(), false);
    home.deliver();
    assert.equal(reply.value.decision, 'accept');
  });

  it('answer × move: what was decided before the move is the answer', () => {
    const stage = new RoutingStage();
    const home = stage.homeOf(Q);
    home.isLate = true;
    const call = stage.enQueue({ queue: Q, wait: 60_000 });
    const next = stage.moved(home, stage.map.of(Q, ''));
    assert.equal(call.value.decision, 'accept');
    assert.deepEqual(next.asked, []);
  });

  it('cancel × move: who cancels while it moves is not asked about at the next', () => {
    const stage = new RoutingStage();
    const partition = stage.map.of(Q, '');
    stage.hold({ queue: Q });
    const call = stage.enQueue({ queue: Q, wait: 60_000 });
    stage.at(partition).shut();
    call.cancel();
    const next = stage.begin(partition);
    stage.advance(1_000);
    assert.deepEqual(next.asked, []);
  });

  it('turns that nobody learnt of end at the home that comes', () => {
    const stage = new RoutingStage();
    const partition = stage.map.of(Q, '');
    const turn = stage.hold({ queue: Q });
    const home = stage.at(partition);
    stage.homes.set(partition, undefined);
    stage.coordinator.undeliverable([turn]);
    stage.moved(home, partition);
    assert.equal(stage.enQueue({ queue: Q, wait: 0 }).value.decision, 'accept');
  });
});
