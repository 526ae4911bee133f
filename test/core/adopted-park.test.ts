/** S90: a key that is parked stays so behind a turn that is adopted, until somebody resumes it. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { QUEUE } from '../support/builders.js';
import { Lives } from './durable/reborn.js';
import { okay, Stage } from './stage.js';

const DURABLE = { durable: true, durability: 'interval', onDeadLetter: 'park' } as const;
const OLD = 100;

/** Shortly after a start: an item of the key died of what it waited for, and another is behind it. */
function parked(policy: object = { onDeadLetter: 'park' }): Stage {
  const stage = new Stage({ queues: { [QUEUE]: policy }, startupHold: 5_000 });
  park(stage);
  return stage;
}

function park(stage: Stage): void {
  stage.submit('submitter', [{ key: 'first', itemId: 'first' }]);
  const after = [{ queue: QUEUE, itemId: 'first' }];
  stage.submit('submitter', [{ itemId: 'dies', after }, { itemId: 'next' }]);
  const scan = okay(stage.core.discardWaiting({ queue: QUEUE, key: 'first', itemIds: [] }, 9, () => stage.now));
  while (scan?.next().done === false);
  stage.carry();
  assert.equal(stage.explain().state, 'PARK');
}

const ENDS: Readonly<Record<string, (stage: Stage) => void>> = {
  DeQueue: (stage) => void stage.deQueue('worker', { holder: { token: OLD } }).value,
  Ack: (stage) => void stage.ack('worker', { token: OLD }).value,
  Nack: (stage) => void stage.nack('worker', { token: OLD }).value,
  EvictHolder: (stage) => void okay(stage.core.evictHolder(QUEUE, 'k', stage.now)),
  'the end of its lease': (stage) => stage.pass(20_000),
  'one with a larger token, and its end': (stage) => {
    stage.renew('worker', OLD + 1, QUEUE);
    stage.ack('worker', { token: OLD + 1 });
  },
  'its settlement without a Renew': (stage) => void stage.ack('worker', { token: OLD + 2 }).value,
};

describe('a parked key whose turn from before the start is adopted', () => {
  for (const [end, act] of Object.entries(ENDS)) {
    it(`${end}: the key is parked as before, and nobody gets its next item`, () => {
      const stage = parked();
      stage.renew('worker', OLD, QUEUE);
      assert.equal(stage.explain().state, 'BLOCK');
      act(stage);
      assert.equal(stage.explain().state, 'PARK');
      stage.pass(30_000);
      assert.deepEqual(stage.acquire('other', { maxTurns: 9 }).value.deliveries, []);
      assert.ok(okay(stage.core.resumeKey(QUEUE, 'k', stage.now)).resumed);
      assert.equal(stage.acquire('other').value.deliveries[0]?.items[0]?.itemId, 'next');
    });
  }

  it('resumed while the turn lives, it goes on when that ends', () => {
    const stage = parked();
    stage.renew('worker', OLD, QUEUE);
    assert.deepEqual(okay(stage.core.resumeKey(QUEUE, 'k', stage.now)), { resumed: true, state: 'BLOCK' });
    assert.equal(okay(stage.core.resumeKey(QUEUE, 'k', stage.now)).resumed, false, 'once');
    stage.ack('worker', { token: OLD });
    stage.pass(5_000);
    assert.equal(stage.acquire('other').value.deliveries[0]?.items[0]?.itemId, 'next');
  });

  const steps: Readonly<Record<string, { resumes: boolean; state: string }>> = {
    'parked still, across another restart': { resumes: false, state: 'PARK' },
    'resumed, across another restart': { resumes: true, state: 'READY' },
  };
  for (const [name, { resumes, state }] of Object.entries(steps)) {
    for (const when of ['while the turn lives', 'after its end']) {
      it(`${name} (${when})`, () => {
        const lives = new Lives({ queues: { [QUEUE]: DURABLE }, startupHold: 5_000 });
        park(lives.stage);
        lives.stage.renew('worker', OLD, QUEUE);
        if (resumes) okay(lives.stage.core.resumeKey(QUEUE, 'k', lives.stage.now));
        if (when === 'after its end') lives.stage.ack('worker', { token: OLD });
        lives.flush();
        lives.restart();
        if (when === 'while the turn lives') lives.stage.ack('worker', { token: OLD });
        assert.equal(lives.stage.explain().state, state);
      });
    }
  }
});
