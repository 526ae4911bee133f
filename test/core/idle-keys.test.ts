/** I8: the LRU drops only lanes in INIT, and dropping one changes no decision. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { LANE_STATES } from '../../src/core/contract/model.js';
import { ALL_QUEUES, QUEUE } from '../support/builders.js';
import { atOnce, okay, Stage } from './stage.js';

const IDLE = { limits: { idleLanes: 1 } };

/** A turn of a caller, given and ended. */
function passThrough(stage: Stage, key: string, queue = QUEUE): void {
  const { value } = stage.enQueue('worker', { queue, key });
  assert.ok(value.decision === 'accept');
  stage.deQueue('worker', { queue, key, holder: { token: value.turn.token } });
}

function take(stage: Stage, key: string): number {
  const [delivery] = stage.acquire('worker').value.deliveries;
  assert.equal(delivery?.turn.key, key);
  return delivery?.turn.token ?? Number.NaN;
}

function lanesOf(stage: Stage): number {
  const states = stage.queue()?.states;
  return LANE_STATES.reduce((sum, state) => sum + (states?.[state] ?? 0), 0);
}

describe('keys with nothing to do', () => {
  it('are remembered up to limits.idle_lanes: 100,000 keys pass through and 1,000 stay', () => {
    const stage = new Stage({ limits: { idleLanes: 1_000 } });
    for (let i = 0; i < 100_000; i++) {
      passThrough(stage, `k${i}`);
      stage.told.length = 0;
    }
    assert.equal(lanesOf(stage), 1_000);
    assert.equal(stage.queue()?.states.INIT, 1_000);
    assert.equal(stage.core.stats(stage.now).queues[0]?.idleLanesEvicted, 99_000);
  });

  it('are bounded over all queues together', () => {
    const stage = new Stage({ queues: { a: {}, b: {} }, limits: { idleLanes: 10 } });
    for (let i = 0; i < 100; i++) passThrough(stage, `k${i}`, i % 2 === 0 ? 'a' : 'b');
    const idle = stage.core.listQueues(ALL_QUEUES, stage.now).queues.map(({ states }) => states.INIT);
    assert.deepEqual(idle, [5, 5]);
  });

  it('are remembered too when their only arrival was declined or did not stay', () => {
    const stage = new Stage(IDLE);
    okay(stage.core.pauseQueue(QUEUE, stage.now));
    for (let i = 0; i < 100; i++) stage.enQueue('passer-by', { key: `k${i}`, wait: 0 });
    assert.equal(lanesOf(stage), 1);
  });

  it('keyless items leave no more behind than that', () => {
    const stage = new Stage({ limits: { idleLanes: 5 } });
    for (let i = 0; i < 100; i++) {
      stage.submit('submitter', [{ key: '' }]);
      stage.ack('worker', { key: '', token: take(stage, '') });
    }
    assert.equal(stage.queue()?.states.INIT, 5);
  });

  it('are not dropped in DELAY, PARK or while somebody waits', () => {
    const stage = new Stage({ queues: { [QUEUE]: { onDeadLetter: 'park' } }, ...IDLE });
    stage.submit('submitter', [{ key: 'delayed', delay: 60_000 }]);
    stage.submit('submitter', [{ key: 'parked' }]);
    stage.nack('worker', { key: 'parked', token: take(stage, 'parked'), kind: 'dead_letter' });
    stage.submit('submitter', [{ key: 'ready' }]);
    stage.enQueue('worker', { key: 'held' });
    for (let i = 0; i < 100; i++) passThrough(stage, `k${i}`);
    const states = ['delayed', 'parked', 'ready', 'held', 'k98', 'k99'].map((key) => stage.explain(QUEUE, key).state);
    assert.deepEqual(states, ['DELAY', 'PARK', 'READY', 'PROCESS', 'INIT', 'INIT']);
    assert.equal(lanesOf(stage), 5);
  });

  it('a key that was dropped while another is redriven is the same key as before', () => {
    const stage = new Stage(IDLE);
    for (const key of ['a', 'b']) {
      stage.submit('submitter', [{ key, itemId: `dead ${key}` }]);
      stage.nack('worker', { key, token: take(stage, key), kind: 'dead_letter' });
    }
    // `a` rests, and is the one to be dropped next; the turn of `b` is over, but the wheel is late.
    stage.enQueue('worker', { key: 'b', lease: 1_000 });
    passThrough(stage, 'a');
    stage.now += 1_000;
    assert.equal(
      okay(atOnce(stage.core.redrive({ queue: QUEUE, key: undefined, itemIds: [] }, 1_000, () => stage.now))),
      2,
    );
    for (const key of ['a', 'b']) assert.equal(stage.explain(QUEUE, key).state, 'READY', key);
    const { value } = stage.enQueue('second', { key: 'a' });
    assert.equal(value.decision, 'decline', 'I1: its item waits, and nobody is let past it');
    assert.deepEqual(stage.queue()?.states, { INIT: 0, PROCESS: 0, BLOCK: 0, READY: 2, DELAY: 0, PARK: 0 });
  });

  it('I8: dropping them changes no decision', () => {
    const key = fc.constantFrom('a', 'b', 'c', 'd');
    const step = fc.record({ op: fc.constantFrom('enqueue', 'dequeue', 'submit', 'work', 'pass'), key });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60, size: 'max' }), (steps) => {
        const decisions = (idleLanes: number) => {
          const stage = new Stage({
            queues: { [QUEUE]: { minInterval: 3, idempotencyTtl: 50 } },
            limits: { idleLanes },
          });
          const tokens = new Map<string, number>();
          for (const { op, key: name } of steps) apply(stage, tokens, op, name);
          return stage.told;
        };
        assert.deepEqual(decisions(1), decisions(1_000));
      }),
      { numRuns: 300 },
    );
  });
});

/** Every settlement is of a live turn: what a stale token is told does depend on what is remembered. */
function apply(stage: Stage, tokens: Map<string, number>, op: string, key: string): void {
  const token = tokens.get(key);
  if (op === 'pass') stage.pass(2);
  else if (op === 'submit') stage.submit('submitter', [{ key }]);
  else if (op === 'enqueue') {
    const { value } = stage.enQueue('worker', {
      key,
      wait: 0,
      idempotencyKey: `${key}${stage.now % 7}`,
      lease: 1_000_000,
    });
    if (value.decision === 'accept') tokens.set(key, value.turn.token);
  } else if (op === 'work') {
    for (const { turn } of stage.acquire('worker', { maxTurns: 2 }).value.deliveries)
      stage.ack('worker', { key: turn.key, token: turn.token });
  } else if (token !== undefined) {
    stage.deQueue('worker', { key, holder: { token } });
    tokens.delete(key);
  }
}
