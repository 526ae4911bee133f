/** Room for batches: what they need, who waits for it and is woken, and what those who wait hold meanwhile. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { NewItem } from '../../../src/coordinator.js';
import { BUILT_IN_POLICY } from '../../../src/core/contract/policy.js';
import { newItem, QUEUE } from '../../support/builders.js';
import type { Call } from '../../support/call.js';
import { full } from '../refused.js';
import { atOnce, okay, runThrough, Stage } from '../stage.js';

/** Items of a key each, with that as their id. */
function keys(...names: readonly string[]): Partial<NewItem>[] {
  return names.map((key) => ({ key, itemId: key }));
}

function tokenOf(stage: Stage, key: string, change: { readonly lease?: number } = {}): number {
  const { value } = stage.enQueue('holder', { key, ...change });
  assert.ok(value.decision === 'accept');
  return value.turn.token;
}

function decisions(call: Call<{ readonly results: readonly { readonly decision: string }[] }>): readonly string[] {
  return call.value.results.map(({ decision }) => decision);
}

describe('a Submit that waits for limits.busy_lanes', () => {
  const limits = { busyLanes: 2 };

  it('I7: is woken when a key comes free, and those behind it with it', () => {
    const stage = new Stage({ limits });
    const a = tokenOf(stage, 'a');
    tokenOf(stage, 'b');
    const first = stage.submit('first', keys('c'), QUEUE, 60_000);
    // It needs no key that is not busy, but waits for the one before it (S30).
    const second = stage.submit('second', keys('b'), QUEUE, 60_000);
    assert.ok(first.open && second.open);
    stage.pass(2);
    stage.deQueue('holder', { key: 'a', holder: { token: a } });
    assert.deepEqual([decisions(first), decisions(second)], [['accept'], ['accept']]);
  });

  it('is woken by the end of a lease, of a delay, and by a discard', () => {
    const stage = new Stage({ limits, queues: { [QUEUE]: {}, slow: { minInterval: 500 } } });
    tokenOf(stage, 'a', { lease: 100 });
    const { value } = stage.enQueue('holder', { queue: 'slow', key: 'b' });
    assert.ok(value.decision === 'accept');
    const byLease = stage.submit('first', keys('c'), 'other', 60_000);
    stage.pass(100);
    assert.deepEqual(decisions(byLease), ['accept']);
    stage.deQueue('holder', { queue: 'slow', key: 'b', holder: { token: value.turn.token } });
    const byDelay = stage.submit('second', keys('d'), QUEUE, 60_000);
    assert.ok(byDelay.open, 'the key still has its min_interval');
    stage.pass(400);
    assert.deepEqual(decisions(byDelay), ['accept']);
    const byDiscard = stage.submit('third', keys('e'), QUEUE, 60_000);
    const scan = okay(stage.core.discardWaiting({ queue: 'other', key: 'c', itemIds: [] }, 10, () => stage.now));
    while (scan?.next().done === false);
    stage.carry();
    assert.deepEqual(decisions(byDiscard), ['accept']);
  });

  it('is refused at the end of its wait with what it lacked', () => {
    const stage = new Stage({ limits });
    for (const key of ['a', 'b']) tokenOf(stage, key, { lease: 3_600_000 });
    const first = stage.submit('first', keys('c'), QUEUE, 1_000);
    const behind = stage.submit('behind', keys('a'), QUEUE, 500);
    stage.pass(500);
    assert.match(JSON.stringify(behind.refusal), /1 calls? waits? for room in queue q before this one/);
    stage.pass(500);
    full(first.refusal, 'limit', 'busy_lanes', 2);
  });

  it('needs as many keys as it makes busy, each once, and none that is busy already', () => {
    const stage = new Stage({ limits: { busyLanes: 3 } });
    tokenOf(stage, 'a');
    const two = stage.submit('submitter', [{ key: 'a' }, { key: 'a' }, { key: 'b' }, { key: 'b' }, { key: 'c' }]);
    assert.equal(two.value.results.length, 5);
    full(stage.submit('over', [{ key: '' }]).refusal, 'limit', 'busy_lanes', 3);
    assert.deepEqual(decisions(stage.submit('more', [{ key: 'a' }, { key: 'c' }])), ['accept', 'accept']);
  });

  it('is a bad request if it needs more keys than may ever be busy', () => {
    const stage = new Stage({ limits });
    assert.match(
      JSON.stringify(stage.submit('over', keys('a', 'b', 'c'), QUEUE, 1_000).refusal),
      /bad_request.*limits\.busy_lanes is 2/,
    );
  });
});

