import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Policy } from '../../../src/coordinator.js';
import { KEY, QUEUE } from '../../support/builders.js';
import { okay } from '../stage.js';
import { Lives } from './reborn.js';

/** Long enough that nothing comes to its end while the process is away. */
const LONG = 3_600_000;

function durable(policy: Partial<Policy>): Lives {
  return new Lives({ queues: { [QUEUE]: { durable: true, ...policy } } });
}

function retryNow({ stage }: Lives) {
  return okay(stage.core.retryNow({ queue: QUEUE, what: { key: KEY } }, stage.now)).ended;
}

describe('S120: what RetryNow ended is over after a restart too', () => {
  it('the delay of an item that was never tried', () => {
    const lives = durable({});
    lives.stage.submit('p', [{ itemId: 'i', delay: LONG }], QUEUE);
    lives.flush();
    assert.deepEqual(retryNow(lives), ['delay']);
    lives.flush();
    lives.restart();
    assert.equal(lives.stage.explain().state, 'READY');
  });

  it('a back-off; the attempts stay', () => {
    const retry = { maxAttempts: 5, initial: LONG, factor: 1, max: LONG, jitter: 'none' } as const;
    const lives = durable({ retry });
    lives.stage.submit('p', [{ itemId: 'i' }], QUEUE);
    const [delivery] = lives.stage.acquire('w').value.deliveries;
    lives.stage.nack('w', { token: delivery?.turn.token ?? 0 });
    lives.flush();
    assert.deepEqual(retryNow(lives), ['retry']);
    lives.flush();
    lives.restart();
    const { state, attempts } = lives.stage.explain();
    assert.deepEqual([state, attempts], ['READY', 1]);
  });

  it('the min_interval of a key, though several turns of it are remembered', () => {
    const lives = durable({ minInterval: LONG });
    for (const name of ['a', 'b']) {
      const call = lives.stage.enQueue(name, {});
      assert.equal(call.value.decision, 'accept');
      const token = call.value.decision === 'accept' ? call.value.turn.token : 0;
      lives.stage.deQueue(name, { holder: { token } });
      lives.flush();
      assert.deepEqual(retryNow(lives), ['min_interval']);
      lives.flush();
    }
    lives.restart();
    assert.equal(lives.stage.explain().state, 'INIT');
  });
});
