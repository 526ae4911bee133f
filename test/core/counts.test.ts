/** What one thing that happens adds to what is counted of its queue: this, once, and nothing else. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { QueueStats, Turn } from '../../src/coordinator.js';
import { newItem, QUEUE, type SettingsChange } from '../support/builders.js';
import { atOnce, okay, runThrough, Stage } from './stage.js';

interface Case {
  readonly settings?: SettingsChange;
  /** What happens before. */
  readonly before?: (stage: Stage) => void;
  readonly act: (stage: Stage) => void;
  readonly adds: Readonly<Record<string, number>>;
}

const ALL = { queue: QUEUE, key: undefined, itemIds: [] };

function counted(stage: Stage): Readonly<Record<string, number>> {
  const stats = stage.core.stats(stage.now).queues.find(({ view }) => view.name === QUEUE);
  if (stats === undefined) return {};
  const groups = ['settlements', 'finished', 'retries', 'deadLetters', 'redriven', 'staleTokens', 'rejected'] as const;
  const histograms = ['wait', 'hold', 'backoff', 'repeatDistance'] as const;
  const of = (name: (typeof groups)[number], values: QueueStats[(typeof groups)[number]]) =>
    Object.entries(values).map(([what, count]) => [`${name} ${what}`, count] as const);
  return Object.fromEntries([
    ...groups.flatMap((name) => of(name, stats[name])),
    ...histograms.map((name) => [name, stats[name].count] as const),
    ...stats.decisions.map(({ decision, reason, count }) => [`${decision} ${reason}`.trim(), count] as const),
    ['submitted', stats.submitted],
    ['renewed', stats.leasesRenewed],
    ['idle', stats.idleLanesEvicted],
  ]);
}

function hold(stage: Stage, change: Parameters<Stage['enQueue']>[1] = {}): Turn {
  const { value } = stage.enQueue('holder', { lease: 60_000, ...change });
  assert.ok(value.decision === 'accept');
  return value.turn;
}

function take(stage: Stage, change: Parameters<Stage['acquire']>[1] = {}): Turn {
  const [delivery] = stage.acquire('worker', { lease: 60_000, ...change }).value.deliveries;
  assert.ok(delivery);
  return delivery.turn;
}

function holdAndEnd(stage: Stage): void {
  stage.deQueue('holder', { holder: { token: hold(stage).token } });
}

const submit =
  (...items: readonly Parameters<Stage['submit']>[1][number][]) =>
  (stage: Stage) =>
    void stage.submit('submitter', items);