describe('a Submit that waits for room', () => {
  const one = { queues: { [QUEUE]: { waitingPerKey: 1, maxWaiting: 1 } } } as const;

  it('is answered when those before it have left, and at the end of its wait if it needs no place by then', () => {
    const stage = new Stage({ ...one, limits: { busyLanes: 1 } });
    tokenOf(stage, 'k');
    const first = stage.submit('first', keys('other'), QUEUE, 60_000);
    const behind = [1_000, 60_000].map((wait) => stage.submit('behind', [{ itemId: `x${wait}` }], QUEUE, wait));
    assert.ok(stage.enQueue('caller', { wait: 30_000 }).open);
    assert.ok(behind.every(({ open }) => open));
    stage.pass(1_000);
    assert.deepEqual(behind[0] && decisions(behind[0]), ['decline']);
    first.cancel();
    assert.deepEqual(behind[1] && decisions(behind[1]), ['decline']);
  });

  it('of which a caller takes the last place of its key is woken by that', () => {
    const queues = { [QUEUE]: { waitingPerKey: 1 } } as const;
    const stage = new Stage({ queues, limits: { payloadMemoryBytes: 1_000 } });
    tokenOf(stage, 'k');
    stage.submit('submitter', [{ key: 'l', itemId: 'l', payload: new Uint8Array(600) }]);
    const waiting = stage.submit('waiting', [{ key: 'k', itemId: 'x', payload: new Uint8Array(600) }], QUEUE, 60_000);
    assert.ok(waiting.open);
    assert.ok(stage.enQueue('caller', { wait: 30_000 }).open);
    assert.deepEqual(decisions(waiting), ['decline']);
  });

  it('is woken when its key begins a turn that makes it come too soon', () => {
    const policy = { minInterval: 60_000, whenTooSoon: 'decline', maxWaiting: 1 } as const;
    const stage = new Stage({ queues: { [QUEUE]: policy } });
    stage.submit('submitter', keys('l'));
    const waiting = stage.submit('waiting', keys('k'), QUEUE, 60_000);
    assert.ok(waiting.open);
    tokenOf(stage, 'k');
    assert.deepEqual(decisions(waiting), ['decline']);
  });

  it('whose wait ends at the moment at which it fits is accepted', () => {
    const stage = new Stage(one);
    tokenOf(stage, 'k', { lease: 1_000 });
    stage.enQueue('caller', { wait: 5_000 });
    const waiting = stage.submit('waiting', keys('l'), QUEUE, 1_000);
    assert.ok(waiting.open);
    stage.pass(1_000);
    assert.deepEqual(decisions(waiting), ['accept']);
  });
});

