/** S1: what is over by the clock is over for every command on the key, even if nothing has fired yet. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Policy } from '../../src/coordinator.js';
import { BUILT_IN_POLICY } from '../../src/core/contract/policy.js';
import { newItem, QUEUE } from '../support/builders.js';
import { atOnce, okay, runThrough, Stage } from './stage.js';

/** Time passes and the process is too busy to notice. */
function late(stage: Stage, ms: number): void {
  stage.now += ms;
}

function withPolicy(policy: Partial<Policy> = {}): Stage {
  return new Stage({ queues: { [QUEUE]: policy } });
}

function held(policy: Partial<Policy> = {}) {
  const stage = withPolicy(policy);
  const { value } = stage.enQueue('holder', { lease: 1_000 });
  assert.ok(value.decision === 'accept');
  return { stage, token: value.turn.token };
}

describe('with the wheel late', () => {
  it('a lease that has ended keeps nobody out, and a newer token is given', () => {
    const { stage, token } = held();
    late(stage, 1_000);
    const { value } = stage.enQueue('next');
    assert.ok(value.decision === 'accept' && value.turn.token > token);
  });

  it('a lease is not over one moment too soon', () => {
    const { stage } = held();
    late(stage, 999.999);
    assert.equal(stage.enQueue('next', { wait: 0 }).value.decision, 'block');
  });

  const settlings: readonly [string, (stage: Stage, token: number) => void, string][] = [
    ['DeQueue', (stage, token) => void stage.deQueue('holder', { holder: { token } }), 'TURN_LOST lease_expired'],
    ['Ack', (stage, token) => void stage.ack('holder', { token }), 'TURN_LOST lease_expired'],
    ['Nack', (stage, token) => void stage.nack('holder', { token }), 'TURN_LOST lease_expired'],
    ['Renew', (stage, token) => void stage.renew('holder', token), 'LOST lease_expired'],
  ];
  for (const [call, act, told] of settlings) {
    it(`${call} of a turn that is over comes too late, and who waits has its turn`, () => {
      const { stage, token } = held();
      stage.enQueue('next', { wait: 5_000 });
      late(stage, 1_000);
      stage.told.length = 0;
      act(stage, token);
      assert.deepEqual(stage.told.toSorted(), [`holder ${told}`, 'next ACCEPT']);
    });
  }

  it('EvictHolder evicts the one who holds it now', () => {
    const { stage } = held();
    stage.enQueue('next', { wait: 5_000 });
    late(stage, 1_000);
    const evicted = okay(stage.core.evictHolder(QUEUE, 'k', stage.now));
    assert.deepEqual([evicted.evicted, evicted.consumerId], [true, 'next']);
  });

  it('ResumeKey, Redrive and a delay: the key is where the clock says', () => {
    const stage = withPolicy();
    stage.submit('submitter', [{ delay: 1_000 }]);
    late(stage, 1_000);
    assert.equal(okay(stage.core.resumeKey(QUEUE, 'k', stage.now)).state, 'READY');
  });

  it('min_interval that has passed lets the next one start', () => {
    const { stage, token } = held({ minInterval: 2_000 });
    stage.deQueue('holder', { holder: { token } });
    late(stage, 1_999);
    assert.equal(stage.enQueue('next', { wait: 0 }).value.decision, 'block');
    late(stage, 1);
    assert.equal(stage.enQueue('next', { wait: 0 }).value.decision, 'accept');
  });

  it("a place whose ticket has ended is nobody's: the ticket is new again", () => {
    const { stage } = held({ ticketTtl: 500, waitingPerKey: 'unlimited' });
    stage.enQueue('absent', { ticket: 't', wait: 0 });
    stage.enQueue('other', { wait: 5_000 });
    late(stage, 500);
    const { value } = stage.enQueue('absent', { ticket: 't', wait: 0 });
    assert.deepEqual([value.decision, value.decision === 'block' && value.ahead], ['block', 2], 'behind the other');
  });

  it('a place whose ticket has ended keeps nobody from the place it had', () => {
    const { stage } = held({ ticketTtl: 500 });
    stage.enQueue('absent', { ticket: 't', wait: 0 });
    late(stage, 500);
    assert.ok(stage.enQueue('next', { wait: 5_000 }).open);
    stage.pass(500);
    assert.equal(stage.explain().holder?.consumerId, 'next');
  });

  it('a turn does not go to a ticket that has ended', () => {
    const { stage, token } = held({ ticketTtl: 500, waitingPerKey: 'unlimited' });
    stage.enQueue('absent', { ticket: 't', wait: 0 });
    stage.enQueue('other', { wait: 5_000 });
    late(stage, 500);
    stage.deQueue('holder', { holder: { token } });
    assert.equal(stage.explain().holder?.consumerId, 'other');
  });

  it('ExplainKey does not show a turn that is over', () => {
    const { stage } = held();
    late(stage, 1_000);
    assert.equal(stage.explain().state, 'INIT');
  });
});