const CASES: Readonly<Record<string, Case>> = {
  'two items that are accepted': {
    act: submit({ itemId: 'a' }, {}),
    adds: { accept: 2, submitted: 2, repeatDistance: 1 },
  },
  'an item that is known': { before: submit({ itemId: 'a' }), act: submit({ itemId: 'a' }), adds: { accept: 1 } },
  'a caller that gets its turn': { act: (stage) => void hold(stage), adds: { accept: 1, wait: 1 } },
  'a caller that is told again by its ticket': {
    before: (stage) => void hold(stage, { ticket: 't' }),
    act: (stage) => void hold(stage, { ticket: 't' }),
    adds: { accept: 1 },
  },
  'a caller that has to wait and does not want to': {
    before: (stage) => void hold(stage),
    act: (stage) => void stage.enQueue('caller', { wait: 0 }),
    adds: { block: 1, repeatDistance: 1 },
  },
  'an item that finds its key full': {
    settings: { queues: { [QUEUE]: { waitingPerKey: 1 } } },
    before: submit({ itemId: 'a' }),
    act: submit({ itemId: 'b' }),
    adds: { 'decline waiter_exists': 1, repeatDistance: 1 },
  },
  'a caller that is superseded by an item': {
    settings: { queues: { [QUEUE]: { waitingPerKey: 1, whenFull: 'replace' } } },
    before: (stage) => {
      hold(stage);
      stage.enQueue('caller', { wait: 1_000 });
    },
    act: submit({ itemId: 'b' }),
    adds: { 'decline superseded': 1, accept: 1, submitted: 1, repeatDistance: 1 },
  },
  'an item that is superseded by an item': {
    settings: { queues: { [QUEUE]: { waitingPerKey: 1, whenFull: 'replace' } } },
    before: submit({ itemId: 'a' }),
    act: submit({ itemId: 'b' }),
    adds: { 'finished superseded': 1, accept: 1, submitted: 1, repeatDistance: 1 },
  },
  'an item and a caller that come too soon': {
    settings: { queues: { [QUEUE]: { minInterval: 10_000, whenTooSoon: 'decline' } } },
    before: holdAndEnd,
    act: (stage) => {
      stage.submit('submitter', [{}]);
      stage.enQueue('caller');
    },
    adds: { 'decline too_soon': 2, repeatDistance: 2 },
  },
  'a DeQueue': {
    before: (stage) => void hold(stage),
    act: (stage) => void stage.deQueue('holder', { holder: { token: stage.explain().holder?.token ?? 0 } }),
    adds: { 'settlements dequeue': 1, hold: 1 },
  },
  'an Ack of two items': {
    before: submit({ itemId: 'a' }, { itemId: 'b' }),
    act: (stage) => void stage.ack('worker', { token: take(stage, { maxItemsPerTurn: 2 }).token }),
    adds: { 'settlements ack': 1, 'finished done': 2, hold: 1, wait: 1 },
  },
  'a Nack of two items of which the first is done': {
    before: submit({ itemId: 'a' }, { itemId: 'b' }),
    act: (stage) => void stage.nack('worker', { token: take(stage, { maxItemsPerTurn: 2 }).token, done: 1 }),
    adds: { 'settlements nack': 1, 'finished done': 1, 'retries nack': 1, backoff: 1, hold: 1, wait: 1 },
  },
  'a Nack that releases': {
    before: submit({ itemId: 'a' }),
    act: (stage) => void stage.nack('worker', { token: take(stage).token, kind: 'release' }),
    adds: { 'settlements release': 1, hold: 1, wait: 1 },
  },
  'a lease that ends': {
    before: submit({ itemId: 'a' }),
    act: (stage) => {
      take(stage, { lease: 100 });
      stage.pass(100);
    },
    adds: { 'settlements expired': 1, 'retries lease_expired': 1, backoff: 1, hold: 1, wait: 1 },
  },
  'an eviction': {
    before: (stage) => void hold(stage),
    act: (stage) => void okay(stage.core.evictHolder(QUEUE, 'k', stage.now)),
    adds: { 'settlements evicted': 1, hold: 1 },
  },
  'a take-over': {
    settings: { queues: { [QUEUE]: { onWaitTimeout: 'take_over', wait: 1_000 } } },
    before: (stage) => void hold(stage),
    act: (stage) => {
      stage.enQueue('caller', { wait: 1_000 });
      stage.pass(1_000);
    },
    adds: { 'settlements taken_over': 1, accept: 1, hold: 1, wait: 1, repeatDistance: 1 },
  },
  'calls with a token that is none': {
    before: holdAndEnd,
    act: (stage) => {
      stage.deQueue('holder', { holder: { token: 9 } });
      stage.ack('holder', { token: 9 });
      stage.nack('holder', { token: 9 });
      stage.renew('holder', 9);
    },
    adds: { 'staleTokens dequeue': 1, 'staleTokens ack': 1, 'staleTokens nack': 1, 'staleTokens renew': 1 },
  },
  'a Renew': {
    before: (stage) => void hold(stage),
    act: (stage) => stage.renew('holder', stage.explain().holder?.token ?? 0),
    adds: { renewed: 1 },
  },
  'a key that is forgotten for another': {
    settings: { limits: { idleLanes: 1 } },
    before: holdAndEnd,
    act: (stage) => {
      const { token } = hold(stage, { key: 'other' });
      stage.deQueue('holder', { key: 'other', holder: { token } });
    },
    adds: { idle: 1, accept: 1, 'settlements dequeue': 1, wait: 1, hold: 1 },
  },
  'one too many, of an item and of a caller': {
    settings: { queues: { [QUEUE]: { maxWaiting: 1, waitingPerKey: 'unlimited' } } },
    before: (stage) => {
      hold(stage);
      stage.submit('submitter', [{ itemId: 'a' }]);
    },
    act: (stage) => {
      stage.submit('submitter', [{ itemId: 'b' }]);
      stage.enQueue('caller', { wait: 1_000 });
    },
    adds: { 'rejected queue_full': 2, repeatDistance: 1 },
  },
  'a caller, a worker and two keys above their limits': {
    settings: { limits: { waitingCallers: 0, waitingAcquires: 0, busyLanes: 1 } },
    before: (stage) => void hold(stage),
    act: (stage) => {
      stage.enQueue('caller', { wait: 1_000 });
      stage.acquire('worker', { wait: 1_000 });
      stage.enQueue('caller', { key: 'other' });
      stage.submit('submitter', [{ key: 'other' }]);
    },
    adds: { 'rejected limit': 4, repeatDistance: 1 },
  },
  'payload above the memory': {
    settings: { limits: { payloadMemoryBytes: 1_000 } },
    before: submit({ payload: new Uint8Array(500) }),
    act: submit({ payload: new Uint8Array(500) }),
    adds: { 'rejected memory_full': 1 },
  },
  'a batch that fits never, and a Nack of more than there are': {
    settings: { queues: { [QUEUE]: { maxWaiting: 1 } } },
    before: submit({ itemId: 'a' }),
    act: (stage) => {
      stage.submit('submitter', [{}, {}]);
      stage.nack('worker', { token: take(stage).token, done: 2 });
    },
    adds: { 'rejected bad_request': 2, wait: 1 },
  },
  'a follow-up for which there is no room': {
    settings: { queues: { [QUEUE]: { maxWaiting: 1 } } },
    before: submit({ itemId: 'a' }),
    act: (stage) => {
      const { token } = take(stage);
      stage.submit('submitter', [{ itemId: 'b' }]);
      stage.ack('worker', { token, followUps: [{ queue: QUEUE, item: newItem({ itemId: 'c' }) }] });
    },
    adds: { 'rejected queue_full': 1, accept: 1, submitted: 1, wait: 1, repeatDistance: 1 },
  },
  'a DeQueue of an item': {
    before: submit({ itemId: 'a' }),
    act: (stage) => void stage.deQueue('worker', { holder: { token: take(stage).token } }),
    adds: { 'rejected use_ack': 1, wait: 1 },
  },
  'a Nack for what is done': {
    settings: { queues: { [QUEUE]: { delivery: 'at_most_once' } } },
    before: submit({ itemId: 'a' }),
    act: (stage) => void stage.nack('worker', { token: take(stage).token }),
    adds: { 'rejected at_most_once': 1, wait: 1 },
  },
  'a Submit while the sidecar drains': {
    before: submit({ itemId: 'a' }),
    act: (stage) => {
      stage.core.drain(stage.now);
      stage.submit('submitter', [{}]);
    },
    adds: { 'rejected draining': 1 },
  },
  'a call that is turned away for the disk': {
    before: submit({ itemId: 'a' }),
    act: (stage) => stage.core.countUnavailable(QUEUE),
    adds: { 'rejected store_unavailable': 1 },
  },
  'items that are discarded, waiting and dead': {
    before: (stage) => {
      stage.submit('submitter', [{ key: 'dead' }]);
      stage.nack('worker', { key: 'dead', token: take(stage).token, kind: 'dead_letter' });
      stage.submit('submitter', [{ key: 'waiting' }]);
    },
    act: (stage) => {
      okay(atOnce(stage.core.discardDead(ALL, 9, () => stage.now)));
      const scan = okay(stage.core.discardWaiting(ALL, 9, () => stage.now));
      assert.equal(scan && runThrough(scan).done, 1);
    },
    adds: { 'finished discarded': 2 },
  },
  'an item that dies with another, and both redriven': {
    before: submit({ key: 'a', itemId: 'a' }, { key: 'b', itemId: 'b', after: [{ queue: QUEUE, itemId: 'a' }] }),
    act: (stage) => {
      stage.nack('worker', { key: 'a', token: take(stage).token, kind: 'dead_letter' });
      okay(atOnce(stage.core.redrive(ALL, 9, () => stage.now)));
    },
    adds: {
      'deadLetters refused': 1,
      'deadLetters dependency': 1,
      'redriven redrive': 2,
      'settlements nack': 1,
      wait: 1,
      hold: 1,
    },
  },
};

describe('what is counted', () => {
  it('begins at nothing', () => {
    const counts = counted(new Stage({ queues: { [QUEUE]: {} } }));
    assert.ok(Object.keys(counts).length > 30);
    assert.deepEqual(new Set(Object.values(counts)), new Set([0]));
  });
});

describe('it is counted once, and nothing else with it:', () => {
  for (const [what, { settings, before, act, adds }] of Object.entries(CASES)) {
    it(what, () => {
      const stage = new Stage(settings);
      before?.(stage);
      const earlier = counted(stage);
      act(stage);
      stage.carry();
      const changed = Object.entries(counted(stage)).map(([name, count]) => [name, count - (earlier[name] ?? 0)]);
      assert.deepEqual(Object.fromEntries(changed.filter(([, count]) => count !== 0)), adds);
    });
  }
});