describe('I10, S31: a batch that needs nothing is told what it was told before, however full it is', () => {
  /** Three items, of which two came back, in a queue that holds one. */
  function overfull(): Stage {
    const stage = new Stage({ queues: { [QUEUE]: { maxWaiting: 1 } } });
    for (const key of ['a', 'b', 'c']) {
      stage.submit('submitter', keys(key));
      if (key !== 'c') assert.equal(stage.acquire('worker').value.deliveries.length, 1);
    }
    for (const [index, key] of ['a', 'b'].entries())
      stage.nack('worker', { key, kind: 'release', token: firstToken(stage) + index });
    assert.equal(stage.queue()?.waitingItems, 3);
    return stage;
  }

  function firstToken(stage: Stage): number {
    const { holder } = stage.explain(QUEUE, 'a');
    return holder?.token ?? (stage.explain(QUEUE, 'b').holder?.token ?? 0) - 1;
  }

  it('above max_waiting by what was released', () => {
    const stage = overfull();
    assert.deepEqual(decisions(stage.submit('again', keys('a', 'c'))), ['accept', 'accept']);
    assert.equal(stage.submit('new', keys('d')).refusal.kind, 'queue_full');
  });

  it('above limits.busy_lanes by what was redriven', () => {
    const stage = new Stage({ limits: { busyLanes: 1 } });
    stage.submit('submitter', keys('a'));
    const [delivery] = stage.acquire('worker').value.deliveries;
    assert.ok(delivery);
    stage.nack('worker', { key: 'a', kind: 'dead_letter', token: delivery.turn.token });
    stage.submit('submitter', keys('b'));
    assert.equal(
      okay(atOnce(stage.core.redrive({ queue: QUEUE, key: undefined, itemIds: [] }, 1_000, () => stage.now))),
      1,
    );
    assert.deepEqual(decisions(stage.submit('again', keys('a', 'b'))), ['accept', 'accept']);
    full(stage.submit('new', keys('c')).refusal, 'limit', 'busy_lanes', 1);
  });

  it('above limits.payload_memory_bytes by what came back undelivered', () => {
    const payload = new Uint8Array(500);
    const stage = new Stage({
      queues: { [QUEUE]: { delivery: 'at_most_once' } },
      limits: { payloadMemoryBytes: 1_000 },
    });
    const big = (id: string) => ({ key: id, itemId: id, payload });
    stage.submit('submitter', [big('a')]);
    const [delivery] = stage.acquire('worker').value.deliveries;
    assert.ok(delivery);
    stage.submit('submitter', [big('b')]);
    stage.core.undeliverable([delivery.turn], stage.now);
    assert.ok(stage.core.stats(stage.now).payloadBytes > 1_000);
    assert.deepEqual(decisions(stage.submit('again', [big('a'), big('b')])), ['accept', 'accept']);
    assert.equal(stage.submit('new', [big('c')]).refusal.kind, 'memory_full');
  });

  it('an Ack whose follow-ups are all known is accepted', () => {
    const stage = overfull();
    const { value } = stage.acquire('worker', { maxTurns: 1 });
    const [delivery] = value.deliveries;
    assert.ok(delivery);
    const { token, key } = delivery.turn;
    assert.equal(stage.queue()?.waitingItems, 2);
    const known = ['a', 'b', 'c'].filter((name) => name !== key);
    const followUps = known.map((name) => ({ queue: QUEUE, item: newItem({ key: name, itemId: name }) }));
    const more = [...followUps, { queue: QUEUE, item: newItem({ key: 'd', itemId: 'd' }) }];
    assert.equal(stage.ack('worker', { key, token, followUps: more }).refusal.kind, 'queue_full');
    assert.deepEqual(
      stage.ack('worker', { key, token, followUps }).value.followUps.map(({ decision }) => decision),
      ['accept', 'accept'],
    );
  });
});

