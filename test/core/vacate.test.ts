/** A queue of a cluster leaves the partition of a core, and comes to another one. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Refusal } from '../../src/coordinator.js';
import type { QueueRemains } from '../../src/core/contract/views.js';
import { QUEUE } from '../support/builders.js';
import { Stage } from './stage.js';

const AWAY: Refusal = { kind: 'no_home', partition: 0, description: 'it has left', retryAfter: 50 };
const item = { itemId: 'i', key: 'k' };

function vacate(stage: Stage, acceptLoss = false): QueueRemains | undefined {
  const remains = stage.core.vacate(QUEUE, acceptLoss, AWAY, stage.now);
  stage.carry();
  return remains;
}

/** What is not nothing. */
function found(remains: QueueRemains | undefined): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(remains ?? {}).filter(([, value]) => value !== 0 && value !== false));
}

const LEFT: readonly { what: string; leave: (stage: Stage) => void; remains: object; isKept?: boolean }[] = [
  { what: 'an item that waits', leave: (stage) => void stage.submit('s', [item]), remains: { items: 1 } },
  { what: 'a turn', leave: (stage) => void stage.enQueue('w'), remains: { turns: 1 } },
  {
    what: 'a caller in its line',
    leave: (stage) => {
      stage.core.pauseQueue(QUEUE, stage.now);
      stage.enQueue('w', { wait: 60_000 });
    },
    remains: { callers: 1, paused: true },
  },
  {
    what: 'a dead letter',
    leave: (stage) => {
      stage.submit('s', [item]);
      const [delivery] = stage.acquire('w').value.deliveries;
      stage.nack('w', { token: delivery?.turn.token ?? 0, kind: 'dead_letter' });
    },
    remains: { deadLetters: 1 },
  },
  {
    what: 'an item that one of another queue waits for',
    leave: (stage) => {
      stage.submit('s', [item]);
      stage.submit('s', [{ itemId: 'j', key: 'j', after: [{ queue: QUEUE, itemId: 'i' }] }], 'other');
    },
    remains: { items: 1, dependants: 1 },
  },
  {
    what: 'a result that is remembered',
    leave: (stage) => {
      stage.submit('s', [item]);
      const [delivery] = stage.acquire('w').value.deliveries;
      stage.ack('w', { key: 'k', token: delivery?.turn.token ?? 0 });
    },
    remains: { remembered: 1 },
    isKept: true,
  },
  {
    what: 'a pause',
    leave: (stage) => void stage.core.pauseQueue(QUEUE, stage.now),
    remains: { paused: true },
    isKept: true,
  },
  {
    what: 'limits that a person set',
    leave: (stage) => void stage.core.setLimits(QUEUE, { rate: undefined, maxInFlight: 3 }, stage.now),
    remains: { limits: true },
    isKept: true,
  },
];

describe('a queue that is to leave', () => {
  for (const { what, leave, remains, isKept = false } of LEFT) {
    it(`S380: stays while it has ${what}${isKept ? ', unless that may be forgotten' : ''}`, () => {
      const stage = new Stage();
      leave(stage);
      stage.carry();
      assert.deepEqual(found(vacate(stage)), remains);
      const accepted = vacate(stage, true);
      if (!isKept) return assert.deepEqual(found(accepted), remains);
      assert.equal(accepted, undefined);
      assert.equal(stage.enQueue('late', { key: 'z' }).refusal, AWAY);
      stage.core.receive(QUEUE, 0, stage.now);
      assert.deepEqual(found(vacate(stage)), remains, 'it stayed after all');
      assert.equal(vacate(stage, true), undefined);
      stage.core.forget(QUEUE, stage.now);
      stage.core.receive(QUEUE, 0, stage.now);
      assert.equal(vacate(stage), undefined, 'nothing of it came back');
    });
  }

  it('S380: sends on who waits for its first item, and is asked for nothing any more', () => {
    const stage = new Stage();
    const waits = stage.acquire('w', { wait: 60_000 });
    const both = stage.acquire('w2', { queues: ['other', QUEUE], wait: 60_000 });
    const other = stage.acquire('w3', { queues: ['other'], wait: 60_000 });
    assert.equal(vacate(stage), undefined);
    assert.deepEqual([waits.refusal, both.refusal, other.open], [AWAY, AWAY, true]);
    assert.equal(stage.submit('s', [item]).refusal, AWAY);
    assert.equal(stage.acquire('w', { queues: [QUEUE] }).refusal, AWAY);
    assert.deepEqual(stage.core.inside.queues.has(QUEUE), false);
  });

  it('S380: may be asked for twice, and is there again when it is received', () => {
    const stage = new Stage();
    assert.equal(vacate(stage), undefined);
    assert.equal(vacate(stage), undefined);
    stage.core.receive(QUEUE, 0, stage.now);
    assert.equal(stage.enQueue('w').value.decision, 'accept');
  });

  it('S381: where it is received tokens are larger than they were elsewhere', () => {
    const stage = new Stage();
    const { lastToken } = stage.core;
    stage.core.receive(QUEUE, lastToken + 1_000_000, stage.now);
    const { value } = stage.enQueue('w');
    assert.ok(value.decision === 'accept' && value.turn.token > lastToken + 1_000_000);
  });
});
