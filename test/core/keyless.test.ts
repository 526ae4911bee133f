/** Keyless items: no order, no exclusion; each is a lane of its own. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Policy } from '../../src/coordinator.js';
import { QUEUE } from '../support/builders.js';
import { atOnce, okay, runThrough, Stage } from './stage.js';

const KEYLESS = { key: '' };

function withPolicy(policy: Partial<Policy> = {}): Stage {
  return new Stage({ queues: { [QUEUE]: policy } });
}

function takeAll(stage: Stage): number[] {
  return stage.acquire('worker', { maxTurns: 100 }).value.deliveries.map(({ turn }) => turn.token);
}

function states(stage: Stage) {
  const { INIT, ...busy } = okay({ ok: true, value: stage.queue()?.states ?? { INIT: -1 } });
  return { idle: INIT > 0, ...busy };
}

const NONE = { PROCESS: 0, BLOCK: 0, READY: 0, DELAY: 0, PARK: 0 };

describe('keyless items', () => {
  it('run at once, however many', () => {
    const stage = withPolicy();
    stage.submit('submitter', [KEYLESS, KEYLESS, KEYLESS]);
    assert.equal(new Set(takeAll(stage)).size, 3);
  });

  it('are never too soon, and a failed one waits for its back-off alone, not for min_interval (S2)', () => {
    const stage = withPolicy({ minInterval: 60_000, whenTooSoon: 'decline' });
    stage.submit('submitter', [KEYLESS, KEYLESS]);
    const [done, failed] = takeAll(stage);
    stage.ack('worker', { ...KEYLESS, token: done ?? 0 });
    stage.nack('worker', { ...KEYLESS, token: failed ?? 0, delay: 1_000 });
    assert.equal(stage.submit('submitter', [KEYLESS]).value.results[0]?.decision, 'accept');
    assert.equal(takeAll(stage).length, 1);
    assert.deepEqual(states(stage), { idle: true, ...NONE, PROCESS: 1, DELAY: 1 });
    stage.pass(1_000);
    assert.equal(takeAll(stage).length, 1);
  });

  it('S23: do not park with a dead letter, but where there is no room for one; an empty key resumes them', () => {
    const stage = withPolicy({ onDeadLetter: 'park', maxDeadLetters: 1 });
    stage.submit('submitter', [KEYLESS, KEYLESS, KEYLESS]);
    for (const token of takeAll(stage)) stage.nack('worker', { ...KEYLESS, token, kind: 'dead_letter' });
    assert.deepEqual(states(stage), { idle: true, ...NONE, PARK: 2 });
    assert.deepEqual(okay(stage.core.resumeKey(QUEUE, '', stage.now)), { resumed: true, state: 'READY' });
    assert.deepEqual(states(stage), { idle: true, ...NONE, READY: 2 });
    assert.equal(takeAll(stage).length, 2);
    assert.equal(okay(stage.core.resumeKey(QUEUE, '', stage.now)).resumed, false);
  });

  it('that are parked and discarded leave nothing behind', () => {
    const stage = withPolicy({ maxDeadLetters: 1 });
    stage.submit('submitter', [KEYLESS, KEYLESS, KEYLESS]);
    for (const token of takeAll(stage)) stage.nack('worker', { ...KEYLESS, token, kind: 'dead_letter' });
    const scan = okay(stage.core.discardWaiting({ queue: QUEUE, key: '', itemIds: [] }, 10, () => stage.now));
    assert.equal(scan && runThrough(scan).done, 2);
    assert.deepEqual(states(stage), { idle: true, ...NONE });
    assert.equal(okay(stage.core.resumeKey(QUEUE, '', stage.now)).resumed, false);
  });

  it('that were redriven run at once again, each for itself', () => {
    const stage = withPolicy();
    stage.submit('submitter', [KEYLESS, KEYLESS, { key: 'k' }]);
    for (const { turn } of stage.acquire('worker', { maxTurns: 3 }).value.deliveries)
      stage.nack('worker', { key: turn.key, token: turn.token, kind: 'dead_letter' });
    assert.equal(
      okay(atOnce(stage.core.redrive({ queue: QUEUE, key: undefined, itemIds: [] }, 1_000, () => stage.now))),
      3,
    );
    const { deliveries } = stage.acquire('worker', { maxTurns: 3 }).value;
    assert.deepEqual(
      deliveries.map(({ turn, items }) => [turn.key, turn.attempt, items.length]),
      [
        ['', 1, 1],
        ['', 1, 1],
        ['k', 1, 1],
      ],
    );
  });

  const explain = (stage: Stage, size = 1) => {
    const scan = okay(stage.core.explainKeyless(QUEUE, size, () => stage.now));
    assert.ok(scan);
    return runThrough(scan);
  };

  it('S175: asked why they do not move, people are told how many are in which state, and why of one of them', () => {
    const stage = withPolicy({ maxDeadLetters: 1 });
    const item = (itemId: string, delay = 0) => ({ ...KEYLESS, itemId, delay });
    assert.deepEqual(
      [explain(stage).state, explain(stage).why, explain(stage).waitingItems],
      ['INIT', '', 0],
      'there are none',
    );
    stage.submit('submitter', [item('a'), item('b'), { key: 'k', itemId: 'other' }]);
    const [first, second] = takeAll(stage);
    stage.submit('submitter', [item('later', 60_000), item('c')]);
    const busy = explain(stage);
    assert.equal(busy.state, 'READY');
    assert.equal(
      busy.why,
      'items without a key are each for themselves: 1 READY, 1 DELAY, 2 PROCESS; item c is READY: no worker has acquired it yet',
    );
    assert.deepEqual(
      busy.line.map(({ id }) => id),
      ['later', 'c'],
    );
    assert.equal(busy.waitingItems, 2);
    for (const token of [first, second])
      stage.nack('worker', { ...KEYLESS, token: token ?? 0, kind: 'dead_letter', error: 'no' });
    const parked = explain(stage);
    assert.deepEqual([parked.state, parked.waitingItems, parked.deadLetters], ['PARK', 3, 1]);
    assert.match(parked.why, /1 PARK, 1 READY, 1 DELAY; item b is PARK: .*keyturn resume -- q ''/);
    assert.deepEqual([parked.attempts, parked.lastError], [1, 'no']);
  });

  it('S175: in its pauses they may come and go', () => {
    const stage = withPolicy();
    stage.submit('submitter', [KEYLESS, KEYLESS, KEYLESS]);
    const scan = okay(stage.core.explainKeyless(QUEUE, 1, () => stage.now));
    assert.ok(scan);
    scan.next();
    for (const token of takeAll(stage)) stage.ack('worker', { ...KEYLESS, token });
    stage.submit('submitter', [KEYLESS]);
    const { why, waitingItems } = runThrough(scan);
    assert.ok(waitingItems >= 1);
    assert.match(why, /^items without a key are each for themselves: \d READY$/);
  });

  it('S175: of one that moved on in a pause it is not told why it stands where it stood', () => {
    const stage = withPolicy();
    stage.submit('submitter', [KEYLESS, KEYLESS]);
    const scan = okay(stage.core.explainKeyless(QUEUE, 1, () => stage.now));
    assert.ok(scan);
    scan.next();
    takeAll(stage);
    const { why, until, since, attempts } = runThrough(scan);
    assert.equal(why, 'items without a key are each for themselves: 1 READY, 1 PROCESS');
    assert.deepEqual([until, since, attempts], [undefined, undefined, 0]);
  });

  it('S175: at most once, those that are handed out are told too', () => {
    const stage = withPolicy({ delivery: 'at_most_once' });
    stage.submit('submitter', [KEYLESS]);
    takeAll(stage);
    assert.match(explain(stage).why, /1 PROCESS/);
  });
});