describe('follow-ups need keys that may be busy', () => {
  const followUps = (count: number) =>
    Array.from({ length: count }, (_, i) => ({ queue: `q${i}`, item: newItem({ key: 'k', itemId: 'i' }) }));

  it('both or neither: over limits.busy_lanes the Ack is refused and the turn lives, counted over all queues', () => {
    const stage = new Stage({ limits: { busyLanes: 3 } });
    stage.submit('submitter', [{ key: 'k', itemId: 'i' }]);
    const [delivery] = stage.acquire('worker').value.deliveries;
    assert.ok(delivery);
    const { token } = delivery.turn;
    // So many never fit.
    assert.equal(stage.ack('worker', { token, followUps: followUps(50) }).refusal.kind, 'bad_request');
    assert.equal(stage.explain().state, 'PROCESS');
    assert.equal(stage.core.liveTurns, 1);
    assert.equal(stage.ack('worker', { token, followUps: followUps(5) }).refusal.kind, 'bad_request');
    const other = tokenOf(stage, 'other');
    full(stage.ack('worker', { token, followUps: followUps(3) }).refusal, 'limit', 'busy_lanes', 3);
    stage.deQueue('worker', { key: 'other', holder: { token: other } });
    // Its own key comes free by this very Ack.
    assert.equal(stage.ack('worker', { token, followUps: followUps(3) }).value.followUps.length, 3);
  });

  it('its own key does not come free when others wait for it, or its min_interval lasts', () => {
    for (const policy of [{ minInterval: 60_000 }, { waitingPerKey: 'unlimited' }] as const) {
      const stage = new Stage({ queues: { [QUEUE]: policy }, limits: { busyLanes: 2 } });
      const token = tokenOf(stage, 'k');
      if (!('minInterval' in policy)) stage.submit('submitter', keys('k'));
      full(stage.ack('worker', { token, followUps: followUps(2) }).refusal, 'limit', 'busy_lanes', 2);
      assert.equal(stage.ack('worker', { token, followUps: followUps(1) }).value.followUps.length, 1);
    }
  });

  it('a follow-up to its own key, at the limit, is accepted', () => {
    const stage = new Stage({ limits: { busyLanes: 1 } });
    const token = tokenOf(stage, 'k');
    const own = [{ queue: QUEUE, item: newItem({ itemId: 'i' }) }];
    assert.equal(stage.ack('worker', { token, followUps: own }).value.followUps[0]?.decision, 'accept');
    assert.equal(stage.explain().state, 'READY');
  });

  it('S19: an accepted Ack is not refused for a next that finds no room', () => {
    const stage = new Stage({ limits: { busyLanes: 1 } });
    const token = tokenOf(stage, 'k');
    const next = { queues: [QUEUE], key: 'other', consumerId: 'worker', ticket: undefined, wait: 0, lease: undefined };
    const { value } = stage.ack('worker', {
      token,
      followUps: followUps(1),
      next: { ...next, maxTurns: 1, maxItemsPerTurn: 1 },
    });
    assert.deepEqual(value.next, { deliveries: [] });
    assert.equal(value.followUps.length, 1);
  });
});

describe('what Submits hold while they wait for room', () => {
  const limits = { payloadMemoryBytes: 40_000 };
  const big = (key: string) => [{ key, itemId: key, payload: new Uint8Array(4_000) }];

  it('is a quarter of limits.payload_memory_bytes at most, one batch whatever it has', () => {
    const stage = new Stage({ queues: { [QUEUE]: { maxWaiting: 1 } }, limits });
    stage.submit('submitter', keys('first'));
    const before = stage.core.stats(stage.now).payloadBytes;
    const waiting = ['a', 'b'].map((key) => stage.submit(key, big(key), QUEUE, 60_000));
    assert.ok(stage.core.stats(stage.now).payloadBytes > before + 8_000, 'it is counted');
    const { refusal } = stage.submit('over', big('c'), QUEUE, 60_000);
    assert.equal(refusal.kind, 'memory_full');
    assert.match(JSON.stringify(refusal), /wait for room.*10000 bytes.*limits\.payload_memory_bytes/);
    waiting[0]?.cancel();
    assert.ok(stage.submit('next', big('c'), QUEUE, 60_000).open);
  });

  it('is given back by whatever ends the wait', () => {
    const stage = new Stage({ queues: { [QUEUE]: { maxWaiting: 1 } }, limits });
    stage.submit('submitter', keys('first'));
    const before = stage.core.stats(stage.now).payloadBytes;
    const ends: readonly ((call: Call<unknown>) => void)[] = [
      (call) => call.cancel(),
      () => stage.pass(1_000),
      () => {
        const [delivery] = stage.acquire('worker').value.deliveries;
        stage.ack('worker', { key: delivery?.turn.key ?? '', token: delivery?.turn.token ?? 0 });
        const [next] = stage.acquire('worker').value.deliveries;
        stage.ack('worker', { key: 'h', token: next?.turn.token ?? 0 });
        stage.submit('submitter', keys('again'));
      },
      () => stage.core.drain(stage.now),
    ];
    for (const [index, end] of ends.entries()) {
      const huge = { key: 'h', itemId: `h${index}`, payload: new Uint8Array(30_000) };
      const call = stage.submit('waiting', [huge], QUEUE, 1_000);
      assert.ok(call.open);
      end(call);
      assert.equal(stage.core.stats(stage.now).payloadBytes, before);
    }
  });
});

