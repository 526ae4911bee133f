/** Calls that end in the middle of something: a failure, a cancel, a drain, the end of this sidecar. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Calls } from '../../../src/coordinator.js';
import { acquireRequest, enQueueRequest } from '../../support/builders.js';
import { RoutingStage } from './stage.js';

const Q = 'q0';

describe('a failure of our own', () => {
  it('of one call that is held, holds up none of those behind it, and is told', () => {
    const errors: unknown[] = [];
    const stage = new RoutingStage({ failed: (error) => `id${errors.push(error)}` });
    const partition = stage.map.of(Q, '');
    stage.homes.set(partition, undefined);
    const calls = ['a', 'bad', 'c'].map((key) => stage.enQueue({ queue: Q, key, wait: 60_000 }));
    const home = stage.begin(partition, false);
    const { enQueue } = home;
    const failing: Calls['enQueue'] = (request, reply) => {
      if (request.key === 'bad') throw new RangeError('a mistake');
      return enQueue(request, reply);
    };
    home.enQueue = failing;
    stage.advance(50);
    assert.deepEqual(
      calls.map((call) => call.outcome && Object.keys(call.outcome)[0]),
      ['answer', 'refusal', 'answer'],
    );
    const refusal = calls[1]?.refusal;
    assert.ok(refusal?.kind === 'store_unavailable' && /id1$/.test(refusal.description));
    assert.equal(errors.length, 1);
    assert.equal(stage.enQueue({ queue: Q, key: 'd', wait: 0 }).value.decision, 'accept', 'the gate is open');
  });
});

describe('cancel', () => {
  it('in the middle of being asked: the home is told, and who leaves takes the place along', () => {
    for (const leave of [false, true]) {
      const stage = new RoutingStage();
      const partition = stage.map.of(Q, '');
      stage.hold({ queue: Q });
      const home = stage.at(partition);
      stage.homes.set(partition, undefined);
      const reply = { answer: () => assert.fail('it is cancelled'), refuse: () => assert.fail('it is cancelled') };
      const waiting = stage.coordinator.enQueue(enQueueRequest({ queue: Q, wait: 60_000 }), reply);
      const left: (boolean | undefined)[] = [];
      // As if the answer to another call had come just then, whose caller cancels this one.
      const asked: Calls['enQueue'] = () => {
        waiting?.cancel(leave);
        return { cancel: (leaves) => void left.push(leaves) };
      };
      home.enQueue = asked;
      stage.homes.set(partition, home);
      assert.deepEqual(left, [leave]);
      stage.advance(60_000);
      assert.deepEqual(left, [leave], 'it is not asked again');
    }
  });

  it('of a call from within its own answer changes nothing', () => {
    const stage = new RoutingStage();
    const turn = stage.hold({ queue: Q });
    let answers = 0;
    const waiting = stage.coordinator.enQueue(enQueueRequest({ queue: Q, wait: 60_000 }), {
      answer: () => {
        answers += 1;
        waiting?.cancel();
        assert.equal(waiting?.callOff?.(), false);
        return true;
      },
      refuse: () => assert.fail('it was answered'),
    });
    assert.ok(stage.end(turn).value);
    assert.equal(answers, 1);
    assert.equal(stage.enQueue({ queue: Q, wait: 0 }).value.decision, 'block', 'the turn is held');
  });
});

describe('an Ack with a next that is held while this sidecar drains', () => {
  it('is carried out once by the home that comes, and its next is empty', async () => {
    const stage = new RoutingStage();
    const partition = stage.map.of(Q, '');
    stage.submit([{ itemId: 'a' }, { itemId: 'b', key: 'other' }], { queue: Q });
    const { turn } = stage.take({ queues: [Q] });
    const home = stage.at(partition);
    stage.homes.isElsewhere(partition);
    stage.homes.set(partition, undefined);
    const ack = stage.ack(turn, { next: acquireRequest({ queues: [Q], wait: 60_000 }) });
    const drained = stage.coordinator.drain(1_000);
    for (const at of [0, 1, 2, 3]) if (at !== partition) await stage.at(at).drain(0);
    assert.ok(ack.open);
    const next = stage.moved(home, partition);
    assert.deepEqual(ack.value, { followUps: [], next: { deliveries: [] } });
    assert.deepEqual(next.asked, ['ack']);
    await stage.coordinator.close();
    await drained;
    assert.deepEqual(new RoutingStage({ shares: stage }).drainIds({ queues: [Q] }), ['b']);
  });
});

describe('the end of this sidecar', () => {
  it('tells what was decided elsewhere and is on its way as what it is: not known', async () => {
    const stage = new RoutingStage();
    const partition = stage.map.of(Q, '');
    const home = stage.homeOf(Q);
    stage.homes.isElsewhere(partition);
    home.isLate = true;
    const submit = stage.submit([{ itemId: 'a' }], { queue: Q });
    await stage.coordinator.close();
    const { refusal } = submit;
    assert.ok(refusal.kind === 'store_unavailable' && /may have been carried out; repeat it/.test(refusal.description));
  });

  it('refuses DRAINING who waits elsewhere and can be called off: nothing was changed', async () => {
    const stage = new RoutingStage();
    stage.hold({ queue: Q });
    stage.homes.isElsewhere(stage.map.of(Q, ''));
    const waits = stage.enQueue({ queue: Q, wait: 60_000 });
    await stage.coordinator.close();
    assert.equal(waits.refusal.kind, 'draining');
  });

  it('tells what was decided here as it was decided, though it ends meanwhile', async () => {
    const stage = new RoutingStage();
    const home = stage.homeOf(Q);
    home.isLate = true;
    const { close } = home;
    // As a journal that has not answered yet.
    home.close = async () => {
      await close();
      home.deliver();
    };
    const submit = stage.submit([{ itemId: 'a' }], { queue: Q });
    await stage.coordinator.close();
    assert.equal(submit.value.results.length, 1);
  });
});
