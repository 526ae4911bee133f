/** I10, S15: a ticket of dispatch stays known while a call with it is being carried out. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Policy } from '../../../src/coordinator.js';
import { BUILT_IN_POLICY } from '../../../src/core/contract/policy.js';
import { QUEUE } from '../../support/builders.js';
import { Stage } from '../stage.js';

const retry = { ...BUILT_IN_POLICY.retry, jitter: 'none', initial: 1_000 } as const;

/** A turn by ticket whose lease ends now, and nothing has fired yet. */
function atTheEndOfItsLease(policy: Partial<Policy> = {}): Stage {
  const stage = new Stage({ queues: { [QUEUE]: { retry, ...policy } } });
  stage.submit('submitter', [
    { key: 'a', itemId: 'a' },
    { key: 'b', itemId: 'b' },
    { key: 'c', itemId: 'c' },
  ]);
  assert.equal(byTicket(stage), 'a');
  stage.now += 1_000;
  return stage;
}

function ask(stage: Stage, wait = 0) {
  return stage.acquire('worker', { ticket: 't', lease: 1_000, wait });
}

function byTicket(stage: Stage): string | undefined {
  return ask(stage).value.deliveries[0]?.items[0]?.itemId;
}

describe('a ticket of dispatch that comes back as its turn ends', () => {
  it('gets its new turn again when it comes once more', () => {
    const stage = atTheEndOfItsLease();
    const first = ask(stage).value.deliveries.map(({ turn }) => turn.token);
    const again = ask(stage).value.deliveries.map(({ turn }) => turn.token);
    assert.equal(first.length, 1);
    assert.deepEqual(again, first, 'the same turn, not one more');
  });

  it('waits as one call: of two open ones the older gets an empty answer, and the newer the turn', () => {
    const stage = atTheEndOfItsLease();
    stage.acquire('other', { maxTurns: 9, lease: 100_000 });
    const older = ask(stage, 60_000);
    assert.ok(older.open);
    const newer = ask(stage, 60_000);
    assert.deepEqual(older.value.deliveries, [], 'S15');
    stage.submit('submitter', [{ key: 'd' }, { key: 'e' }]);
    assert.equal(newer.value.deliveries.length, 1);
    assert.equal(stage.queue()?.waitingItems, 2, 'one of the two, and the retry');
  });

  it('is not dropped by the end of an older turn', () => {
    const stage = atTheEndOfItsLease();
    const second = ask(stage).value.deliveries[0];
    assert.ok(second);
    stage.now += 1_000;
    const third = ask(stage).value.deliveries[0];
    assert.ok(third);
    stage.ack('worker', { key: second.turn.key, token: second.turn.token });
    assert.deepEqual(ask(stage).value.deliveries[0]?.turn.token, third.turn.token);
  });
});
