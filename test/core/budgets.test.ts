/** More than one budget of work at once: it is all done, in parts, and each part leaves a moment at which the next comes. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { QUEUE } from '../support/builders.js';
import { okay, Stage } from './stage.js';

/** Of the pump: calls that one step answers. */
const BUDGET = 256;
const MANY = 600;

function names(count: number): string[] {
  return Array.from({ length: count }, (_, i) => `k${i}`);
}

function resume(stage: Stage): void {
  stage.person(
    (now) => stage.core.resumeQueue(QUEUE, now),
    () => 'resumed',
  );
}

function pausedStage(): Stage {
  const stage = new Stage();
  okay(stage.core.pauseQueue(QUEUE, stage.now));
  return stage;
}

describe('more than the pump does in a step', () => {
  it('600 callers that are let go at once all start, a budget of them in each step, at that very moment', () => {
    const stage = pausedStage();
    const callers = names(MANY).map((key) => stage.enQueue('caller', { key, wait: 60_000 }));
    const started = () => callers.filter(({ open }) => !open).length;
    resume(stage);
    assert.equal(started(), BUDGET, 'others get their say in between');
    assert.ok(stage.core.wakeAt <= stage.now, 'the next step comes by itself');
    stage.core.tick(stage.now, 1_000);
    stage.pass(0);
    assert.equal(started(), MANY);
    assert.ok(callers.every(({ value }) => value.decision === 'accept'));
    assert.ok(stage.core.wakeAt > stage.now, 'nothing is left to be done');
  });

  it('600 workers whose items are let go at once all get theirs', () => {
    const stage = pausedStage();
    const workers = names(MANY).map((name) => stage.acquire(name, { wait: 60_000 }));
    stage.submit(
      'submitter',
      names(MANY).map((key) => ({ key, itemId: key })),
    );
    resume(stage);
    assert.equal(workers.filter(({ open }) => !open).length, BUDGET);
    stage.pass(0);
    assert.deepEqual(
      workers.flatMap(({ value }) => value.deliveries.map(({ turn }) => turn.key)),
      names(MANY),
    );
  });

  it('600 workers whose items are let go at once: who comes before all are served takes nothing of theirs', () => {
    const stage = pausedStage();
    const workers = names(MANY).map((name) => stage.acquire(name, { wait: 60_000 }));
    stage.submit(
      'submitter',
      names(MANY).map((key) => ({ key, itemId: key })),
    );
    resume(stage);
    assert.ok(workers.some(({ open }) => open));
    const late = stage.acquire('late', { wait: 60_000 });
    stage.pass(0);
    assert.ok(late.open);
    assert.ok(workers.every(({ open }) => !open));
  });

  it('600 callers of two queues, behind a rate that then allows them', () => {
    const rate = { perSecond: 1_000_000, burst: 1 };
    const stage = new Stage({ queues: { a: { rate }, b: {} }, startupHold: 1_000 });
    const callers = names(MANY).map((key, i) =>
      stage.enQueue('caller', { queue: i % 2 ? 'a' : 'b', key, wait: 60_000 }),
    );
    stage.pass(1_000 + MANY);
    assert.ok(callers.every(({ value }) => value.decision === 'accept'));
  });
});

describe('more than are told in a step that what they wait for has ended', () => {
  it('2,500 items that wait for one are all let go, at that very moment', () => {
    const stage = new Stage();
    stage.submit('submitter', [{ key: 'first', itemId: 'first' }]);
    const waiting = names(2_500).map((key) => ({ key, itemId: key, after: [{ queue: QUEUE, itemId: 'first' }] }));
    for (let from = 0; from < waiting.length; from += 500) stage.submit('submitter', waiting.slice(from, from + 500));
    const [delivery] = stage.acquire('worker').value.deliveries;
    assert.ok(delivery);
    stage.ack('worker', { key: 'first', token: delivery.turn.token });
    stage.pass(0);
    assert.equal(stage.queue()?.states.READY, 2_500);
  });
});

describe('more than is let in by room in a step', () => {
  it('600 Submits that wait for one place, which one large item leaves, are all let in', () => {
    const stage = new Stage({ limits: { payloadMemoryBytes: 1_000_000 } });
    stage.submit('submitter', [{ key: 'large', itemId: 'large', payload: new Uint8Array(999_000) }]);
    const waiting = names(MANY).map((key) =>
      stage.submit(key, [{ key, itemId: key, payload: new Uint8Array(50) }], QUEUE, 60_000),
    );
    assert.ok(waiting.slice(10).every(({ open }) => open));
    const [delivery] = stage.acquire('worker').value.deliveries;
    assert.ok(delivery);
    stage.ack('worker', { key: 'large', token: delivery.turn.token });
    stage.pass(0);
    assert.ok(waiting.every(({ value }) => value.results[0]?.decision === 'accept'));
  });
});

describe('more than one budget of moments that are due', () => {
  it('3,000 leases that end in one millisecond all end, whatever each tick may do', () => {
    const stage = new Stage();
    for (const key of names(3_000)) stage.enQueue('holder', { key, lease: 1_000 });
    assert.equal(stage.core.liveTurns, 3_000);
    stage.now += 1_000;
    let ticks = 1;
    while (stage.core.tick(stage.now, 1_000)) ticks += 1;
    assert.ok(ticks >= 3, `${ticks}`);
    assert.equal(stage.core.liveTurns, 0);
  });

  it('3,000 tied turns of a session that does not come back all end', () => {
    const stage = new Stage();
    const stream = okay(stage.open());
    stage.hello('worker', stream, 's', 1_000);
    stage.on = stream;
    for (const key of names(3_000)) stage.enQueue('worker', { key });
    stage.core.closeStream(stream, stage.now);
    stage.pass(1_000);
    assert.equal(stage.core.liveTurns, 0);
  });

  it('2,500 things that are remembered are forgotten when their time is over, within three rounds of the house', () => {
    const stage = new Stage({ queues: {}, limits: {} });
    const keys = names(2_500);
    for (let from = 0; from < keys.length; from += 500) {
      stage.submit(
        'submitter',
        keys.slice(from, from + 500).map((key) => ({ key, itemId: key })),
        'brief',
      );
      const { deliveries } = stage.acquire('worker', { queues: ['brief'], maxTurns: 500 }).value;
      for (const { turn } of deliveries) stage.ack('worker', { queue: 'brief', key: turn.key, token: turn.token });
    }
    stage.pass(600_000 + 40_000);
    assert.equal(stage.queue('brief'), undefined, 'a queue of which nothing is remembered is forgotten');
  });
});