describe('what makes room, and what does not', () => {
  it('the end of an adopted turn frees no key that is parked: a follow-up finds none', () => {
    const policy = { onDeadLetter: 'park', retry: { ...BUILT_IN_POLICY.retry, maxAttempts: 1 } } as const;
    const stage = new Stage({ queues: { [QUEUE]: policy }, startupHold: 5_000, limits: { busyLanes: 2 } });
    stage.submit('submitter', keys('first'));
    stage.submit('submitter', [{ key: 'k', itemId: 'dies', after: [{ queue: QUEUE, itemId: 'first' }] }]);
    const choice = { queue: QUEUE, key: undefined, itemIds: ['first'] };
    const scan = okay(stage.core.discardWaiting(choice, 9, () => stage.now));
    assert.equal(scan && runThrough(scan).done, 1);
    stage.carry();
    stage.submit('submitter', keys('busy'));
    stage.renew('worker', 100);
    const followUps = [{ queue: QUEUE, item: newItem({ key: 'new', itemId: 'new' }) }];
    full(stage.ack('worker', { token: 100, followUps }).refusal, 'limit', 'busy_lanes', 2);
    stage.ack('worker', { token: 100 });
    assert.equal(stage.explain().state, 'PARK');
  });

  it('a Submit that lacks dependencies is woken when what it would wait for dies', () => {
    const stage = new Stage({
      queues: { [QUEUE]: { onDependencyDead: 'run' }, other: {} },
      limits: { dependencies: 1 },
    });
    stage.submit('submitter', keys('a'), 'other');
    stage.submit('submitter', keys('b'));
    stage.submit('submitter', [{ key: 'c', itemId: 'c', after: [{ queue: QUEUE, itemId: 'b' }] }]);
    const after = [{ queue: 'other', itemId: 'a' }];
    const waiting = stage.submit('waiting', [{ key: 'd', itemId: 'd', after }], QUEUE, 60_000);
    // What it lacks is looked at once more.
    stage.deQueue('holder', { key: 'e', holder: { token: tokenOf(stage, 'e') } });
    assert.ok(waiting.open);
    const [delivery] = stage.acquire('worker', { queues: ['other'] }).value.deliveries;
    assert.equal(delivery?.turn.key, 'a');
    const { token } = delivery.turn;
    stage.nack('worker', { queue: 'other', key: 'a', token, kind: 'dead_letter', error: 'no' });
    assert.deepEqual(decisions(waiting), ['accept']);
  });

  it('of very many that wait, only so many are counted for one that gives up', () => {
    const stage = new Stage({ queues: { [QUEUE]: { maxWaiting: 1 } } });
    stage.submit('submitter', keys('first'));
    const all = Array.from({ length: 1_002 }, (_, at) => stage.submit(`s${at}`, keys(`k${at}`), QUEUE, 60_000 - at));
    stage.pass(60_000 - 1_001);
    assert.match(JSON.stringify(all.at(-1)?.refusal), /more than 1000 calls wait for room in queue q before this one/);
    stage.pass(1);
    assert.match(JSON.stringify(all.at(-2)?.refusal), /1000 calls wait/);
    assert.ok(all[0]?.open);
  });
});
