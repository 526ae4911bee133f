/** S591: errors of attempts are held, and charged. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { bytes, QUEUE } from '../support/builders.js';
import { Stage } from './stage.js';

const ERROR = 'e'.repeat(8_000);
const LIMIT = 100_000;
const KEYS = Array.from({ length: 40 }, (_, n) => `k${n}`);

/** Each item failed once, and waits for its next try. */
function failedOnce(delay?: number) {
  const stage = new Stage({ limits: { payloadMemoryBytes: LIMIT } });
  stage.submit(
    'submitter',
    KEYS.map((key) => ({ key, itemId: key })),
  );
  const before = stage.core.stats(stage.now).payloadBytes;
  for (const { turn } of stage.acquire('worker', { maxTurns: 1_000 }).value.deliveries) {
    const { key, token } = turn;
    assert.ok(
      stage.nack('worker', { key, token, error: ERROR, delay }).value,
      'no settlement is refused for its error',
    );
  }
  return { stage, before, used: () => stage.core.stats(stage.now).payloadBytes };
}

describe('S591: errors of attempts', () => {
  it('count as payload memory; where they do not fit, as much is kept as fits', () => {
    const { stage, before, used } = failedOnce();
    const lengths = KEYS.map((itemId) => stage.core.getItem(QUEUE, itemId, stage.now));
    const kept = lengths.map((found) => (found.ok ? (found.value.lastError?.length ?? 0) : assert.fail()));
    const whole = Math.floor((LIMIT - before) / ERROR.length);
    const part = LIMIT - before - whole * ERROR.length;
    const [first, cut, none] = [ERROR.length, part, 0].map((length) => kept.filter((one) => one === length).length);
    assert.deepEqual([first, cut, none], [whole, 1, KEYS.length - whole - 1]);
    assert.equal(used(), LIMIT);
  });

  it('no character is cut in two', () => {
    const stage = new Stage({ limits: { payloadMemoryBytes: 1_000 } });
    stage.submit('submitter', [{ key: 'k', itemId: 'i' }]);
    const { token } = stage.acquire('worker').value.deliveries[0]?.turn ?? assert.fail();
    stage.nack('worker', { key: 'k', token, error: '😀'.repeat(500) });
    const found = stage.core.getItem(QUEUE, 'i', stage.now);
    assert.match((found.ok && found.value.lastError) || '', /^(😀){300,400}$/u);
  });

  it('a next error takes the place of the one before, and all is given back in the end', () => {
    const { stage, before, used } = failedOnce(0);
    for (const { turn } of stage.acquire('worker', { maxTurns: 1_000 }).value.deliveries)
      stage.nack('worker', { key: turn.key, token: turn.token, error: 'short', delay: 0 });
    assert.equal(used(), before + KEYS.length * 'short'.length);
    for (const { turn } of stage.acquire('worker', { maxTurns: 1_000 }).value.deliveries)
      stage.ack('worker', { key: turn.key, token: turn.token });
    assert.equal(used(), 0);
  });

  it('of finished items count with results: the oldest are forgotten', () => {
    const stage = new Stage({ limits: { payloadMemoryBytes: LIMIT } });
    for (const key of KEYS) {
      stage.submit('submitter', [{ key, itemId: key }]);
      for (const end of ['fails', 'is done'] as const) {
        const [delivery] = stage.acquire('worker').value.deliveries;
        const { token } = delivery?.turn ?? assert.fail();
        if (end === 'fails') stage.nack('worker', { key, token, error: ERROR, delay: 0 });
        else stage.ack('worker', { key, token });
      }
    }
    const remembered = KEYS.filter((itemId) => {
      const found = stage.core.getItem(QUEUE, itemId, stage.now);
      return found.ok && found.value.state === 'done';
    });
    assert.ok(remembered.length > 0 && remembered.length * ERROR.length <= LIMIT, `${remembered.length} remembered`);
  });

  it('a shorter one makes room, and who waits for it in another queue is woken', () => {
    const stage = new Stage({
      limits: { payloadMemoryBytes: 20_000 },
      queues: { [QUEUE]: { lease: 1_000 }, other: {} },
    });
    stage.submit('submitter', [{ key: 'k', itemId: 'i' }]);
    const { token } = stage.acquire('worker').value.deliveries[0]?.turn ?? assert.fail();
    stage.nack('worker', { key: 'k', token, error: ERROR, delay: 0 });
    stage.acquire('worker');
    stage.submit('submitter', [{ key: 'z', payload: bytes('x'.repeat(8_000)) }]);
    const waiting = stage.submit('waits', [{ key: 'y', payload: bytes('x'.repeat(4_000)) }], 'other', 120_000);
    assert.ok(waiting.open);
    stage.pass(1_500);
    assert.equal(waiting.value.results[0]?.decision, 'accept');
  });

  it('S588: what nobody got of at_most_once is discarded once, and charged for nothing after it', () => {
    const stage = new Stage({ queues: { [QUEUE]: { delivery: 'at_most_once' } } });
    stage.submit('submitter', [{ key: 'k', itemId: 'i', payload: bytes('x'.repeat(5_000)) }]);
    const [delivery] = stage.acquire('worker', { ticket: 't' }).value.deliveries;
    stage.core.undeliverable([delivery?.turn ?? assert.fail()], stage.now);
    const evicted = stage.core.evictHolder(QUEUE, 'k', stage.now, true);
    assert.ok(evicted.ok && evicted.value.itemsDiscarded === 1);
    assert.equal(stage.core.stats(stage.now).payloadBytes, 0);
    const found = stage.core.getItem(QUEUE, 'i', stage.now);
    assert.equal(found.ok && found.value.state, 'discarded');
  });
});
