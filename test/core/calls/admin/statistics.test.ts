/** The values of what is told about queues: ages, sums and counts, not only that they are there. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Policy, QueueStats } from '../../../../src/coordinator.js';
import { QUEUE } from '../../../support/builders.js';
import { atOnce, okay, Stage } from '../../stage.js';

function stats(stage: Stage, name = QUEUE): QueueStats {
  const found = stage.core.stats(stage.now).queues.find(({ view }) => view.name === name);
  assert.ok(found);
  return found;
}

function staged(policy: Partial<Policy> = {}): Stage {
  return new Stage({ queues: { [QUEUE]: { lease: 3_600_000, waitingPerKey: 'unlimited', ...policy } } });
}

function hold(stage: Stage, key: string): number {
  const { value } = stage.enQueue('holder', { key });
  assert.ok(value.decision === 'accept');
  return value.turn.token;
}

function end(stage: Stage, key: string, token: number): void {
  stage.deQueue('holder', { key, holder: { token } });
}

describe('longest_hold', () => {
  it('is the age of the oldest live turn, to 100 ms, and unset without one', () => {
    const stage = staged();
    assert.equal(stage.queue()?.longestHold, undefined);
    const a = hold(stage, 'a');
    stage.pass(5_000);
    const b = hold(stage, 'b');
    stage.pass(2_000);
    assert.equal(stage.queue()?.longestHold, 7_000);
    end(stage, 'a', a);
    assert.equal(stage.queue()?.longestHold, 2_000);
    end(stage, 'b', b);
    assert.equal(stage.queue()?.longestHold, undefined);
  });

  it('of a turn that was kept for its ticket counts from when it was handed over', () => {
    const stage = staged();
    const first = hold(stage, 'k');
    stage.enQueue('absent', { key: 'k', ticket: 't', wait: 0 });
    stage.pass(1_000);
    end(stage, 'k', first);
    stage.pass(4_000);
    stage.enQueue('absent', { key: 'k', ticket: 't' });
    assert.equal(stage.queue()?.longestHold, 0);
    stage.pass(300);
    assert.equal(stage.queue()?.longestHold, 300);
  });
});

describe('oldest_waiting', () => {
  const cases: Readonly<Record<string, [run: (stage: Stage) => void, oldest: number | undefined]>> = {
    'nothing waits': [() => undefined, undefined],
    'an item': [
      (stage) => {
        stage.submit('submitter', [{ key: 'i' }]);
        stage.pass(900);
      },
      900,
    ],
    'an item that is in flight does not wait': [
      (stage) => {
        stage.submit('submitter', [{ key: 'i' }]);
        stage.pass(900);
        stage.submit('submitter', [{ key: 'j' }]);
        stage.acquire('worker');
        stage.pass(100);
      },
      100,
    ],
    'a caller that came before an item': [
      (stage) => {
        hold(stage, 'k');
        stage.enQueue('caller', { key: 'k', wait: 60_000 });
        stage.pass(700);
        stage.submit('submitter', [{ key: 'i' }]);
        stage.pass(300);
      },
      1_000,
    ],
    'an item that came before a caller': [
      (stage) => {
        hold(stage, 'k');
        stage.submit('submitter', [{ key: 'i' }]);
        stage.pass(700);
        stage.enQueue('caller', { key: 'k', wait: 60_000 });
        stage.pass(300);
      },
      1_000,
    ],
    'an item that was released waits as long as since it was submitted': [
      (stage) => {
        stage.submit('submitter', [{ key: 'i' }]);
        stage.pass(500);
        const [delivery] = stage.acquire('worker').value.deliveries;
        stage.pass(500);
        stage.nack('worker', { key: 'i', token: delivery?.turn.token ?? 0, kind: 'release' });
      },
      1_000,
    ],
  };
  for (const [what, [run, oldest]] of Object.entries(cases)) {
    it(`${what}: ${oldest ?? 'unset'}`, () => {
      const stage = staged();
      run(stage);
      assert.equal(stage.queue()?.oldestWaiting, oldest);
    });
  }
});

describe('histograms', () => {
  it('hold: each turn once, with the seconds from its start to its end, whatever ended it', () => {
    const stage = staged({ retry: { maxAttempts: 1, initial: 1, factor: 1, max: 1, jitter: 'none' } });
    const ends: readonly ((key: string, token: number) => void)[] = [
      (key, token) => end(stage, key, token),
      (key, token) => void stage.ack('holder', { key, token }),
      (key, token) => void stage.nack('holder', { key, token }),
      (key) => void okay(stage.core.evictHolder(QUEUE, key, stage.now)),
      (key, token) => stage.core.undeliverable([{ queue: QUEUE, key, token }], stage.now),
    ];
    let seconds = 0;
    for (const [index, endIt] of ends.entries()) {
      const token = hold(stage, `k${index}`);
      stage.pass((index + 1) * 1_000);
      seconds += index + 1;
      endIt(`k${index}`, token);
    }
    const { value } = stage.enQueue('holder', { key: 'expires', lease: 30_000 });
    assert.equal(value.decision, 'accept');
    stage.pass(30_000);
    const { hold: told, settlements } = stats(stage);
    assert.deepEqual([told.count, told.sum], [ends.length + 1, seconds + 30]);
    assert.equal(
      Object.values(settlements).reduce((sum, count) => sum + count, 0),
      told.count,
    );
  });

  it('wait: from the arrival to the turn; of a retry from the moment at which it was due', () => {
    const retry = { maxAttempts: 5, initial: 4_000, factor: 1, max: 4_000, jitter: 'none' } as const;
    const stage = staged({ retry });
    const first = hold(stage, 'k');
    const caller = stage.enQueue('caller', { key: 'k', wait: 60_000 });
    stage.pass(2_000);
    end(stage, 'k', first);
    assert.equal(caller.value.decision, 'accept');
    assert.deepEqual([stats(stage).wait.count, stats(stage).wait.sum], [2, 2]);
    stage.submit('submitter', [{ key: 'i' }]);
    stage.pass(3_000);
    const [delivery] = stage.acquire('worker').value.deliveries;
    assert.deepEqual([stats(stage).wait.count, stats(stage).wait.sum], [3, 5]);
    stage.nack('worker', { key: 'i', token: delivery?.turn.token ?? 0 });
    assert.deepEqual([stats(stage).backoff.count, stats(stage).backoff.sum], [1, 4]);
    stage.pass(4_500);
    stage.acquire('worker');
    assert.deepEqual([stats(stage).wait.count, stats(stage).wait.sum], [4, 5.5]);
  });

  it('repeat distance: how many arrivals of the queue lie between two of a key', () => {
    const stage = staged();
    for (const key of ['', 'a', 'b', '', 'a', 'a', 'c', 'b', '']) stage.submit('submitter', [{ key }]);
    const { count, sum } = stats(stage).repeatDistance;
    assert.deepEqual([count, sum], [3, 3 + 1 + 5]);
  });
});

describe('counts', () => {
  it('of decisions: an ACCEPT, a BLOCK and a DECLINE of each reason', () => {
    const stage = staged({ waitingPerKey: 1, whenFull: 'replace', idempotencyTtl: 60_000 });
    const token = hold(stage, 'k');
    stage.enQueue('blocked', { key: 'k', wait: 0 });
    stage.enQueue('superseded', { key: 'k', wait: 1_000 });
    stage.submit('submitter', [{ key: 'k', idempotencyKey: 'b', itemId: 'i' }]);
    end(stage, 'k', token);
    const [delivery] = stage.acquire('worker').value.deliveries;
    stage.ack('worker', { token: delivery?.turn.token ?? 0 });
    stage.submit('submitter', [{ key: 'k', idempotencyKey: 'b' }]);
    const counted = stats(stage).decisions.filter(({ count }) => count > 0);
    assert.deepEqual(
      counted.map(({ decision, reason, count }) => `${decision} ${reason} ${count}`),
      ['accept  2', 'block  1', 'decline superseded 1', 'decline already_done 1'],
    );
  });

  it('of retries, dead letters and redriven ones: items, by cause', () => {
    const retry = { maxAttempts: 2, initial: 1, factor: 1, max: 1, jitter: 'none' } as const;
    const stage = staged({ retry, lease: 100 });
    const ids = ['a', 'b', 'c'];
    stage.submit(
      'submitter',
      ids.map((itemId) => ({ itemId })),
    );
    for (const kind of ['retry', 'retry'] as const) {
      const [delivery] = stage.acquire('worker', { maxItemsPerTurn: 3, lease: 60_000 }).value.deliveries;
      stage.nack('worker', { token: delivery?.turn.token ?? 0, kind, error: 'no' });
      stage.pass(1);
    }
    stage.submit('submitter', [{ key: 'x', itemId: 'x' }]);
    stage.acquire('worker');
    stage.pass(100);
    stage.pass(1);
    const [delivery] = stage.acquire('worker', { lease: 60_000 }).value.deliveries;
    stage.nack('worker', { key: 'x', token: delivery?.turn.token ?? 0, kind: 'dead_letter' });
    assert.equal(
      okay(atOnce(stage.core.redrive({ queue: QUEUE, key: undefined, itemIds: ['a', 'b'] }, 1_000, () => stage.now))),
      2,
    );
    const { retries, deadLetters, redriven } = stats(stage);
    assert.deepEqual({ ...retries }, { nack: 3, lease_expired: 1 });
    assert.deepEqual({ ...deadLetters }, { max_attempts: 3, max_crashes: 0, refused: 1, dependency: 0 });
    assert.deepEqual({ ...redriven }, { redrive: 2 });
  });

  it('of items handed out at most once: each once, though nobody got it the first time', () => {
    const stage = staged({ delivery: 'at_most_once' });
    stage.submit('submitter', [{ itemId: 'x' }, { itemId: 'y' }]);
    for (const isLost of [true, false]) {
      const [delivery] = stage.acquire('worker', { maxItemsPerTurn: 2 }).value.deliveries;
      assert.equal(delivery?.items.length, 2);
      if (isLost) stage.core.undeliverable([delivery.turn], stage.now);
      else stage.ack('worker', { token: delivery.turn.token });
      assert.deepEqual({ ...stats(stage).finished }, { done: isLost ? 0 : 2, superseded: 0, discarded: 0 });
    }
  });

  it('of items handed out at most once whose turn ends as no worker would have it: they are done', () => {
    const ends: readonly ((stage: Stage, token: number) => void)[] = [
      (stage, token) => void stage.nack('worker', { token, kind: 'release' }).value,
      (stage) => stage.pass(3_600_000),
      (stage) => void okay(stage.core.evictHolder(QUEUE, 'k', stage.now)),
    ];
    for (const end of ends) {
      const stage = staged({ delivery: 'at_most_once' });
      stage.submit('submitter', [{ itemId: 'x' }]);
      end(stage, stage.acquire('worker').value.deliveries[0]?.turn.token ?? 0);
      assert.equal(stats(stage).finished['done'], 1);
    }
  });
});
