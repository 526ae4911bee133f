/** S26: a queue that is not named is forgotten when it holds nothing; whatever it holds keeps it, alone and with others. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { lettersOf, okay, Stage } from './stage.js';

const Q = 'brief';
const HOUR = 3_600_000;

function take(stage: Stage, key: string): number {
  stage.submit('submitter', [{ key, itemId: key, idempotencyKey: key }], Q);
  const [delivery] = stage.acquire('worker', { queues: [Q], lease: HOUR }).value.deliveries;
  assert.equal(delivery?.turn.key, key);
  return delivery.turn.token;
}

/** Each leaves something in the queue for longer than it takes to be forgotten. */
const KEEPS: Readonly<Record<string, (stage: Stage) => void>> = {
  'a dead letter': (stage) =>
    stage.nack('worker', { queue: Q, key: 'd', token: take(stage, 'd'), kind: 'dead_letter' }),
  'a finished item': (stage) => stage.ack('worker', { queue: Q, key: 'f', token: take(stage, 'f') }),
  'a live turn': (stage) => stage.enQueue('holder', { queue: Q, key: 'h', lease: HOUR }),
  'an item in flight': (stage) => take(stage, 'i'),
  'a caller that waits': (stage) => {
    stage.enQueue('holder', { queue: Q, key: 'w', lease: 250_000 });
    stage.enQueue('caller', { queue: Q, key: 'w', wait: 300_000 });
  },
  'an item that waits': (stage) => stage.submit('submitter', [{ key: 's', delay: HOUR }], Q),
  'a limit that was changed': (stage) => {
    okay(stage.core.setLimits(Q, { rate: undefined, maxInFlight: 1_000 }, stage.now));
  },
  'a call that waits for work': (stage) => stage.acquire('waiter', { queues: [Q], wait: 300_000 }),
  'a Submit that waits for room': (stage) => {
    const payload = new Uint8Array(60_000);
    stage.submit('submitter', [{ key: 'full', payload }], 'another');
    assert.ok(stage.submit('submitter', [{ key: 'r', payload }], Q, 300_000).open);
  },
  'that it is paused': (stage) => okay(stage.core.pauseQueue(Q, stage.now)),
};

function isKept(names: readonly string[]): boolean {
  const stage = new Stage({ queues: {}, limits: { payloadMemoryBytes: 100_000 } });
  for (const name of names) KEEPS[name]?.(stage);
  stage.pass(200_000);
  return stage.queue(Q) !== undefined;
}

describe('a queue is not forgotten as long as it holds', () => {
  const names = Object.keys(KEEPS);
  for (const [index, one] of names.entries()) {
    it(`${one}, alone and with each of the others`, () => {
      assert.ok(isKept([one]));
      for (const other of names.slice(index + 1)) assert.ok(isKept([one, other]), `with ${other}`);
    });
  }

  it('one dead letter and one finished item: the letter can still be redriven', () => {
    const stage = new Stage({ queues: {} });
    KEEPS['a dead letter']?.(stage);
    KEEPS['a finished item']?.(stage);
    stage.pass(300_000);
    const letters = okay(
      lettersOf(stage.core.listDeadLetters({ queue: Q, key: undefined, pageSize: 10, pageToken: '' }, 1_000)),
    );
    assert.deepEqual(
      letters.deadLetters.map(({ key }) => key),
      ['d'],
    );
  });

  it('S172: a rate that is not full again: it does not begin anew with a full one', () => {
    const rate = { perSecond: 0.001, burst: 2 };
    const stage = new Stage({ queues: {}, defaultPolicy: { rate }, limits: { queues: 1 } });
    const enQueue = () => stage.enQueue('holder', { queue: Q, wait: 0 }).value;
    const spend = () => {
      const answer = enQueue();
      assert.ok(answer.decision === 'accept');
      stage.deQueue('holder', { queue: Q, holder: { token: answer.turn.token } });
    };
    spend();
    spend();
    stage.pass(900_000);
    const early = enQueue();
    assert.ok(early.decision === 'block');
    assert.equal(Math.ceil(early.retryAfter ?? 0), 100_000);
    const { kind } = stage.enQueue('over', { queue: 'another', wait: 0 }).refusal;
    assert.equal(kind, 'limit', 'nor does it make room for another');
    stage.pass(1_000_000);
    assert.ok(stage.queue(Q), 'one of the two turns is still to be gained');
    stage.pass(200_000);
    assert.equal(stage.queue(Q), undefined, 'nothing is lost any more');
  });

  it('nothing of all this: it is forgotten', () => {
    const stage = new Stage({ queues: {} });
    const { value } = stage.enQueue('holder', { queue: Q });
    assert.ok(value.decision === 'accept');
    stage.deQueue('holder', { queue: Q, holder: { token: value.turn.token } });
    stage.pass(200_000);
    assert.equal(stage.queue(Q), undefined);
    stage.enQueue('holder', { queue: Q });
    assert.equal(stage.queue(Q)?.liveTurns, 1, 'and made anew by who uses it again');
  });
});