describe('with the wheel late, people see the key as it is', () => {
  const choice = { queue: QUEUE, key: 'k', itemIds: [] };
  const retry = { ...BUILT_IN_POLICY.retry, maxAttempts: 1 };

  function dying(): Stage {
    const stage = withPolicy({ retry });
    stage.submit('submitter', [{}]);
    stage.acquire('worker', { lease: 500 });
    late(stage, 500);
    return stage;
  }

  it('Redrive brings back what dies in this moment', () => {
    const stage = dying();
    assert.equal(okay(atOnce(stage.core.redrive(choice, 1_000, () => stage.now))), 1);
  });

  for (const what of [{ itemId: 'i' }, { key: 'k' }] as const) {
    it(`RetryNow of ${'key' in what ? 'a key' : 'an item'} ends the back-off that begins in this moment`, () => {
      const stage = withPolicy();
      stage.submit('submitter', [{ itemId: 'i' }]);
      stage.acquire('worker', { lease: 500 });
      late(stage, 500);
      assert.deepEqual(okay(stage.core.retryNow({ queue: QUEUE, what }, stage.now)).ended, ['retry']);
    });
  }

  it('Discard takes what dies in this moment', () => {
    const stage = dying();
    assert.equal(okay(atOnce(stage.core.discardDead(choice, 1_000, () => stage.now))), 1);
  });

  it('Discard with `waiting` takes what comes back in this moment', () => {
    const stage = withPolicy();
    stage.submit('submitter', [{}]);
    stage.acquire('worker', { lease: 500 });
    late(stage, 500);
    const scan = okay(stage.core.discardWaiting(choice, 9, () => stage.now));
    assert.equal(scan && runThrough(scan).done, 1);
  });

  it('a turn that is over by the clock is not given back by its lost answer', () => {
    const stage = withPolicy({ retry });
    stage.submit('submitter', [{ itemId: 'i' }]);
    const [delivery] = stage.acquire('worker', { lease: 500 }).value.deliveries;
    assert.ok(delivery);
    late(stage, 500);
    stage.core.undeliverable([delivery.turn], stage.now);
    assert.equal(stage.awaitItem('someone', 'i', 0).value.state, 'dead');
  });
});

describe('with the wheel late, Submit plans with what is', () => {
  const unknown = { after: [{ queue: QUEUE, itemId: 'nobody' }] };

  it('C5: an unknown prerequisite is refused, though a place that is over looks as if it declined the item', () => {
    const { stage } = held({ waitingPerKey: 1, ticketTtl: 500 });
    stage.enQueue('absent', { ticket: 't', wait: 0 });
    late(stage, 500);
    assert.equal(stage.submit('submitter', [{ itemId: 'x', ...unknown }]).refusal.kind, 'bad_request');
  });

  it('C5: so it is of a follow-up', () => {
    const { stage, token } = held({ waitingPerKey: 1, ticketTtl: 500 });
    stage.enQueue('other', { key: 'other' });
    stage.enQueue('absent', { key: 'other', ticket: 't', wait: 0 });
    late(stage, 500);
    const followUps = [{ queue: QUEUE, item: newItem({ key: 'other', itemId: 'x', ...unknown }) }];
    assert.equal(stage.ack('holder', { token, followUps }).refusal.kind, 'bad_request');
  });

  it('C5: limits.dependencies is not exceeded', () => {
    const policy = { waitingPerKey: 1, ticketTtl: 500 };
    const stage = new Stage({ queues: { [QUEUE]: policy }, limits: { dependencies: 1 } });
    stage.submit('submitter', [{ key: 'a', itemId: 'first' }]);
    const after = [{ queue: QUEUE, itemId: 'first' }];
    stage.submit('submitter', [{ key: 'b', itemId: 'second', after }]);
    stage.enQueue('holder', { lease: 100_000 });
    stage.enQueue('absent', { ticket: 't', wait: 0 });
    late(stage, 500);
    assert.equal(stage.submit('submitter', [{ itemId: 'third', after }]).refusal.kind, 'limit');
  });

  it('C5: max_waiting counts what is over in the lanes of the batch no more', () => {
    const { stage } = held({ waitingPerKey: 'unlimited', ticketTtl: 500, maxWaiting: 1 });
    stage.enQueue('absent', { ticket: 't', wait: 0 });
    late(stage, 500);
    assert.equal(stage.submit('submitter', [{}]).value.results[0]?.decision, 'accept');
  });

  it('C5: what an item waits for is as it is now, though its lane was not looked at', () => {
    const retry = { ...BUILT_IN_POLICY.retry, maxAttempts: 1 };
    const stage = withPolicy({ retry });
    stage.submit('submitter', [{ key: 'a', itemId: 'first' }]);
    stage.acquire('worker', { lease: 500 });
    late(stage, 500);
    stage.submit('submitter', [{ key: 'b', itemId: 'second', after: [{ queue: QUEUE, itemId: 'first' }] }]);
    assert.equal(stage.awaitItem('someone', 'second', 0).value.state, 'dead');
  });
});
